//! What `oef profile JOBFILE` tells at its end.

use super::measure::skipped_words;
use super::plan::{Point, Skipped};
use super::{gangs, known_word};
use oef_api::types::{Cluster, GangFigure, Job, JobState, Measured, Provenance, Workload};
use oef_report::format::{figure, percent};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::Table;
use owo_colors::OwoColorize as _;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The whole answer, and the JSON document.
#[derive(Debug, Serialize)]
pub struct Report {
    tenant: String,
    workload: String,
    /// The profile as it is now, a row for each gpu type of the cluster.
    types: Vec<Row>,
    scaling: BTreeMap<String, BTreeMap<u32, f64>>,
    /// What is known of gangs, on one host and over several.
    gangs: Vec<GangFigure>,
    /// The profile runs of this call.
    pub ran: Vec<Ran>,
    skipped: Vec<Skipped>,
    /// GPU-seconds that the runs of this call took.
    cost_s: f64,
}

/// One gpu type.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(rename = "type")]
    gpu_type: String,
    /// Steps per second of one worker, once one type is measured; 0: it cannot run there.
    throughput: f64,
    /// The same where the slowest type counts 1.
    speedup: Option<f64>,
    spread: Option<f64>,
    batches: Option<u32>,
    cost_s: Option<f64>,
    provenance: Provenance,
    since: Option<jiff::Timestamp>,
    detail: Option<String>,
}

impl Row {
    /// A word for how the figure is known.
    fn known(&self) -> &'static str {
        known_word(self.provenance, self.batches, self.throughput)
    }
}

/// One profile run.
#[derive(Debug, Serialize)]
pub struct Ran {
    id: u64,
    #[serde(flatten)]
    point: Point,
    state: JobState,
    reason: String,
    measured: Option<Measured>,
    /// GPU-seconds.
    cost_s: f64,
}

impl Ran {
    /// One that has ended.
    pub fn new(job: &Job, point: Point) -> Ran {
        Ran {
            id: job.id,
            state: job.state,
            reason: job.reason.clone(),
            measured: job.progress.measured,
            cost_s: job.ran_s * f64::from(point.workers),
            point,
        }
    }

    /// One that nobody waits for.
    pub fn waiting(id: u64, point: Point) -> Ran {
        let reason = "submitted".into();
        Ran { id, point, state: JobState::Queued, reason, measured: None, cost_s: 0.0 }
    }

    fn has_failed(&self) -> bool {
        self.state.is_failure() || self.state == JobState::Cancelled
    }
}

impl Report {
    /// Nothing is known yet.
    pub fn new(tenant: &str, workload: &str, skipped: Vec<Skipped>) -> Report {
        Report {
            tenant: tenant.into(),
            workload: workload.into(),
            types: Vec::new(),
            scaling: BTreeMap::new(),
            gangs: Vec::new(),
            ran: Vec::new(),
            skipped,
            cost_s: 0.0,
        }
    }

    /// Takes the profile up as it is now.
    pub fn finish(&mut self, known: Option<&Workload>, cluster: &Cluster) {
        self.cost_s = self.ran.iter().map(|ran| ran.cost_s).sum();
        let Some(profile) = known.map(|known| &known.profile) else { return };
        self.scaling.clone_from(&profile.scaling);
        self.gangs.clone_from(&profile.gangs);
        let on = |gpu: &str| profile.throughput.get(gpu).copied().unwrap_or(0.0);
        let figures = cluster.types.iter().map(|gpu| on(&gpu.gpu_type)).filter(|x| *x > 0.0);
        let slowest = figures.reduce(f64::min);
        self.types = cluster
            .types
            .iter()
            .map(|gpu| {
                let (gpu, mark) = (&gpu.gpu_type, profile.marks.get(&gpu.gpu_type));
                let throughput = on(gpu);
                Row {
                    gpu_type: gpu.clone(),
                    throughput,
                    speedup: slowest.map(|slowest| throughput / slowest),
                    spread: mark.and_then(|mark| mark.spread),
                    batches: mark.and_then(|mark| mark.batches),
                    cost_s: mark.and_then(|mark| mark.cost_s),
                    provenance: mark.map_or(profile.provenance, |mark| mark.provenance),
                    since: mark.map(|mark| mark.since),
                    detail: mark.and_then(|mark| mark.detail.clone()),
                }
            })
            .collect();
    }

    /// Whether a run of this call failed.
    pub fn has_failed(&self) -> bool {
        self.ran.iter().any(Ran::has_failed)
    }

    /// The same for people.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let name = format!("{}/{}", safe(&self.tenant), safe(&self.workload));
        let _ = writeln!(out, "{}\n", name.bold());
        out.push_str(&self.table().fitted());
        out.push_str(&gangs::titled(&self.gangs));
        let words = |ran: &Ran| format!("{} (job {})", ran.point.words(), ran.id);
        let waiting = self.ran.iter().filter(|ran| !ran.state.is_final());
        let waiting = waiting.map(|ran| format!("waiting: {}", words(ran)));
        let failed = self.ran.iter().filter(|ran| ran.has_failed());
        let failed = failed.map(|ran| format!("failed: {}: {}", words(ran), ran.reason));
        let skipped =
            skipped_words(&self.skipped).into_iter().map(|text| format!("left out: {text}"));
        let remarks: Vec<String> = failed.chain(waiting).chain(skipped).collect();
        if !remarks.is_empty() {
            out.push('\n');
        }
        for remark in remarks {
            let _ = writeln!(out, "{}", safe(&remark));
        }
        if self.cost_s > 0.0 {
            let _ = writeln!(
                out,
                "\ncost: {} GPU-seconds",
                figure((self.cost_s * 10.0).round() / 10.0)
            );
        }
        out
    }

    fn table(&self) -> Table {
        let some = |x: Option<String>| x.unwrap_or_else(|| "·".into());
        let positive = |x: f64| (x > 0.0).then(|| fixed(x));
        let detail = |row: &Row| Some(safe(row.detail.as_deref()?.lines().next()?));
        Table::each(&self.types)
            .column("gpu type", |row| short(&row.gpu_type))
            .column("steps/s>", |row| some(positive(row.throughput)))
            .column("speedup>", |row| some(row.speedup.and_then(positive)))
            .column("spread>", |row| some(row.spread.map(percent)))
            .column("batches>", |row| some(row.batches.map(|n| n.to_string())))
            .column("GPU-s>", |row| some(row.cost_s.map(|cost| format!("{cost:.1}"))))
            .column("known", Row::known)
            .column("how", |row| detail(row).unwrap_or_default())
            .table()
    }
}
