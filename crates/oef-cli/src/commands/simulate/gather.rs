//! From arguments to a cluster, profiles and a trace that fit together.

use super::made_up;
use crate::args::simulate::SimulateInput;
use oef_sim::engine::Inputs;
use oef_sim::generate::demo;
use oef_sim::input::{
    self, ClusterSpec, PrepareOptions, ProfileTable, Read, Source, Trace, TraceOptions,
};
use oef_terminal::Failure;
use oef_terminal::Source as Text;
use oef_terminal::numbers::counted;
use std::collections::BTreeSet;
use std::path::Path;

/// Where cluster, profiles and trace came from, in words.
pub type Origins = [(&'static str, String); 3];

/// What is simulated, and where it came from.
#[derive(Debug)]
pub struct Gathered {
    /// The machines.
    pub cluster: ClusterSpec,
    /// The true speeds, a column per type of the cluster.
    pub profiles: ProfileTable,
    /// The jobs, each with a model that the profiles know.
    pub trace: Trace,
    /// Where each of the three came from, in words.
    pub origins: Origins,
    /// What the user should know about the inputs, in sentences.
    pub notes: Vec<String>,
    /// Rows that were wrong and left out.
    pub skipped: usize,
    /// Offered GPU time over what there is, from the first to the last submission; none where all came at once.
    pub load: Option<f64>,
}

impl Gathered {
    /// For the simulator.
    pub fn inputs(&self) -> Inputs<'_> {
        Inputs { cluster: &self.cluster, profiles: &self.profiles, trace: &self.trace }
    }
}

/// The parts as they were read, before they are brought together.
struct Parts {
    notes: Vec<String>,
    skipped: usize,
    skip: bool,
}

/// Reads what was given and makes up the rest.
pub fn gather(args: &SimulateInput, seed: u64) -> Result<Gathered, Failure> {
    let mut parts = Parts { notes: Vec::new(), skipped: 0, skip: args.skip_bad_rows };
    let cluster = args.cluster.as_deref().map(|path| parts.cluster(path)).transpose()?;
    let profiles = args.profiles.as_deref().map(|path| parts.profiles(path)).transpose()?;
    let trace = args.trace.as_deref().map(|path| parts.trace(path, args)).transpose()?;
    let origins = origins(args);
    if cluster.is_none() && profiles.is_none() && trace.is_none() {
        parts.notes.push(
            "no cluster, profiles and trace are given: this is the demonstration (24 GPUs, 8 tenants, half a day)"
                .into(),
        );
        let demo = demo();
        let (cluster, trace) = (demo.cluster, demo.trace);
        return parts.bring_together(cluster, &demo.profiles, trace, args.load, (seed, origins));
    }
    let cluster = match (cluster, &profiles) {
        (Some(cluster), _) => cluster,
        (None, profiles) => made_up::cluster(profiles.as_ref(), &mut parts.notes),
    };
    let (profiles, made_up) = match profiles {
        Some(profiles) => (profiles, false),
        None => (made_up::profiles(&cluster, seed, &mut parts.notes)?, true),
    };
    let mut trace = match trace {
        Some(trace) => trace,
        None => made_up::trace(&cluster, &profiles, seed, &mut parts.notes)?,
    };
    if made_up {
        parts.forget_unknown_models(&mut trace, &profiles);
    }
    parts.bring_together(cluster, &profiles, trace, args.load, (seed, origins))
}

fn origins(args: &SimulateInput) -> Origins {
    let from = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map_or("made up".to_string(), |p| p.display().to_string())
    };
    [
        ("cluster", from(&args.cluster)),
        ("profiles", from(&args.profiles)),
        ("trace", from(&args.trace)),
    ]
}

fn read_trace_file(path: &Path, options: &TraceOptions) -> Result<Read<Trace>, Failure> {
    let text = Text::read_data(path, "`oef generate trace` makes an example")?;
    Ok(input::read_trace(Source::new(&text.label, &text.text), None, options)?)
}

impl Parts {
    fn cluster(&mut self, path: &Path) -> Result<ClusterSpec, Failure> {
        let text = Text::read_data(path, "`oef generate cluster` makes an example")?;
        let read = input::read_cluster(Source::new(&text.label, &text.text), None, self.skip)?;
        Ok(self.taken(read, &text.label))
    }

    fn profiles(&mut self, path: &Path) -> Result<ProfileTable, Failure> {
        let text = Text::read_data(path, "`oef generate profiles` makes an example")?;
        let read = input::read_profiles(Source::new(&text.label, &text.text), None, self.skip)?;
        Ok(self.taken(read, &text.label))
    }

    fn trace(&mut self, path: &Path, args: &SimulateInput) -> Result<Trace, Failure> {
        let options = TraceOptions {
            skip_bad_rows: self.skip,
            duration_column: args.duration_column.clone(),
            tenant_column: args.tenant_column.clone(),
            tenants: args.tenants,
        };
        let read = read_trace_file(path, &options)?;
        Ok(self.taken(read, &path.display().to_string()))
    }

    fn taken<T>(&mut self, read: Read<T>, file: &str) -> T {
        self.notes.extend(read.notes);
        if let Some(first) = read.skipped.first() {
            let rows = counted(read.skipped.len(), "bad row");
            self.notes.push(format!("{file}: {rows} left out, the first: {first}"));
            self.skipped += read.skipped.len();
        }
        read.value
    }

    /// Made-up profiles cannot know the trace's own models: such jobs get one of those that there are.
    fn forget_unknown_models(&mut self, trace: &mut Trace, profiles: &ProfileTable) {
        let mut unknown = BTreeSet::new();
        for job in &mut trace.jobs {
            let Some(model) = &job.model else { continue };
            if profiles.rows_of(model, job.batch_size).next().is_none() {
                unknown.extend(job.model.take());
                job.batch_size = None;
            }
        }
        if !unknown.is_empty() {
            let models = counted(unknown.len(), "model");
            self.notes.push(format!(
                "{models} of the trace have no profiles, and others stand in for them: --profiles gives the real ones"
            ));
        }
    }

    fn bring_together(
        mut self,
        cluster: ClusterSpec,
        profiles: &ProfileTable,
        mut trace: Trace,
        load: Option<f64>,
        (seed, origins): (u64, Origins),
    ) -> Result<Gathered, Failure> {
        let file = origins[2].1.clone();
        if self.skip {
            self.drop_unknown_models(&cluster, profiles, &mut trace, &file);
        }
        let options = PrepareOptions { seed, load, span_s: None };
        let prepared = input::prepare(cluster, profiles, trace, &file, &options)?;
        self.notes.extend(prepared.notes);
        let (gpus, span) = (prepared.cluster.gpus(), input::span_s(&prepared.trace));
        let load = input::offered_load(&prepared.trace, &prepared.profiles, gpus, span);
        Ok(Gathered {
            cluster: prepared.cluster,
            profiles: prepared.profiles,
            trace: prepared.trace,
            origins,
            notes: self.notes,
            skipped: self.skipped,
            load: Some(load).filter(|load| load.is_finite()),
        })
    }

    /// Jobs of models that run nowhere are bad rows, too: left out where those are.
    fn drop_unknown_models(
        &mut self,
        cluster: &ClusterSpec,
        profiles: &ProfileTable,
        trace: &mut Trace,
        file: &str,
    ) {
        let Ok(matched) = input::match_types(cluster, profiles) else { return };
        let Err(error) = input::check_models(trace, &matched.profiles, file) else { return };
        let before = trace.jobs.len();
        trace.jobs.retain(|job| {
            let Some(model) = job.model.as_deref() else { return true };
            matched.profiles.rows_of(model, job.batch_size).any(|row| row.fastest().is_some())
        });
        let left_out = before - trace.jobs.len();
        self.skipped += left_out;
        let jobs = counted(left_out, "job");
        self.notes.push(format!("{file}: {jobs} of unknown models left out, the first: {error}"));
    }
}
