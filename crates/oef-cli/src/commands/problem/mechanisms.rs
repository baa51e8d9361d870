//! `oef mechanisms`: what there is to choose from.

use crate::args::problem::MechanismsArgs;
use oef_core::Mechanism;
use oef_core::mechanism::ADVICE;
use oef_terminal::document::Document;
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::Style;

pub fn run(args: &MechanismsArgs, printer: &Printer) -> Result<Exit, Failure> {
    if args.json {
        let list = Mechanism::ALL.map(|m| {
            let named = Document::part().with("name", m.name()).with("summary", m.summary());
            named.with("default", m == Mechanism::DEFAULT)
        });
        return printer.json(&list);
    }
    let table = Table::each(&Mechanism::ALL)
        .column("mechanism", |m| Cell::text(m.name()).style(Style::new().bold()))
        .column("what it computes", |m| m.summary())
        .table();
    printer.result(&format!("{}\n{ADVICE}\n", table.fitted()))
}
