//! Traces from a seed: who submits what, and when.

use super::arrivals::{self, Arrival};
use super::distribution::HeavyTail;
use super::error::GenerateError;
use super::math;
use super::random::Random;
use crate::input::{ProfileTable, Trace, TraceJob, Work};

/// After which measured load a trace is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLike {
    /// Microsoft's Philly as published: bursts by tenant, day and night, mostly one GPU, durations with a
    /// heavy tail.
    Philly,
    /// Gavel's own generator: single jobs, Poisson arrivals, more gangs, durations of half an hour to a week.
    Gavel,
    /// A company's training cluster, as published of Microsoft's ITP: gangs of up to 64 GPUs use five sixths of the GPU
    /// time, and the larger a gang is, the longer it runs.
    Itp,
}

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// The model of the load.
    pub like: TraceLike,
    /// How many tenants; `None`: 50 like Philly, one per job like Gavel, 10 like ITP.
    pub tenants: Option<u32>,
    /// How many jobs.
    pub jobs: u32,
    /// Over how many days they arrive; the first day is a Monday and begins at midnight.
    pub days: f64,
    /// GPUs of a job with their weights; `None`: those of the model.
    pub gpus: Option<Vec<(u32, f64)>>,
    /// Scale the durations until the offered GPU time is a part `load` of what `gpus` GPUs can give.
    pub load: Option<Load>,
    /// No job runs longer than this on the fastest type, in seconds; applied before the load.
    pub longest_s: Option<f64>,
    /// Everything arrives at the beginning.
    pub at_once: bool,
    /// The seed.
    pub seed: u64,
}

/// Contention: offered GPU time over what there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The GPUs of the cluster.
    pub gpus: u64,
    /// Offered GPU time divided by `gpus` times the length of the trace.
    pub load: f64,
}

/// Philly's published request sizes, with the few larger ones.
pub const PHILLY_GPUS: [(u32, f64); 5] = [(1, 93.0), (2, 2.0), (4, 2.0), (8, 2.0), (16, 1.0)];
/// Gavel's scale factors.
pub const GAVEL_GPUS: [(u32, f64); 4] = [(1, 70.0), (2, 10.0), (4, 15.0), (8, 5.0)];
/// ITP's gangs with the part of the jobs in per cent, and the median and mean duration in hours. Of the GPU time, jobs of
/// one GPU use 17 %, of 2 and 4 together 9 %, of 8 40 %, of 16 to 64 34 %.
pub const ITP_GANGS: [Gang; 7] = [
    Gang { gpus: 1, part: 86.6, median_h: 2.9, mean_h: 3.9 },
    Gang { gpus: 2, part: 1.4, median_h: 3.5, mean_h: 7.0 },
    Gang { gpus: 4, part: 3.5, median_h: 4.5, mean_h: 11.5 },
    Gang { gpus: 8, part: 7.2, median_h: 5.5, mean_h: 13.8 },
    Gang { gpus: 16, part: 0.55, median_h: 7.0, mean_h: 17.0 },
    Gang { gpus: 32, part: 0.55, median_h: 8.0, mean_h: 20.0 },
    Gang { gpus: 64, part: 0.125, median_h: 9.0, mean_h: 22.0 },
];
/// No job of ITP runs longer.
const ITP_LONGEST_H: f64 = 14.0 * 24.0;

/// Jobs of one size, as published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gang {
    /// GPUs of each.
    pub gpus: u32,
    /// Their part of all jobs, relative to the others.
    pub part: f64,
    /// The median of their durations in hours.
    pub median_h: f64,
    /// The mean of their durations in hours.
    pub mean_h: f64,
}

impl Gang {
    /// A lognormal duration in seconds: its mean is `exp(sigma^2 / 2)` times its median.
    fn duration(&self, random: &mut Random) -> f64 {
        let ln = (self.mean_h / self.median_h).max(1.0);
        let sigma = (2.0 * math::ln(ln)).sqrt();
        let hours = self.median_h * math::exp(sigma * random.normal());
        3_600.0 * hours.min(ITP_LONGEST_H)
    }
}

/// Tenants like Philly, and like ITP, where nobody says.
const TENANTS: u32 = 50;
const ITP_TENANTS: u32 = 10;
/// Most tenants train one model, some two.
const SECOND_MODEL_CHANCE: f64 = 0.3;
/// Gangs run longer: each takes the longest of so many durations. With 6, jobs of 8 and more GPUs use
/// about half of the GPU time, as they do in Philly.
const GANG_DURATIONS: usize = 6;

impl TraceSpec {
    /// A thousand jobs over three days.
    pub fn new(like: TraceLike, seed: u64) -> Self {
        TraceSpec {
            like,
            tenants: None,
            jobs: 1_000,
            days: 3.0,
            gpus: None,
            load: None,
            longest_s: None,
            at_once: false,
            seed,
        }
    }

    fn tenants(&self) -> u32 {
        match self.like {
            TraceLike::Philly => self.tenants.unwrap_or(TENANTS.min(self.jobs)),
            TraceLike::Gavel => self.tenants.unwrap_or(self.jobs),
            TraceLike::Itp => self.tenants.unwrap_or(ITP_TENANTS.min(self.jobs)),
        }
    }

    fn sizes(&self) -> Vec<(u32, f64)> {
        match (&self.gpus, self.like) {
            (Some(sizes), _) => sizes.clone(),
            (None, TraceLike::Philly) => PHILLY_GPUS.to_vec(),
            (None, TraceLike::Gavel) => GAVEL_GPUS.to_vec(),
            (None, TraceLike::Itp) => ITP_GANGS.map(|gang| (gang.gpus, gang.part)).to_vec(),
        }
    }
}

/// Makes a trace; the jobs train models of these profiles.
pub fn trace(spec: &TraceSpec, profiles: &ProfileTable) -> Result<Trace, GenerateError> {
    super::error::check_trace(spec)?;
    let arrivals = arrivals(spec);
    let gpus = sizes(spec);
    let durations = durations(spec, &gpus);
    let models = Models::draw(spec, profiles)?;
    let width = spec.jobs.to_string().len();
    let mut random = Random::named(spec.seed, "model of a job");
    let mut jobs = Vec::with_capacity(arrivals.len());
    for (i, arrival) in arrivals.iter().enumerate() {
        let (model, batch_size) = models.one_of(arrival.tenant, &mut random);
        jobs.push(TraceJob {
            tenant: tenant_name(arrival.tenant, spec.tenants()),
            id: format!("j{:0width$}", i + 1),
            submit_s: arrival.submit_s,
            gpus: gpus[i],
            work: Work::DurationOnFastest(tenths(durations[i])),
            model,
            batch_size,
            priority: 0,
            weight: None,
            line: i + 1,
        });
    }
    Ok(Trace { jobs })
}

fn arrivals(spec: &TraceSpec) -> Vec<Arrival> {
    let mut random = Random::named(spec.seed, "arrivals");
    let span = spec.days * 86_400.0;
    let (jobs, tenants) = (spec.jobs as usize, spec.tenants() as usize);
    let mut arrivals = match spec.like {
        TraceLike::Philly | TraceLike::Itp => arrivals::bursts(jobs, tenants, span, &mut random),
        TraceLike::Gavel => arrivals::poisson(jobs, tenants, span, &mut random),
    };
    if spec.at_once {
        arrivals.iter_mut().for_each(|a| a.submit_s = 0.0);
    }
    arrivals
}

fn sizes(spec: &TraceSpec) -> Vec<u32> {
    let mut random = Random::named(spec.seed, "gpus");
    let sizes = spec.sizes();
    let weights: Vec<f64> = sizes.iter().map(|(_, weight)| *weight).collect();
    (0..spec.jobs).map(|_| sizes[random.weighted(&weights)].0).collect()
}

fn durations(spec: &TraceSpec, gpus: &[u32]) -> Vec<f64> {
    let mut random = Random::named(spec.seed, "durations");
    let philly = HeavyTail::philly();
    let draw = |gpus: u32, random: &mut Random| match spec.like {
        TraceLike::Philly => philly.quantile(random.unit()),
        TraceLike::Gavel => gavel_duration(random),
        TraceLike::Itp => itp_gang(gpus).duration(random),
    };
    let mut durations: Vec<f64> = gpus.iter().map(|&gpus| draw(gpus, &mut random)).collect();
    if spec.like == TraceLike::Philly {
        give_gangs_long_durations(&mut durations, gpus, &mut random);
    }
    let longest = spec.longest_s.unwrap_or(f64::INFINITY);
    durations.iter_mut().for_each(|d| *d = d.clamp(1.0, longest.max(1.0)));
    if let Some(load) = spec.load {
        let offered: f64 = durations.iter().zip(gpus).map(|(d, &g)| d * f64::from(g)).sum();
        let factor = load.load * load.gpus as f64 * spec.days * 86_400.0 / offered;
        durations.iter_mut().for_each(|d| *d *= factor);
    }
    durations
}

/// 10^x minutes: x between 1.5 and 3 for four jobs of five, between 3 and 4 for the fifth.
fn gavel_duration(random: &mut Random) -> f64 {
    let x = if random.chance(0.8) { random.within(1.5, 3.0) } else { random.within(3.0, 4.0) };
    60.0 * math::pow(10.0, x)
}

/// The published size that is nearest from below.
fn itp_gang(gpus: u32) -> Gang {
    let smaller = ITP_GANGS.iter().rev().find(|gang| gang.gpus <= gpus);
    smaller.copied().unwrap_or(ITP_GANGS[0])
}

/// Swaps durations, so that all of them together stay what they were.
fn give_gangs_long_durations(durations: &mut [f64], gpus: &[u32], random: &mut Random) {
    for i in (0..gpus.len()).filter(|&i| gpus[i] > 2) {
        for _ in 1..GANG_DURATIONS {
            let other = random.below(gpus.len());
            if gpus[other] == 1 && durations[other] > durations[i] {
                durations.swap(i, other);
            }
        }
    }
}

/// The models of each tenant.
struct Models<'a> {
    profiles: &'a ProfileTable,
    of_tenant: Vec<Vec<usize>>,
}

impl<'a> Models<'a> {
    fn draw(spec: &TraceSpec, profiles: &'a ProfileTable) -> Result<Self, GenerateError> {
        let kinds: Vec<usize> = kinds(profiles);
        if kinds.is_empty() {
            return Err(GenerateError::NoModels);
        }
        let mut random = Random::named(spec.seed, "models");
        let mut deck: Vec<usize> = Vec::new();
        let of_tenant = (0..spec.tenants()).map(|_| {
            // Dealt like cards, so that a few tenants do not all train the same.
            if deck.is_empty() {
                deck.clone_from(&kinds);
            }
            let mut models = vec![deck.swap_remove(random.below(deck.len()))];
            if random.chance(SECOND_MODEL_CHANCE) {
                models.push(kinds[random.below(kinds.len())]);
            }
            models
        });
        Ok(Models { of_tenant: of_tenant.collect(), profiles })
    }

    fn one_of(&self, tenant: usize, random: &mut Random) -> (Option<String>, Option<u32>) {
        let models = &self.of_tenant[tenant];
        let row = &self.profiles.rows[models[random.below(models.len())]];
        (Some(row.model.clone()), row.batch_size)
    }
}

/// The first row of every model and batch size that runs anywhere.
fn kinds(profiles: &ProfileTable) -> Vec<usize> {
    let mut seen = std::collections::BTreeSet::new();
    let rows = profiles.rows.iter().enumerate().filter(|(_, row)| row.fastest().is_some());
    rows.filter(|(_, row)| seen.insert((row.model.clone(), row.batch_size)))
        .map(|(i, _)| i)
        .collect()
}

fn tenant_name(tenant: usize, tenants: u32) -> String {
    let width = tenants.to_string().len();
    format!("t{:0width$}", tenant + 1)
}

/// Rounded to a tenth of a second, and never to nothing.
fn tenths(seconds: f64) -> f64 {
    ((seconds * 10.0).round() / 10.0).max(0.1)
}
