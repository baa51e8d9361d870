//! Jobs of a workload that are alike to the scheduler: as many workers, the same gpu types.
//!
//! Where one of them fits, all do, so that who is next is the first of each class and no queue is ever
//! searched.

use crate::ids::{JobId, Slot};
use crate::job::JobSpec;
use crate::profile::Profile;
use crate::settings::Settings;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The order of a queue: priority class, then the longest starvation, then the older job.
pub(crate) type WaitingKey = (Reverse<i32>, Time, JobId, Slot);

/// The live jobs of one kind.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Class {
    /// Workers of each job.
    pub workers: u32,
    /// The gpu types that the jobs may use, by name; `None`: any.
    pub types: Option<Vec<String>>,
    /// The memory that each of their GPUs has at least, in MiB.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory: Option<u32>,
    /// All workers of a job are on one type.
    #[cfg_attr(feature = "serde", serde(default))]
    pub one_type: bool,
    /// The same by gpu type.
    allowed: Option<Vec<bool>>,
    /// How many jobs there are, running or waiting.
    pub live: u32,
    /// Those that wait, who is next first.
    pub waiting: BTreeSet<WaitingKey>,
}

impl Class {
    /// The class of jobs like this one, without any yet.
    pub fn of(spec: &JobSpec, known: &[String], settings: &Settings) -> Self {
        let JobSpec { workers, one_type, types, memory, .. } = spec.clone();
        let waiting = BTreeSet::new();
        let mut class = Class { workers, types, memory, one_type, allowed: None, live: 0, waiting };
        class.resolve(known, settings);
        class
    }

    /// Whether a job is of this class.
    pub fn is_of(&self, spec: &JobSpec) -> bool {
        (self.workers, &self.types, self.memory, self.one_type)
            == (spec.workers, &spec.types, spec.memory, spec.one_type)
    }

    /// Looks the names and the memory of the types up; to be done again when types appear or the settings change. A type of
    /// which nobody knows the memory is not used by jobs that need some.
    pub fn resolve(&mut self, known: &[String], settings: &Settings) {
        let named = |name: &String| self.types.as_ref().is_none_or(|types| types.contains(name));
        let is_large = |name: &String| {
            let enough =
                |least: u32| settings.memory_of(name).is_some_and(|memory| memory >= least);
            self.memory.is_none_or(enough)
        };
        let restricted = self.types.is_some() || self.memory.is_some();
        let allowed = || known.iter().map(|name| named(name) && is_large(name)).collect();
        self.allowed = restricted.then(allowed);
    }

    /// Whether the jobs may use a type, as far as they say so themselves.
    pub fn may_use(&self, gpu: usize) -> bool {
        self.allowed.as_ref().is_none_or(|a| a.get(gpu).copied().unwrap_or(false))
    }

    /// Whether a gang of it fits on one type.
    pub fn fits_on(&self, gpu: usize, capacity: &[u32]) -> bool {
        self.workers <= capacity[gpu] && self.may_use(gpu)
    }

    /// The most GPUs that a gang could be given.
    pub fn most(&self, profile: &Profile, capacity: &[u32]) -> u32 {
        let usable = (0..capacity.len()).filter(|&j| profile.on(j) > 0.0 && self.may_use(j));
        let together = if self.one_type { u32::max } else { u32::saturating_add };
        usable.map(|j| capacity[j]).fold(0, together)
    }

    /// Whether a gang of it fits on no single type that its workload runs on, but on several together.
    pub fn spans(&self, profile: &Profile, capacity: &[u32]) -> bool {
        let alone = |j: usize| profile.on(j) > 0.0 && self.fits_on(j, capacity);
        self.workers > 1
            && !self.one_type
            && !(0..capacity.len()).any(alone)
            && self.most(profile, capacity) >= self.workers
    }
}
