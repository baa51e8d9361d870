//! `oef completions` and `oef man`, both made from the command line's own description.

use crate::args::Cli;
use clap::CommandFactory as _;
use clap_complete::Shell;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::path::Path;

/// Writes completions for a shell to stdout.
pub fn completions(shell: Shell, printer: &Printer) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "oef", &mut script);
    printer.raw(&script)
}

/// Writes the main page to stdout, or all pages into a directory.
pub fn man(dir: Option<&Path>, printer: &Printer) -> Result<Exit, Failure> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        return printer.raw(&page);
    };
    let cannot = |error: std::io::Error| {
        let complaint = Complaint::new(format!("the pages cannot be written: {error}"));
        complaint.at(dir.display().to_string()).hint("name a directory that can be written to")
    };
    std::fs::create_dir_all(dir).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(cannot)?;
    printer.note(&format!("man pages written to {}", dir.display()));
    Ok(Exit::Done)
}
