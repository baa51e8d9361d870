//! `oef slurm doctor`: what works, what is missing, and the lines to add.

use super::slurm;
use crate::args::slurm::DoctorArgs;
use oef_executor::slurm::{Check, CheckStatus, examine};
use oef_terminal::document::Document;
use oef_terminal::{Exit, Failure, Printer};

/// Runs the command. The exit code is 1 where something is missing that OEF needs.
pub fn run(args: &DoctorArgs, printer: &Printer) -> Result<Exit, Failure> {
    let checks = examine(&slurm(&args.slurm), args.slurm.partition.as_deref());
    let ready = checks.iter().all(|check| check.verdict != CheckStatus::Missing);
    let document = || Document::whole().with("ready", ready).with("checks", &checks);
    printer.show(args.slurm.json, document, || text(&checks, ready))?;
    Ok(if ready { Exit::Done } else { Exit::DoesNotHold })
}

fn text(checks: &[Check], ready: bool) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let mark = match check.verdict {
            CheckStatus::Good => "ok     ",
            CheckStatus::Advice => "advice ",
            CheckStatus::Missing => "MISSING",
        };
        text += &format!("{mark}  {:width$}  {}\n", check.name, check.what);
        for line in &check.lines {
            text += &format!("{:9}{:width$}    {line}\n", "", "");
        }
    }
    text += match ready {
        true => "\nready: `oef up --slurm` drives it; `oef slurm report` only looks\n",
        false => "\nnot ready: see MISSING above\n",
    };
    text
}
