//! `oef config`: the file with the daemon's settings.

use crate::args::daemon::ConfigCommand;
use oef_server::config::Config;
use oef_server::preflight::{Refused, refusals};
use oef_terminal::{Complaint, Exit, Failure, Printer, Source, file};
use serde_json::json;
use std::path::Path;

pub fn run(command: &ConfigCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Init(args) => {
            let named = args.file.as_deref();
            let Some(path) = named.filter(|_| args.json).or(file::unless_stdout(named)) else {
                return printer.result(Config::sample());
            };
            init(path)?;
            let shown = path.display().to_string();
            if args.json {
                return printer.json(&json!({"file": shown}));
            }
            printer.note(&format!("{shown} is written; `oef serve --config {shown}` uses it"));
        }
        ConfigCommand::Check(args) => {
            let config = read(&args.file)?;
            start_would_work(&config, &args.file)?;
            let shown = args.file.display().to_string();
            if args.json {
                return printer.json(&json!({"file": shown, "ok": true}));
            }
            printer.note(&format!("{shown} is right"));
        }
    }
    Ok(Exit::Done)
}

/// Somebody's settings are not written over.
fn init(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        let complaint = Complaint::new("is there already").at(path.display().to_string());
        return Err(complaint.hint("name another file, or remove this one first").into());
    }
    file::check_place(path)?;
    file::write(path, Config::sample())
}

/// Whether `oef serve` would start with them here, or everything because of which it would not.
fn start_would_work(config: &Config, file: &Path) -> Result<(), Failure> {
    let refused = refusals(config, file.to_path_buf());
    if refused.is_empty() {
        return Ok(());
    }
    let complaint = |Refused { key, why }: Refused| {
        Complaint::new(why.to_string()).at(format!("{}: {key}", file.display()))
    };
    Err(Failure::input(refused.into_iter().map(complaint).collect()))
}

/// The settings of a file, or everything that is wrong with it.
pub fn read(path: &Path) -> Result<Config, Failure> {
    let source =
        Source::read(path, "`oef config init FILE` writes one with every setting explained")?;
    Config::check(&source.text).map_err(|problems| {
        let complaint = |problem: oef_server::config::ConfigProblem| {
            let key =
                if problem.key.is_empty() { String::new() } else { format!(": {}", problem.key) };
            Complaint::new(problem.what).at(format!("{}:{}{key}", source.label, problem.line))
        };
        Failure::input(problems.into_iter().map(complaint).collect())
    })
}
