//! `oef journal` and `oef backup`: the state folder from outside.

use crate::args::daemon::{BackupArgs, JournalCommand, StateArgs};
use oef_api::types::Access;
use oef_report::format;
use oef_server::replay::Replay;
use oef_server::store::journal::{self, Report, Step};
use oef_server::store::{Keep, StoreError};
use oef_terminal::document::Document;
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufWriter, stdout};
use std::path::PathBuf;

pub fn run(command: &JournalCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        JournalCommand::Check(args) => check(args, printer),
        JournalCommand::Export(args) => export(args, printer),
        JournalCommand::Compact(args) => compact(args, printer),
        JournalCommand::Accept(args) => accept(args, printer),
    }
}

/// The folder that was named, or that of the daemon that clients here talk to, or the one that `oef up` uses. It is told:
/// there may be several.
fn folder(args: &StateArgs, printer: &Printer) -> Result<PathBuf, Failure> {
    let daemon = || Access::find().ok().and_then(|access| access.state).map(PathBuf::from);
    let usual = || oef_api::client::access_file().map(|file| file.with_file_name("daemon"));
    let found = args.state.clone().or_else(daemon).or_else(usual).ok_or_else(|| {
        let complaint = Complaint::new("neither XDG_STATE_HOME nor HOME is set");
        complaint.hint("name the state folder with --state DIR")
    })?;
    printer.note(&format!("state folder: {}", found.display()));
    Ok(found)
}

fn failure(error: StoreError) -> Failure {
    let complaint = Complaint::new(error.to_string());
    match error.is_temporary() {
        true => Failure::limit(complaint),
        false => complaint.into(),
    }
}

fn check_document(report: &Report) -> impl Serialize {
    let problems = report.problems.iter();
    let problems =
        problems.map(|p| Document::part().with("seq", p.seq).with("what", p.what.as_str()));
    Document::part()
        .with("sound", report.is_sound())
        .with("records", report.records)
        .with("first", report.first)
        .with("last", report.last)
        .with("snapshots", report.snapshots)
        .with("rounds", report.rounds)
        .with("bytes", report.bytes)
        .list("problems", problems)
}

/// The last record that is there counts as the last that ever was.
fn accept(args: &StateArgs, printer: &Printer) -> Result<Exit, Failure> {
    let last = journal::accept(&folder(args, printer)?).map_err(failure)?;
    let said =
        || format!("the journal ends with record {last}; the next start continues from there");
    printer.show(args.json, || BTreeMap::from([("last", last)]), said)
}

/// Everything is read and applied as a restart would do it; nothing is changed.
fn check(args: &StateArgs, printer: &Printer) -> Result<Exit, Failure> {
    let mut replay = Replay::default();
    let report = journal::check(&folder(args, printer)?, &mut |step| match step {
        Step::Snapshot(snapshot) => replay.snapshot(snapshot),
        Step::Record(stored) => replay.record(stored),
    })
    .map_err(failure)?;
    printer.show(args.json, || check_document(&report), || shown(&report))?;
    Ok(if report.is_sound() { Exit::Done } else { Exit::DoesNotHold })
}

fn shown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} ({} to {}), {}, {}, {}",
        many(report.records, "record"),
        report.first,
        report.last,
        many(report.snapshots, "snapshot"),
        many(report.rounds, "round"),
        format::bytes(report.bytes)
    );
    for problem in &report.problems {
        let at = problem.seq.map_or(String::new(), |seq| format!("record {seq}: "));
        let _ = writeln!(out, "{at}{}", safe(&problem.what));
    }
    if report.is_sound() {
        out.push_str("sound: a restart would find everything\n");
    } else {
        out.push_str("damaged: keep a copy, and restore a backup (`oef backup` makes them)\n");
    }
    out
}

fn many(n: u64, noun: &str) -> String {
    counted(usize::try_from(n).unwrap_or(usize::MAX), noun)
}

fn export(args: &StateArgs, printer: &Printer) -> Result<Exit, Failure> {
    let dir = folder(args, printer)?;
    if args.json {
        // The records are the result; the document says how many there would be.
        let lines = journal::export(&dir, &mut std::io::sink()).map_err(failure)?;
        return printer.json(&BTreeMap::from([("lines", lines)]));
    }
    let mut out = BufWriter::new(stdout().lock());
    let lines = journal::export(&dir, &mut out).map_err(failure)?;
    std::io::Write::flush(&mut out)?;
    drop(out);
    printer.note(&many(lines, "record"));
    Ok(Exit::Done)
}

fn compact(args: &StateArgs, printer: &Printer) -> Result<Exit, Failure> {
    let done = journal::compact(&folder(args, printer)?, &Keep::default()).map_err(failure)?;
    let (records, snapshots, rounds, bytes) =
        (done.records, done.snapshots, done.rounds, done.bytes);
    let said = || {
        let (rounds, size) = (many(rounds, "round"), format::bytes(bytes));
        let (records, snapshots) = (many(records, "record"), many(snapshots, "snapshot"));
        format!("removed {records}, {snapshots} and {rounds}: {size}\n")
    };
    let document = || {
        let removed = Document::part().with("records", records).with("snapshots", snapshots);
        removed.with("rounds", rounds).with("bytes", bytes)
    };
    printer.show(args.json, document, said)
}

/// `oef backup`
pub fn backup(args: &BackupArgs, printer: &Printer) -> Result<Exit, Failure> {
    let bytes = journal::backup(&folder(&args.state, printer)?, &args.file).map_err(failure)?;
    let file = args.file.display().to_string();
    if args.state.json {
        return printer.json(&Document::part().with("file", file).with("bytes", bytes));
    }
    let size = format::bytes(bytes);
    printer.note(&format!(
        "{file}: {size}. To go back to it, stop the daemon and put it into a state folder as `oef.db`"
    ));
    Ok(Exit::Done)
}
