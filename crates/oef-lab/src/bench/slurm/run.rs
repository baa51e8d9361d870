//! The four bars, one after the other.

use super::cluster::Bench;
use super::{idle, recorded};
use clap::{Args, ValueHint};
use oef_executor::slurm::Slurm;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use serde::Serialize;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// `oef bench slurm`
#[derive(Debug, Args)]
pub struct BenchSlurmArgs {
    /// The slurm.conf [default: what this machine knows]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub conf: Option<PathBuf>,
    /// The partition; its nodes should be idle [default: all nodes]
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// A new folder that all nodes see; it is removed at the end
    #[arg(long, value_name = "DIR", default_value = "bench-slurm", value_hint = ValueHint::DirPath)]
    pub state: PathBuf,
    /// How many launches are measured
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub launches: u64,
    /// Only the recorded cluster, which needs no Slurm
    #[arg(long)]
    pub recorded_only: bool,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// One figure and its bar.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub bar: f64,
}

#[derive(Debug, Serialize)]
struct SlurmFigures {
    version: u32,
    figures: Vec<Figure>,
}

/// Runs the command. The exit code is 1 where a bar is missed.
pub fn run(args: &BenchSlurmArgs, printer: &Printer) -> Result<Exit, Failure> {
    let dir = args.state.display();
    fs::create_dir(&args.state).map_err(|error| {
        Complaint::new(format!("{dir}: cannot be made: {error}"))
            .hint("--state names a folder that does not exist yet")
    })?;
    let mut figures = vec![recorded::read_and_plan(&args.state).map_err(failed)?];
    if !args.recorded_only {
        let slurm =
            Slurm { conf: args.conf.clone(), limit: Duration::from_secs(40), ..Slurm::default() };
        let bench = Bench::open(slurm, args.partition.clone(), &args.state).map_err(failed)?;
        figures.push(bench.hand_over().map_err(failed)?);
        figures.push(bench.launch(args.launches).map_err(failed)?);
        drop(bench);
        figures.push(idle::measure(args).map_err(failed)?);
    }
    fs::remove_dir_all(&args.state).map_err(|error| failed(format!("{dir}: {error}")))?;
    let is_kept = figures.iter().all(|figure| figure.value <= figure.bar);
    let measured = SlurmFigures { version: 1, figures };
    printer.show(args.json, || &measured, || text(&measured))?;
    Ok(if is_kept { Exit::Done } else { Exit::DoesNotHold })
}

fn failed(why: String) -> Failure {
    Complaint::new(why).hint("`oef slurm doctor` says what is missing").into()
}

fn text(measured: &SlurmFigures) -> String {
    let line = |figure: &Figure| {
        let Figure { name, value, unit, bar } = figure;
        let verdict = if value <= bar { "kept" } else { "missed" };
        format!("{name}: {value:.2} {unit} (bar {bar} {unit}: {verdict})\n")
    };
    measured.figures.iter().map(line).collect()
}
