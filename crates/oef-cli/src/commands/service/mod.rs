//! `oef service`: the daemon as a systemd service.

mod unit;

use crate::args::service::{InstallArgs, ServiceArgs, ServiceCommand};
use oef_api::client::Client;
use oef_server::config::Config;
use oef_terminal::{Complaint, Exit, Failure, Printer, file};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unit::{Places, Scope};

pub fn run(command: &ServiceCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        ServiceCommand::Install(args) => install(args, printer),
        ServiceCommand::Status(args) => status(args, printer),
        ServiceCommand::Uninstall(args) => uninstall(args, printer),
    }
}

#[derive(Serialize)]
struct Status {
    unit: String,
    installed: bool,
    enabled: Option<String>,
    active: Option<String>,
    answers: bool,
}

fn install(args: &InstallArgs, printer: &Printer) -> Result<Exit, Failure> {
    let scope = scope(&args.service);
    let places = Places::new(scope)?;
    let config = args.config.clone().unwrap_or_else(|| places.config.clone());
    let config = std::path::absolute(&config)?;
    let program = std::env::current_exe()?;
    let unit = unit::text(scope, &program, &config)?;
    if args.print {
        return printer.result(&unit);
    }
    let root = args.service.root.as_deref();
    write_settings(&below(root, &config), &places.state, scope, printer)?;
    let path = below(root, &places.unit);
    place(&path, &unit)?;
    printer.note(&format!("{} is written", path.display()));
    if program.components().any(|part| part.as_os_str() == "target") {
        printer.note(&format!(
            "it runs {}, which the next build replaces; `cargo install` puts a copy elsewhere",
            program.display()
        ));
    }
    if root.is_none() && !args.no_start {
        systemctl(scope, &["daemon-reload"])?;
        systemctl(scope, &["enable", "--now", "oef"])?;
        printer.note("it runs, and starts with the machine; `oef service status` looks at it");
        if scope == Scope::User {
            printer.note("to keep it while you are logged out: `loginctl enable-linger`");
        }
    }
    if args.service.json {
        printer.json(&serde_json::json!({
            "unit": path.display().to_string(),
            "config": config.display().to_string(),
        }))?;
    }
    Ok(Exit::Done)
}

/// Settings that are there stay as they are; they must be right before anything is started with them.
fn write_settings(
    path: &Path,
    state: &Path,
    scope: Scope,
    printer: &Printer,
) -> Result<(), Failure> {
    if path.exists() {
        crate::commands::daemon::config::read(path)?;
        printer.note(&format!("{} is there and stays as it is", path.display()));
        return Ok(());
    }
    let line = format!("state_dir = {:?}", state.display().to_string());
    let mut text = Config::sample().replacen("#state_dir = \"/var/lib/oef\"", &line, 1);
    if scope == Scope::System {
        // People on the machine need no token then.
        text = text.replacen("#path = \"/run/oef/oef.sock\"", "path = \"/run/oef/oef.sock\"", 1);
    }
    place(path, &text)?;
    printer.note(&format!("{} is written, with every setting explained", path.display()));
    Ok(())
}

fn place(path: &Path, text: &str) -> Result<(), Failure> {
    let at = |error: std::io::Error| {
        let complaint = Complaint::new(error.to_string()).at(path.display().to_string());
        complaint.hint("run it as root, or with --user")
    };
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(at)?;
    }
    file::write(path, text)
}

fn status(args: &ServiceArgs, printer: &Printer) -> Result<Exit, Failure> {
    let scope = scope(args);
    let path = below(args.root.as_deref(), &Places::new(scope)?.unit);
    let ask = |what: &str| match args.root {
        None => said(scope, what),
        Some(_) => None,
    };
    let status = Status {
        unit: path.display().to_string(),
        installed: path.exists(),
        enabled: ask("is-enabled"),
        active: ask("is-active"),
        // Below another root there is no daemon of this unit, whatever else runs on this machine.
        answers: args.root.is_none() && Client::find().is_ok_and(|client| client.cluster().is_ok()),
    };
    let is_well = status.installed && status.answers;
    let known =
        |word: &Option<String>| word.clone().unwrap_or("not known (no systemd here)".into());
    let text = || {
        format!(
            "unit       {}{}\nat boot    {}\nsystemd    {}\nanswers    {}\n",
            status.unit,
            if status.installed { "" } else { " (not installed)" },
            known(&status.enabled),
            known(&status.active),
            if status.answers { "yes" } else { "no" },
        )
    };
    printer.show(args.json, || &status, text)?;
    Ok(if is_well { Exit::Done } else { Exit::DoesNotHold })
}

fn uninstall(args: &ServiceArgs, printer: &Printer) -> Result<Exit, Failure> {
    let scope = scope(args);
    let path = below(args.root.as_deref(), &Places::new(scope)?.unit);
    if !path.exists() {
        let complaint = Complaint::new("there is no such unit").at(path.display().to_string());
        return Err(complaint.hint("`--user` or `--system` names the other one").into());
    }
    if args.root.is_none() {
        systemctl(scope, &["disable", "--now", "oef"])?;
    }
    fs::remove_file(&path)?;
    if args.root.is_none() {
        systemctl(scope, &["daemon-reload"])?;
    }
    printer.note(&format!("{} is removed; settings, state and running jobs stay", path.display()));
    if args.json {
        printer.json(&serde_json::json!({ "unit": path.display().to_string() }))?;
    }
    Ok(Exit::Done)
}

fn scope(args: &ServiceArgs) -> Scope {
    let is_root = rustix::process::geteuid().is_root();
    match args.system || (is_root && !args.user) {
        true => Scope::System,
        false => Scope::User,
    }
}

/// A path below another root.
fn below(root: Option<&Path>, path: &Path) -> PathBuf {
    match root {
        Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
        None => path.to_path_buf(),
    }
}

fn systemctl(scope: Scope, args: &[&str]) -> Result<(), Failure> {
    let shown = format!("systemctl{} {}", of(scope).map_or("", |_| " --user"), args.join(" "));
    let way_out = "the files are written; where systemd runs, run it again";
    let output = command(scope, args).output().map_err(|error| {
        Complaint::new(format!("`{shown}` cannot be run: {error}")).hint(way_out)
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(Complaint::new(format!("`{shown}` failed: {said}")).hint(way_out).into())
}

/// What systemd says in a word; none where there is no systemd.
fn said(scope: Scope, what: &str) -> Option<String> {
    let output = command(scope, &[what, "oef"]).output().ok()?;
    let word = String::from_utf8_lossy(&output.stdout).trim().to_string();
    Some(word).filter(|word| !word.is_empty())
}

fn command(scope: Scope, args: &[&str]) -> Command {
    let mut command = Command::new("systemctl");
    command.args(of(scope)).args(args);
    command
}

fn of(scope: Scope) -> Option<&'static str> {
    (scope == Scope::User).then_some("--user")
}
