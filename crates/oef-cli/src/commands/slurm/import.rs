//! `oef slurm import`: accounting and nodes as files for `oef simulate`.

use super::{failure, slurm};
use crate::args::slurm::ImportArgs;
use crate::commands::simulate::made_up;
use oef_executor::slurm::{GpuNode, gpu_nodes};
use oef_sim::generate::{write_cluster, write_profiles};
use oef_sim::input::{ClusterSpec, NodeSpec};
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer, file};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What the trace reader takes of `sacct`.
const COLUMNS: &str = "JobID,User,Account,Submit,ElapsedRaw,AllocTRES,State";

/// Profiles that are made up are the same every time.
const SEED: u64 = 1;

/// What was written.
#[derive(Debug, Serialize)]
pub struct Imported {
    version: u32,
    /// The jobs, as `sacct` printed them.
    pub trace: PathBuf,
    /// The nodes.
    pub cluster: PathBuf,
    /// How fast models are on each type; made up.
    pub profiles: PathBuf,
    jobs: usize,
    gpus: u32,
}

pub fn run(args: &ImportArgs, printer: &Printer) -> Result<Exit, Failure> {
    let imported = import(args, printer)?;
    let text = || {
        let Imported { trace, cluster, profiles, .. } = &imported;
        format!(
            "oef simulate --trace {} --cluster {} --profiles {} --report report.html\n",
            trace.display(),
            cluster.display(),
            profiles.display()
        )
    };
    printer.show(args.slurm.json, || &imported, text)
}

/// Asks Slurm and writes the files.
pub fn import(args: &ImportArgs, printer: &Printer) -> Result<Imported, Failure> {
    let called = slurm(&args.slurm);
    let partition = args.slurm.partition.as_deref();
    let nodes = gpu_nodes(&called, partition, None).map_err(failure)?;
    if nodes.is_empty() {
        let complaint = Complaint::new("Slurm knows no GPU here");
        return Err(complaint.hint("`oef slurm doctor` has the lines to add").into());
    }
    let cluster = spec(nodes.values());
    let mut words = vec!["-a".to_string(), "-P".into(), "-o".into(), COLUMNS.into()];
    words.extend(["-S".to_string(), since(args)?, "-E".into(), "now".into()]);
    words.extend(partition.map(|name| format!("--partition={name}")));
    let trace = called.call("sacct", &words).map_err(failure)?;
    let jobs = jobs_in(&trace);
    let mut notes = Vec::new();
    let profiles = made_up::profiles(&cluster, SEED, &mut notes)?;
    notes.iter().for_each(|note| printer.note(note));
    let write = |name: &str, text: &str| -> Result<PathBuf, Failure> {
        let path = args.output.join(name);
        file::write(&path, text)?;
        Ok(path)
    };
    make(&args.output)?;
    let imported = Imported {
        version: 1,
        trace: write("trace.txt", &trace)?,
        cluster: write("cluster.toml", &write_cluster(&cluster))?,
        profiles: write("profiles.csv", &write_profiles(&profiles))?,
        jobs,
        gpus: nodes.values().map(|node| node.gpus).sum(),
    };
    printer.note(&format!(
        "wrote {} and {} to {}",
        counted(jobs, "job"),
        counted(imported.gpus as usize, "GPU"),
        args.output.display()
    ));
    printer.note("Slurm knows no speeds: profiles.csv is made up; `oef profile` measures your own");
    Ok(imported)
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Complaint::new(format!("cannot be made: {error}")).at(folder.display().to_string()).into()
    })
}

fn spec<'a>(nodes: impl Iterator<Item = &'a GpuNode>) -> ClusterSpec {
    let node = |node: &GpuNode| NodeSpec {
        name: node.host.clone(),
        host: node.node.clone(),
        gpu_type: node.gpu_type().to_string(),
        gpus: node.gpus,
    };
    ClusterSpec { nodes: nodes.map(node).collect() }
}

/// Rows that are jobs and not steps.
fn jobs_in(trace: &str) -> usize {
    let is_job = |line: &&str| !line.split('|').next().unwrap_or_default().contains('.');
    trace.lines().skip(1).filter(is_job).count()
}

/// The beginning, as Slurm reads it in the local time of this machine.
fn since(args: &ImportArgs) -> Result<String, Failure> {
    let begin =
        SystemTime::now().checked_sub(args.since).and_then(|at| jiff::Timestamp::try_from(at).ok());
    let Some(begin) = begin else {
        return Err(Complaint::new("--since is too long ago").hint("try 30d").into());
    };
    let local = begin.to_zoned(jiff::tz::TimeZone::system());
    Ok(local.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}
