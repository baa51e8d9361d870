//! `oef mechanisms`: what there is to choose from.

use crate::args::problem::MechanismsArgs;
use oef_core::Mechanism;
use oef_core::mechanism::ADVICE;
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, width};
use owo_colors::Style;
use serde::Serialize;

#[derive(Serialize)]
struct MechanismDocument {
    name: &'static str,
    summary: &'static str,
    default: bool,
}

/// Runs the command.
pub fn run(args: &MechanismsArgs, printer: &Printer) -> Result<Exit, Failure> {
    if args.json {
        let list = Mechanism::ALL.map(|m| MechanismDocument {
            name: m.name(),
            summary: m.summary(),
            default: m == Mechanism::DEFAULT,
        });
        printer.json(&list)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::headed(["mechanism", "what it computes"]);
    for mechanism in Mechanism::ALL {
        let name = Cell::text(mechanism.name()).style(Style::new().bold());
        table.row(vec![name, Cell::text(mechanism.summary())]);
    }
    printer.result(&format!("{}\n{ADVICE}\n", table.render_within(width::columns())))?;
    Ok(Exit::Done)
}
