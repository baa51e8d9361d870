//! The three forms of the view: live, one frame, one document.

use super::screen::Screen;
use super::snapshot::Snapshot;
use super::{live, once};
use crate::args::cluster::TopArgs;
use jiff::Timestamp;
use oef_api::client::Client;
use oef_terminal::{Complaint, Exit, Failure, Printer, width};
use std::io::{IsTerminal as _, stdin, stdout};

/// The size of a frame where no terminal says one.
const COLUMNS: u16 = 120;
const LINES: u16 = 40;

pub fn run(args: &TopArgs, client: Client, printer: &Printer) -> Result<Exit, Failure> {
    let is_live = !args.json && !args.once;
    if is_live && !(stdout().is_terminal() && stdin().is_terminal()) {
        let complaint = Complaint::new("the live view needs a terminal");
        return Err(complaint.hint("use --once for one frame as text, or --json").into());
    }
    let snapshot = Snapshot::fetch(&client)?;
    if args.json {
        return printer.json(&snapshot);
    }
    if args.once {
        let columns = width::columns().and_then(|columns| u16::try_from(columns).ok());
        let columns = columns.unwrap_or(COLUMNS);
        let frame = once::text(&Screen::new(snapshot), Timestamp::now(), columns, LINES)?;
        return printer.result(&frame);
    }
    live::show(&client, snapshot)?;
    Ok(Exit::Done)
}
