//! `oef slurm report`: what OEF would have done with what was run.

use super::import::import;
use crate::args::slurm::ReportArgs;
use crate::args::{Cli, Command};
use crate::commands::simulate;
use clap::Parser as _;
use oef_core::Mechanism;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::ffi::OsString;

/// What is compared where nobody says otherwise: the default, the paper's, and a plain division.
const COMPARED: [Mechanism; 3] = [Mechanism::Nash, Mechanism::Cooperative, Mechanism::MaxMin];

pub fn run(args: &ReportArgs, printer: &Printer) -> Result<Exit, Failure> {
    let imported = import(&args.import, printer)?;
    let mechanisms = if args.mechanism.is_empty() { &COMPARED[..] } else { &args.mechanism };
    let names: Vec<&str> = mechanisms.iter().map(|mechanism| mechanism.name()).collect();
    let usual = args.import.output.join("report.html");
    let report = args.report.clone().unwrap_or(usual);
    let profiles = args.profiles.clone().unwrap_or(imported.profiles);
    let mut words: Vec<OsString> =
        ["oef", "simulate", "--skip-bad-rows"].map(OsString::from).to_vec();
    words.extend(["--mechanism".into(), names.join(",").into()]);
    words.extend(["--trace".into(), imported.trace.into_os_string()]);
    words.extend(["--cluster".into(), imported.cluster.into_os_string()]);
    words.extend(["--profiles".into(), profiles.into_os_string()]);
    words.extend(["--report".into(), report.into_os_string()]);
    words.extend(args.import.slurm.json.then(|| "--json".into()));
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Simulate(args)) => simulate::run(&args, printer),
        Ok(_) => Err(Complaint::new("internal error: `oef simulate` is another command").into()),
        Err(error) => Err(Complaint::new(error.to_string()).into()),
    }
}
