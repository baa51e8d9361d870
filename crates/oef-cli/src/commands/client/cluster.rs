//! `oef cluster`: the machines, and who is on them.

use super::pages;
use super::watch::{Watching, anything, watch};
use crate::args::tenants::WatchArgs;
use oef_api::client::Client;
use oef_api::types::{Cluster, GpuTypeStatus, Job, Node, NodeGpu, NodeHealth};
use oef_terminal::bars::bar;
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, times};
use owo_colors::{OwoColorize as _, Style};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BAR_WIDTH: usize = 12;
/// A job that has not used its GPU for so long is shown.
pub(super) const LONG_IDLE_S: f64 = 600.0;

pub fn run(args: &WatchArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let draw = || -> Result<String, Failure> {
        let (cluster, jobs) = (client.cluster()?, pages::live_jobs(client)?);
        Ok(render(&cluster, &jobs))
    };
    if args.watch {
        return watch(client, printer, anything, || Ok((draw()?, Watching::GoOn)));
    }
    if args.json { printer.json(&client.cluster()?) } else { printer.result(&draw()?) }
}

fn render(cluster: &Cluster, jobs: &[Job]) -> String {
    let mut out = types(cluster).fitted();
    if let Some(reference) = &cluster.reference {
        let note = format!("throughput is counted in GPUs of type {}", safe(reference));
        let _ = writeln!(out, "{}", note.dimmed());
    }
    out.push('\n');
    out.push_str(&nodes(cluster, jobs).fitted());
    out
}

fn types(cluster: &Cluster) -> Table {
    let used = |kind: &GpuTypeStatus| kind.capacity.saturating_sub(kind.idle);
    Table::each(&cluster.types)
        .column("gpu type", |kind| short(&kind.gpu_type))
        .column("gpus>", |kind| kind.capacity.to_string())
        .column("idle>", |kind| kind.idle.to_string())
        .column("in use", |kind| bar(used(kind).into(), kind.capacity.into(), BAR_WIDTH))
        .column("price>", |kind| kind.price.map_or("·".into(), fixed))
        .table()
}

/// A node a line, a GPU a word: `12:vision` is job 12 of tenant vision.
fn nodes(cluster: &Cluster, jobs: &[Job]) -> Table {
    let tenants: BTreeMap<u64, &str> = jobs.iter().map(|job| (job.id, &*job.tenant)).collect();
    // Only where a driver tells it.
    let read =
        cluster.nodes.iter().any(|node| node.gpus.iter().any(|gpu| *gpu != NodeGpu::default()));
    let on = |job: &Option<u64>| match job {
        None => "·".to_string(),
        // Whose it is is not for us to know.
        Some(0) => "other".to_string(),
        Some(id) => match tenants.get(id) {
            Some(tenant) => format!("{id}:{}", short(tenant)),
            None => id.to_string(),
        },
    };
    Table::each(&cluster.nodes)
        .column("node", |node| short(&node.name))
        .column("type", |node| short(&node.gpu_type))
        .column("health", health)
        .column("gpus", |node| node.jobs.iter().map(on).collect::<Vec<_>>().join("  "))
        .column_if(read, "busy", |node| node.gpus.iter().map(busy).collect::<Vec<_>>().join("  "))
        .column_if(read, "memory", memory)
        .column("why", why_out)
        .table()
}

fn health(node: &Node) -> Cell {
    match node.health {
        NodeHealth::Up => Cell::text("up"),
        NodeHealth::Draining => Cell::text("draining").style(Style::new().yellow()),
        NodeHealth::Down => Cell::text("down").style(Style::new().red()),
    }
}

/// How busy a GPU is: `97%`; or for how long its job has not used it.
pub(super) fn busy(gpu: &NodeGpu) -> String {
    match (gpu.utilisation, gpu.idle_s) {
        (None, _) => "·".into(),
        (Some(_), Some(idle)) if idle >= LONG_IDLE_S => format!("idle {}", whole_span(idle)),
        (Some(part), _) => format!("{:.0}%", part * 100.0),
    }
}

/// The largest unit of a time: `12m`, `3h`.
fn whole_span(seconds: f64) -> String {
    match seconds / 60.0 {
        minutes if minutes < 60.0 => format!("{}m", minutes.floor()),
        minutes if minutes < 48.0 * 60.0 => format!("{}h", (minutes / 60.0).floor()),
        minutes => format!("{}d", (minutes / 1440.0).floor()),
    }
}

/// Memory that is used on a node, of what its GPUs have: `71/160G`.
fn memory(node: &Node) -> String {
    let known = node.gpus.iter().filter_map(|gpu| Some((gpu.memory_used?, gpu.memory_total?)));
    let sum = known.fold((0, 0), |(used, total), (u, t)| (used + u, total + t));
    match sum {
        (_, 0) => "·".into(),
        (used, total) => format!("{}/{}G", gibibytes(used), gibibytes(total)),
    }
}

/// Whole GiB.
pub(super) fn gibibytes(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / f64::from(1 << 30))
}

/// Why a node is out and until when, or when it will be.
fn why_out(node: &Node) -> String {
    let reason = node.reason.as_deref().map(|reason| safe(reason).to_string());
    let until = node.until.map(|until| format!("until {}", times::at(until)));
    let next = node.windows.first().map(|window| format!("out from {}", times::at(window.from)));
    [reason, until, next].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
