//! Profiles from a seed that look like measured ones: faster types are mostly faster, but not for every model and
//! not by the same factor; large models do not fit everywhere; gangs gain less than their size.

use super::error::{GenerateError, within};
use super::math;
use super::random::Random;
use crate::input::{Placement, ProfileRow, ProfileTable, limits};

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileSpec {
    /// The gpu types, from slow to fast.
    pub types: Vec<String>,
    /// How many models.
    pub models: u32,
    /// Sizes of gangs to have rows for; 1 is always there.
    pub scale_factors: Vec<u32>,
    /// About which part of the cells is empty: the model does not fit there. The fastest type runs everything.
    pub empty: f64,
    /// The seed.
    pub seed: u64,
}

/// Names that one recognises; further models are numbered.
const NAMES: [&str; 12] = [
    "resnet50",
    "vgg16",
    "bert-base",
    "lstm",
    "transformer",
    "gpt2",
    "recommender",
    "unet",
    "vit",
    "wav2vec",
    "yolo",
    "bert-large",
];
/// One type is this much faster than the one before, at least and at most, for a model that gains fully.
const STEP: (f64, f64) = (1.15, 1.9);
/// How fully models gain from a faster type, as an exponent. Below 1: bound by something else.
const GAIN: (f64, f64) = (0.3, 1.15);
/// Spread of single cells around that; enough for ratios to cross, rarely for the order to.
const NOISE: f64 = 0.07;
/// What a gang keeps of its speed each time its size doubles: on one host, and over several.
const KEPT_ON_HOST: (f64, f64) = (0.88, 0.99);
const KEPT_OVER_HOSTS: (f64, f64) = (0.70, 0.95);
/// Models that are generated at most; each has a row per scale factor and placement.
const MODELS_MAX: f64 = 100_000.0;

/// Makes a table.
pub fn profiles(spec: &ProfileSpec) -> Result<ProfileTable, GenerateError> {
    check(spec)?;
    let mut random = Random::named(spec.seed, "profiles");
    let mut speed = 1.0;
    let speeds: Vec<f64> = spec
        .types
        .iter()
        .enumerate()
        .map(|(i, _)| {
            speed *= if i == 0 { 1.0 } else { random.within(STEP.0, STEP.1) };
            speed
        })
        .collect();
    let mut sizes = spec.scale_factors.clone();
    sizes.push(1);
    sizes.sort_unstable();
    sizes.dedup();
    let mut rows = Vec::new();
    for i in 0..spec.models as usize {
        let model = Model::draw(i, &speeds, spec.empty, &mut random);
        for &size in &sizes {
            rows.extend(model.rows(size));
        }
    }
    Ok(ProfileTable { types: spec.types.clone(), rows })
}

/// A model with its speeds on one GPU.
struct Model {
    name: String,
    batch_size: u32,
    alone: Vec<Option<f64>>,
    kept_on_host: f64,
    kept_over_hosts: f64,
}

impl Model {
    fn draw(number: usize, speeds: &[f64], empty: f64, random: &mut Random) -> Self {
        let unit = math::pow(10.0, random.within(0.5, 3.5));
        let gain = random.within(GAIN.0, GAIN.1);
        // Twice as many models as cells are wanted empty lack up to the slower half of the types, and so on.
        let lacking = random.chance((4.0 * empty).min(1.0));
        let most = (speeds.len() - 1) as f64 * (empty.max(0.25) * 2.0).min(1.0);
        let lacks = if lacking { (random.within(0.0, most) + 0.5) as usize } else { 0 };
        let cell = |(j, speed): (usize, &f64)| {
            let noise = math::exp(NOISE * random.normal());
            (j >= lacks).then(|| significant(unit * math::pow(*speed, gain) * noise))
        };
        let alone = speeds.iter().enumerate().map(cell).collect();
        Model {
            name: name(number),
            batch_size: 1 << (3 + random.below(6)),
            alone,
            kept_on_host: random.within(KEPT_ON_HOST.0, KEPT_ON_HOST.1),
            kept_over_hosts: random.within(KEPT_OVER_HOSTS.0, KEPT_OVER_HOSTS.1),
        }
    }

    /// Alone, or as a gang on one host and over several.
    fn rows(&self, size: u32) -> Vec<ProfileRow> {
        let row = |placement, kept: f64| {
            let doublings = math::ln(f64::from(size)) / std::f64::consts::LN_2;
            let factor = f64::from(size) * math::pow(kept, doublings);
            let gang = |rate: &Option<f64>| rate.map(|rate| significant(rate * factor));
            ProfileRow {
                model: self.name.clone(),
                batch_size: Some(self.batch_size),
                scale_factor: size,
                placement,
                throughput: self.alone.iter().map(gang).collect(),
            }
        };
        if size == 1 {
            return vec![row(Placement::Unknown, 1.0)];
        }
        let over_hosts = self.kept_on_host * self.kept_over_hosts;
        vec![row(Placement::Consolidated, self.kept_on_host), row(Placement::Spread, over_hosts)]
    }
}

fn name(number: usize) -> String {
    match (NAMES[number % NAMES.len()], number / NAMES.len()) {
        (name, 0) => name.into(),
        (name, again) => format!("{name}-{}", again + 1),
    }
}

/// Four digits: more was never measured.
fn significant(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}

fn check(spec: &ProfileSpec) -> Result<(), GenerateError> {
    within("--models", f64::from(spec.models), 1.0, MODELS_MAX)?;
    within("--types", spec.types.len() as f64, 1.0, limits::TYPES_MAX as f64)?;
    within("--empty", spec.empty, 0.0, 0.5)?;
    let most = f64::from(limits::GPUS_PER_JOB_MAX);
    for size in &spec.scale_factors {
        within("--scale-factors", f64::from(*size), 1.0, most)?;
    }
    for (i, name) in spec.types.iter().enumerate() {
        if spec.types[..i].iter().any(|t| t.eq_ignore_ascii_case(name)) {
            return Err(GenerateError::TwiceNamed(name.clone()));
        }
    }
    Ok(())
}
