//! `oef node`.

use crate::args::cluster::NodeCommand;
use oef_api::client::Client;
use oef_api::types::{NodeHealth, NodePatch};
use oef_terminal::names::safe;
use oef_terminal::{Exit, Failure, Printer};

/// Runs the command.
pub fn run(command: &NodeCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let (args, health) = match command {
        NodeCommand::Up(args) => (args, NodeHealth::Up),
        NodeCommand::Down(args) => (args, NodeHealth::Down),
    };
    let node = client.patch_node(&args.name, &NodePatch { health })?;
    if args.json {
        printer.json(&node)?;
        return Ok(Exit::Done);
    }
    let what = match node.health {
        NodeHealth::Up => "is up: jobs may run on it",
        NodeHealth::Down => "is down: its jobs stop and wait for other GPUs",
    };
    printer.result(&format!("node {} {what}\n", safe(&node.name)))?;
    Ok(Exit::Done)
}
