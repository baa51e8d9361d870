//! `oef workloads` and `oef workload`.

use super::{pages, profile};
use crate::args::tenants::{GangSpeeds, WorkloadCommand, WorkloadSetArgs, WorkloadsArgs};
use oef_api::client::Client;
use oef_api::types::{GangPut, Provenance, Workload, WorkloadPut, Workloads};
use oef_report::format::figure;
use oef_terminal::names::short;
use oef_terminal::table::Table;
use oef_terminal::{Complaint, Exit, Failure, Printer};

/// `oef workloads`
pub fn list(args: &WorkloadsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let workloads = pages::workloads(client, args.tenant.as_deref())?;
    let page = Workloads { workloads, next: None };
    let none = "no workloads; the first job of a kind makes one\n";
    printer.show(args.json, || &page, || table(&page.workloads).fitted_or(none))
}

/// `oef workload ...`
pub fn run(command: &WorkloadCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let WorkloadCommand::Set(args) = command;
    let workload = set(args, client)?;
    printer.show(args.json, || &workload, || profile::render(&workload))
}

fn set(args: &WorkloadSetArgs, client: &Client) -> Result<Workload, Failure> {
    if args.throughput.is_empty() && args.weight.is_none() {
        let complaint = Complaint::new("nothing to change");
        return Err(complaint.hint("use --throughput or --weight").into());
    }
    for (i, (gpu, _)) in args.throughput.iter().enumerate() {
        if args.throughput[..i].iter().any(|(other, _)| other == gpu) {
            let complaint = Complaint::new(format!("gpu type `{gpu}` occurs twice"));
            return Err(complaint.at("--throughput").hint("leave one of them out").into());
        }
    }
    let put = WorkloadPut {
        weight: args.weight,
        throughput: (!args.throughput.is_empty())
            .then(|| args.throughput.iter().cloned().collect()),
        gangs: args.gang.iter().flat_map(figures).collect(),
        provenance: args.measured.then_some(Provenance::Measured),
    };
    Ok(client.put_workload(&args.workload.tenant, &args.workload.name, &put)?)
}

/// The figures of gangs of one size.
fn figures(gang: &GangSpeeds) -> Vec<GangPut> {
    let figure = |(gpu_type, throughput): &(String, f64)| GangPut {
        gpu_type: gpu_type.clone(),
        workers: gang.workers,
        spread: gang.spread,
        throughput: *throughput,
    };
    gang.speeds.iter().map(figure).collect()
}

fn table(workloads: &[Workload]) -> Table {
    Table::each(workloads)
        .column("tenant", |workload| short(&workload.tenant))
        .column("workload", |workload| short(&workload.name))
        .column("weight>", |workload| figure(workload.weight))
        .column("jobs>", |workload| workload.jobs.to_string())
        .column("known", |workload| profile::provenance(workload.profile.provenance))
        .column("throughput", |workload| profile::speeds(&workload.profile.throughput))
        .table()
}
