//! Tenants, groups and workloads as the daemon remembers them.

use super::{GangEntry, RestartTimes};
use oef_api::types::{Limits, Provenance};
use oef_sched::{GroupKey, TenantKey, Time, WorkloadKey};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// A tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantEntry {
    /// Its key in the scheduler.
    pub key: TenantKey,
    /// Its own weight.
    pub weight: f64,
    /// Its group.
    pub group: Option<String>,
    /// What it may use at most.
    pub limits: Limits,
    /// Whether its jobs may not run.
    pub suspended: bool,
    /// The Unix user that its jobs run as; none: that of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When it was created.
    pub created_ms: u64,
    /// Its workloads by name.
    pub workloads: BTreeMap<String, WorkloadKey>,
    /// Jobs that have not ended.
    pub live: u32,
    /// What it was promised and what it got.
    pub account: Account,
    /// The last rounds, the oldest first.
    pub delivered: VecDeque<Delivered>,
    /// The last day, hour by hour, the oldest first.
    #[serde(default)]
    pub hours: VecDeque<Hour>,
}

/// What a tenant was promised and what it got, in GPU-milliseconds of the reference type, up to an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Promised since it first had jobs.
    pub promised_total: f64,
    /// Delivered since then.
    pub delivered_total: f64,
    /// Up to when the totals count.
    pub since: Time,
    /// Normalised throughput of its share.
    pub promised_rate: f64,
    /// Normalised throughput of the GPUs that its jobs hold.
    pub delivered_rate: f64,
    /// The totals when the round began.
    pub round_promised: f64,
    /// The same of what was delivered.
    pub round_delivered: f64,
    /// GPUs that its jobs hold now, by gpu type.
    #[serde(default)]
    pub held: Vec<f64>,
    /// GPU-milliseconds that they held since the round began, by gpu type.
    #[serde(default)]
    pub round_held: Vec<f64>,
}

/// A tenant's part in one hour: sums over its rounds, each times its length in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hour {
    /// The hour, counted from the epoch.
    pub hour: u64,
    /// Milliseconds of rounds in which it had jobs.
    pub ms: f64,
    /// Normalised throughput that it got.
    pub delivered: f64,
    /// Normalised throughput of its equal split.
    pub equal_split: f64,
    /// What it counted.
    pub weight: f64,
    /// GPUs that it could use.
    pub demand: f64,
    /// What a GPU of each type was worth to it.
    pub speedup: Vec<f64>,
    /// GPUs of each type that it held.
    pub held: Vec<f64>,
}

/// A tenant's part in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// The round.
    pub round: u64,
    /// When it ended.
    pub at_ms: u64,
    /// Mean normalised throughput that was promised.
    pub promised: f64,
    /// Mean normalised throughput that was delivered.
    pub delivered: f64,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupEntry {
    /// Its key in the scheduler.
    pub key: GroupKey,
    /// Its weight.
    pub weight: f64,
    /// The group in which it stands.
    pub parent: Option<String>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadEntry {
    /// Whose it is.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// Its part in the tenant's weight.
    pub weight: f64,
    /// The profile that counts.
    pub profile: ProfileEntry,
    /// The profiles before, the newest first, within a limit.
    pub history: VecDeque<ProfileEntry>,
    /// The mean of the throughput that its jobs reported recently, per worker, by type: what is shown until the guard
    /// has seen enough.
    pub observed: BTreeMap<String, f64>,
    /// How long its jobs took to start and to stop.
    #[serde(default, skip_serializing_if = "RestartTimes::is_empty")]
    pub restarts: RestartTimes,
}

/// A profile with its provenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileEntry {
    /// By gpu type, in any unit.
    pub throughput: BTreeMap<String, f64>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Who or what brought it.
    pub source: String,
    /// What is particular about single types.
    #[serde(default)]
    pub marks: BTreeMap<String, Mark>,
    /// As older versions kept them, by type and number of workers: throughput of the gang over that of as many single
    /// workers.
    #[serde(default)]
    pub scaling: BTreeMap<String, BTreeMap<u32, f64>>,
    /// What is known of gangs, by type and size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gang_figures: Vec<GangEntry>,
}

/// What is known about a profile's figure on one gpu type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Where the figure comes from.
    pub provenance: Provenance,
    /// Since when it counts, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// How far the middle half of the batches lies apart, relative to their median.
    pub spread: Option<f64>,
    /// How many batches were measured.
    pub batches: Option<u32>,
    /// What the measurement took, in GPU-seconds.
    pub cost_s: Option<f64>,
    /// Why it cannot run there, or from what it was guessed.
    pub detail: Option<String>,
    /// The figure before its profile run failed there: it counts again if none can be measured anywhere.
    pub was: Option<f64>,
}

impl Mark {
    /// Of a figure that was guessed.
    pub fn estimated(since_ms: u64, detail: String) -> Mark {
        Mark {
            provenance: Provenance::Estimated,
            since_ms,
            spread: None,
            batches: None,
            cost_s: None,
            detail: Some(detail),
            was: None,
        }
    }
}

impl ProfileEntry {
    /// A profile with nothing particular about single types.
    pub fn plain(
        throughput: BTreeMap<String, f64>,
        provenance: Provenance,
        since_ms: u64,
        source: String,
    ) -> ProfileEntry {
        let (marks, scaling, gang_figures) = Default::default();
        ProfileEntry { throughput, provenance, since_ms, source, marks, scaling, gang_figures }
    }

    /// Whether a profile run has measured it on a type.
    pub fn is_measured(&self, gpu_type: &str) -> bool {
        self.marks.get(gpu_type).is_some_and(|mark| mark.batches.is_some())
    }

    /// Whether profile runs have measured it anywhere: then all its figures are steps per second.
    pub fn has_measured(&self) -> bool {
        self.marks.values().any(|mark| mark.batches.is_some())
    }

    /// Whether its tenant said that it does not run on a type.
    pub(super) fn is_ruled_out(&self, gpu_type: &str) -> bool {
        self.provenance_on(gpu_type) == Provenance::Declared
            && self.throughput.get(gpu_type).is_none_or(|on| *on <= 0.0)
    }

    /// What is known without guessing, in the order of some types.
    pub(super) fn known(&self, types: &[String]) -> Vec<Option<f64>> {
        let known = |gpu: &String| match self.provenance_on(gpu) {
            Provenance::Estimated => None,
            _ => self.throughput.get(gpu).copied().filter(|on| *on > 0.0),
        };
        types.iter().map(known).collect()
    }

    /// Types on which its profile runs failed count as before.
    pub(super) fn take_back_failures(&mut self) {
        for (gpu, mark) in &mut self.marks {
            if let Some(was) = mark.was.take() {
                mark.provenance = self.provenance;
                self.throughput.insert(gpu.clone(), was);
            }
        }
    }

    /// Where the figure for a type comes from.
    pub fn provenance_on(&self, gpu_type: &str) -> Provenance {
        self.marks.get(gpu_type).map_or(self.provenance, |mark| mark.provenance)
    }
}
