//! Tenants with a model each, and the backlogs that they train.

use super::models::{ModelSpeeds, SpeedupTable};
use oef_sim::generate::Random;
use oef_sim::input::{Trace, TraceJob, Work};

/// A tenant that trains one model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Party {
    pub name: String,
    pub model: String,
    pub speedup: Vec<f64>,
}

impl Party {
    /// What its jobs train: one workload of its own, since hyperparameters differ between tenants.
    pub fn workload(&self) -> String {
        format!("{} of {}", self.model, self.name)
    }
}

/// Gang sizes with their weights: the paper's jobs need one to four GPUs.
pub(super) const GANGS: [(u32, f64); 4] = [(1, 4.0), (2, 3.0), (3, 1.0), (4, 2.0)];
/// Seconds that a job of a backlog takes on the fastest type, from and to.
const JOB_SECONDS: (f64, f64) = (1_200.0, 4_800.0);

/// Tenants whose models are drawn from a table.
pub(super) fn drawn(table: &SpeedupTable, count: usize, seed: u64) -> Vec<Party> {
    let mut random = Random::named(seed, "models of tenants");
    (0..count)
        .map(|t| {
            let model = &table.models[random.below(table.models.len())];
            party(tenant_name(t, count), model, table.jitter, &mut random)
        })
        .collect()
}

/// Tenants with these models, in this order.
pub(super) fn with_models(models: [ModelSpeeds; 4], jitter: f64, seed: u64) -> Vec<Party> {
    let mut random = Random::named(seed, "hyperparameters");
    let models = models.iter().enumerate();
    models.map(|(t, model)| party(tenant_name(t, 4), model, jitter, &mut random)).collect()
}

fn party(name: String, model: &ModelSpeeds, jitter: f64, random: &mut Random) -> Party {
    let power = 1.0 + jitter * (2.0 * random.unit() - 1.0);
    let speedup = model.speedup.iter().map(|w| w.powf(power)).collect();
    Party { name, model: model.name.clone(), speedup }
}

fn tenant_name(index: usize, count: usize) -> String {
    let width = count.to_string().len();
    format!("tenant {:0width$}", index + 1)
}

/// More jobs than `gpus` GPUs can do in `hours`, all of one tenant, submitted at the same instant.
pub(super) fn backlog(party: &Party, at_s: f64, gpus: f64, hours: f64, seed: u64) -> Vec<TraceJob> {
    let mut random = Random::named(seed, &party.workload());
    let weights: Vec<f64> = GANGS.iter().map(|(_, weight)| *weight).collect();
    let mut left = gpus * hours * 3_600.0;
    let mut jobs = Vec::new();
    while left > 0.0 {
        let gang = GANGS[random.weighted(&weights)].0;
        let seconds = random.within(JOB_SECONDS.0, JOB_SECONDS.1).round();
        left -= seconds * f64::from(gang);
        jobs.push(TraceJob {
            tenant: party.name.clone(),
            id: format!("{} {}", party.workload(), jobs.len() + 1),
            submit_s: at_s,
            gpus: gang,
            work: Work::DurationOnFastest(seconds),
            model: Some(party.workload()),
            batch_size: None,
            priority: 0,
            weight: None,
            line: 0,
        });
    }
    jobs
}

/// The backlogs of several tenants from the beginning on.
pub(super) fn backlogs(parties: &[Party], gpus: f64, hours: f64, seed: u64) -> Trace {
    let jobs = parties.iter().flat_map(|party| backlog(party, 0.0, gpus, hours, seed));
    Trace { jobs: jobs.collect() }
}
