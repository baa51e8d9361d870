//! What is known of a workload's gangs: the part of a single worker's throughput that each of their GPUs keeps.
//!
//! Parts and not throughputs are kept, so that they stay right when the figures of single workers are put right or
//! measured in another unit.

use super::{ProfileEntry, World};
use oef_api::types::FigureSource;
use oef_sched::{GangFigures, Stands};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One figure of gangs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GangEntry {
    /// The gpu type.
    pub gpu_type: String,
    /// Workers of the gang.
    pub workers: u32,
    /// On one host, or over several.
    pub stands: Stands,
    /// The part of a single worker's throughput that each GPU keeps; none: the single worker is not measured yet.
    pub kept: Option<f64>,
    /// Steps per second that a profile run measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<f64>,
    /// Where it comes from.
    pub source: FigureSource,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// By which job, or from how much it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl GangEntry {
    fn is_of(&self, other: &GangEntry) -> bool {
        (&self.gpu_type, self.workers, self.stands)
            == (&other.gpu_type, other.workers, other.stands)
    }
}

impl ProfileEntry {
    /// All figures of gangs, those of older versions among them.
    pub fn gangs(&self) -> Vec<GangEntry> {
        let mut all = self.gang_figures.clone();
        for (gpu, sizes) in &self.scaling {
            for (&workers, &kept) in sizes {
                let old = GangEntry {
                    gpu_type: gpu.clone(),
                    workers,
                    stands: Stands::Together,
                    kept: Some(kept),
                    steps: None,
                    source: FigureSource::Measured,
                    since_ms: self.since_ms,
                    detail: None,
                };
                if !all.iter().any(|known| known.is_of(&old)) {
                    all.push(old);
                }
            }
        }
        all
    }

    /// A figure counts from now on, in place of the one before.
    pub(super) fn set_gang(&mut self, new: GangEntry) {
        self.gang_figures.retain(|known| !known.is_of(&new));
        self.gang_figures.push(new);
        let order = |e: &GangEntry| (e.gpu_type.clone(), e.workers, e.stands);
        self.gang_figures.sort_by_key(order);
    }

    /// Gangs that profile runs measured, over the single worker as it is measured now.
    pub(super) fn count_gangs(&mut self) {
        let alone: BTreeMap<String, f64> =
            self.throughput.iter().map(|(gpu, on)| (gpu.clone(), *on)).collect();
        let measured: Vec<bool> =
            self.gang_figures.iter().map(|gang| self.is_measured(&gang.gpu_type)).collect();
        for (gang, is_measured) in self.gang_figures.iter_mut().zip(measured) {
            let alone = alone.get(&gang.gpu_type).copied().filter(|on| is_measured && *on > 0.0);
            if let (Some(steps), Some(alone)) = (gang.steps, alone) {
                gang.kept = Some(steps / alone);
            }
        }
    }

    /// What was seen of gangs goes on to count in a profile that is told later.
    pub(super) fn keep_seen_gangs(&mut self, before: &ProfileEntry) {
        let seen = before.gang_figures.iter().filter(|gang| gang.source == FigureSource::Seen);
        seen.for_each(|gang| self.set_gang(gang.clone()));
    }
}

impl World {
    /// The figures of gangs in the order of the cluster's types, per GPU. None counts more than as many single workers: a
    /// tenant cannot make its gangs dear by the steps that it says they do.
    pub(super) fn gangs_for_scheduler(&self, profile: &ProfileEntry) -> Vec<GangFigures> {
        if self.meaning < super::GANG_FIGURES_COUNT {
            return Vec::new();
        }
        let types = self.sched.cluster().types();
        let mut sizes: BTreeMap<(u32, Stands), Vec<f64>> = BTreeMap::new();
        for gang in profile.gangs() {
            let Some(gpu) = types.iter().position(|name| *name == gang.gpu_type) else { continue };
            let single = profile.throughput.get(&gang.gpu_type).copied().unwrap_or(0.0);
            let on = gang.kept.unwrap_or(0.0).min(1.0) * single;
            let size = (gang.workers, gang.stands);
            sizes.entry(size).or_insert_with(|| vec![0.0; types.len()])[gpu] = on;
        }
        let figures = sizes.into_iter();
        figures
            .map(|((workers, stands), throughput)| GangFigures { workers, stands, throughput })
            .collect()
    }
}
