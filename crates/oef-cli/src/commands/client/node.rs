//! `oef node` and `oef reserve`.

use crate::args::cluster::{DrainArgs, NodeArgs, NodeCommand, ReserveArgs};
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::types::{Node, NodeHealth, NodePatch};
use oef_terminal::names::safe;
use oef_terminal::table::Table;
use oef_terminal::{Complaint, Exit, Failure, Printer, times, width};

/// Runs `oef node`.
pub fn run(command: &NodeCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let (NodeArgs { name, json }, patch) = match command {
        NodeCommand::Up(args) => (args.clone(), NodePatch::health(NodeHealth::Up)),
        NodeCommand::Down(args) => (args.clone(), NodePatch::health(NodeHealth::Down)),
        NodeCommand::Drain(args) => drain(args),
    };
    let node = client.patch_node(&name, &patch)?;
    let said = || format!("node {} {}\n", safe(&node.name), standing(&node));
    printer.show(json, || &node, said)
}

fn drain(args: &DrainArgs) -> (NodeArgs, NodePatch) {
    let DrainArgs { name, reason, let_finish, until, json } = args.clone();
    let patch = NodePatch { reason, let_finish, until, ..NodePatch::health(NodeHealth::Down) };
    (NodeArgs { name, json }, patch)
}

fn standing(node: &Node) -> String {
    let until = node.until.map(|until| format!("; it is back at {}", times::at(until)));
    let what = match node.health {
        NodeHealth::Up => "is up: jobs may run on it",
        NodeHealth::Draining => "takes no more jobs; those that run there may end",
        NodeHealth::Down => "is down: its jobs stop and wait for other GPUs",
    };
    format!("{what}{}", until.unwrap_or_default())
}

/// Runs `oef reserve`.
pub fn reserve(args: &ReserveArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    if let Some(id) = args.drop {
        client.drop_window(id)?;
    }
    let until = |from: Timestamp| {
        let end = args.length.map(|length| from.checked_add(length));
        end.transpose().map_err(|_| Failure::from(Complaint::new("`--for` is too long")))
    };
    for node in &args.nodes {
        let Some(from) = args.from else { continue };
        let patch = NodePatch {
            reason: args.reason.clone(),
            let_finish: args.let_finish,
            from: Some(from),
            until: until(from)?,
            ..NodePatch::health(NodeHealth::Down)
        };
        client.patch_node(node, &patch)?;
    }
    let nodes = client.cluster()?.nodes;
    if args.json {
        let planned: Vec<&Node> = nodes.iter().filter(|node| !node.windows.is_empty()).collect();
        return printer.json(&serde_json::json!({ "nodes": planned }));
    }
    let wide = width::columns().is_none_or(|columns| columns >= WIDE);
    printer.result(&planned(&nodes, wide).fitted_or("nothing is planned\n"))
}

/// Three times need a wide screen; the third follows from the first.
const WIDE: usize = 80;

fn planned(nodes: &[Node], wide: bool) -> Table {
    let at = |time| if wide { times::at(time) } else { times::minute(time) };
    let mut rows: Vec<_> =
        nodes.iter().flat_map(|node| node.windows.iter().map(move |w| (w, node))).collect();
    rows.sort_by_key(|(window, _)| (window.from, window.id));
    let mut table = Table::each(&rows)
        .column("id", |(window, _)| window.id.to_string())
        .column("node", |(_, node)| safe(&node.name))
        .column("from", |(window, _)| at(window.from))
        .column("until", |(window, _)| window.until.map_or("`oef node up`".into(), at));
    if wide {
        table = table.column("no starts from", |(window, _)| at(window.closes));
    }
    table.column("reason", |(window, _)| safe(window.reason.as_deref().unwrap_or(""))).table()
}
