//! `oef tenants` and `oef tenant`.

use super::pages;
use super::watch::{self, anything};
use crate::args::tenants::{TenantCommand, TenantSetArgs, WatchArgs};
use oef_api::client::Client;
use oef_api::types::{JobOrder, Limits, Tenant, TenantCreate, TenantPatch, Tenants};
use oef_report::format::figure;
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::difference;
use oef_terminal::table::{Cell, Table};
use oef_terminal::times::at;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use owo_colors::{OwoColorize as _, Style};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The word that takes a tenant out of its group, as it takes a limit away.
pub const NONE: &str = "none";

/// `oef tenants`
pub fn list(args: &WatchArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let fetch = || Ok(Tenants { tenants: pages::tenants(client)?, next: None });
    let draw = |page: &Tenants| render(&page.tenants);
    watch::show((args.watch, args.json), client, printer, anything, fetch, draw)
}

/// `oef tenant ...`
pub fn run(command: &TenantCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let (tenant, json) = match command {
        TenantCommand::Create(args) => (create(args, client)?, args.json),
        TenantCommand::Set(args) => (set(args, client)?, args.json),
        TenantCommand::Suspend(args) => (suspend(&args.name, true, client)?, args.json),
        TenantCommand::Resume(args) => (suspend(&args.name, false, client)?, args.json),
        TenantCommand::Show(args) => (client.tenant(&args.name)?, args.json),
        TenantCommand::Remove(args) => {
            client.remove_tenant(&args.name)?;
            let done = format!("tenant {} is removed; its jobs are cancelled\n", safe(&args.name));
            return removed(&args.name, &done, args.json, printer);
        }
    };
    printer.show(json, || &tenant, || show(&tenant))
}

/// Says that something of this name is gone.
pub fn removed(name: &str, done: &str, json: bool, printer: &Printer) -> Result<Exit, Failure> {
    printer.show(json, || BTreeMap::from([("removed", name)]), || done.into())
}

fn create(args: &TenantSetArgs, client: &Client) -> Result<Tenant, Failure> {
    let limits = Limits {
        gpus: args.max_gpus.and_then(|limit| limit.0),
        jobs: args.max_jobs.and_then(|limit| limit.0),
    };
    let group = args.group.clone().filter(|group| group != NONE);
    let user = args.user.clone().filter(|user| user != NONE);
    let tenant = TenantCreate {
        name: args.name.parse().map_err(|why: String| Complaint::new(why))?,
        weight: args.weight,
        group,
        limits,
        guarantee: args.guarantee.clone().unwrap_or_default(),
        limit: args.limit.clone().unwrap_or_default(),
        user,
    };
    Ok(client.create_tenant(&tenant)?)
}

fn set(args: &TenantSetArgs, client: &Client) -> Result<Tenant, Failure> {
    let mut limits = None;
    if args.max_gpus.is_some() || args.max_jobs.is_some() {
        // Limits are set together: what is not named here stays as it is.
        let old = client.tenant(&args.name)?.limits;
        limits = Some(Limits {
            gpus: args.max_gpus.map_or(old.gpus, |limit| limit.0),
            jobs: args.max_jobs.map_or(old.jobs, |limit| limit.0),
        });
    }
    let group = args.group.clone().map(|group| (group != NONE).then_some(group));
    let user = args.user.clone().map(|user| (user != NONE).then_some(user));
    let order = args.order;
    let patch = TenantPatch {
        weight: args.weight,
        group,
        limits,
        guarantee: args.guarantee.clone(),
        limit: args.limit.clone(),
        suspended: None,
        user,
        order,
    };
    if patch == TenantPatch::default() {
        let complaint = Complaint::new("nothing to change");
        return Err(complaint
            .hint("use --weight, --group, --max-gpus, --max-jobs, --guarantee, --limit, --user or --order")
            .into());
    }
    Ok(client.patch_tenant(&args.name, &patch)?)
}

fn suspend(name: &str, suspended: bool, client: &Client) -> Result<Tenant, Failure> {
    let patch = TenantPatch { suspended: Some(suspended), ..TenantPatch::default() };
    Ok(client.patch_tenant(name, &patch)?)
}

fn render(tenants: &[Tenant]) -> String {
    if tenants.is_empty() {
        return "no tenants; `oef tenant create NAME` makes one\n".into();
    }
    // Inside groups, and with a memory of usage, what counts is another weight than the one that was set.
    let counts = |t: &Tenant| t.effective_weight.filter(|w| (w - t.weight).abs() > 1e-9);
    let grouped = tenants.iter().any(|t| counts(t).is_some());
    let name = |tenant: &Tenant| match Cell::text(short(&tenant.name)) {
        name if tenant.suspended => name.style(Style::new().yellow()),
        name => name,
    };
    let group = |tenant: &Tenant| {
        let note = if tenant.suspended { " (suspended)" } else { "" };
        format!("{}{note}", tenant.group.as_deref().map(short).unwrap_or_default())
    };
    let table = Table::each(tenants)
        .column("tenant", name)
        .column("weight>", |tenant| figure(tenant.weight))
        .column_if(grouped, "counts>", |tenant| counts(tenant).map_or("·".into(), figure))
        .column("queued>", |tenant| tenant.queued.to_string())
        .column("running>", |tenant| tenant.running.to_string())
        .column("holds", |tenant| holds(&tenant.holds))
        .column("share", |tenant| amounts(&tenant.share))
        .column("balance>", |tenant| difference(tenant.deficit.values().sum()))
        .column("group", group)
        .table();
    let mut out = table.fitted();
    for legend in [
        "balance: whose turn is next; + turns due, - used more than",
        "its turns, in GPU-rounds; unused turns lapse",
    ] {
        let _ = writeln!(out, "{}", legend.dimmed());
    }
    if grouped {
        let legend = match tenants.iter().any(|t| t.past.is_some()) {
            true => "counts: weight by group and past usage; ·: as set, or no jobs",
            false => "counts: weight inside its group; ·: as set, or no jobs now",
        };
        let _ = writeln!(out, "{}", legend.dimmed());
    }
    out
}

/// By type, with what the sign means.
fn balance(deficit: &BTreeMap<String, f64>) -> String {
    let told = deficit.iter().filter(|(_, rounds)| rounds.abs() >= 5e-3);
    let told: Vec<String> = told
        .map(|(name, &rounds)| {
            let meaning = if rounds > 0.0 { "of turns due" } else { "used beyond its turns" };
            format!("{} {} GPU-rounds {meaning}", safe(name), difference(rounds))
        })
        .collect();
    if told.is_empty() { "0".into() } else { told.join(", ") }
}

/// Whole GPUs by type.
fn holds(gpus: &BTreeMap<String, u32>) -> String {
    let held: BTreeMap<_, _> = gpus.clone().into_iter().filter(|(_, count)| *count > 0).collect();
    if held.is_empty() { "·".into() } else { by_type(&held) }
}

/// The same with types of which there are none: a limit of 0 is one.
fn by_type(gpus: &BTreeMap<String, u32>) -> String {
    let words: Vec<String> =
        gpus.iter().map(|(name, count)| format!("{count}×{}", safe(name))).collect();
    words.join(" ")
}

/// Parts of GPUs by type.
pub fn amounts(gpus: &BTreeMap<String, f64>) -> String {
    let held = gpus.iter().filter(|(_, share)| share.abs() >= 5e-3);
    let words: Vec<String> =
        held.map(|(name, share)| format!("{share:.2}×{}", safe(name))).collect();
    if words.is_empty() { "·".into() } else { words.join(" ") }
}

fn show(tenant: &Tenant) -> String {
    let mut out = String::new();
    let state = if tenant.suspended { " (suspended: its jobs wait)" } else { "" };
    let _ = writeln!(out, "{}{state}", format!("tenant {}", safe(&tenant.name)).bold());
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(out, "  {:<12} {value}", name.dimmed());
    };
    let counted = tenant.effective_weight.filter(|w| (w - tenant.weight).abs() > 1e-9);
    let counted =
        counted.map_or(String::new(), |w| format!(" ({} counted in the last shares)", figure(w)));
    fact("weight", format!("{}{counted}", figure(tenant.weight)));
    if let Some(past) = &tenant.past {
        let (used, factor) = (100.0 * past.usage, figure(past.factor));
        fact("past usage", format!("{used:.0} % of its equal split: weight × {factor}"));
    }
    fact("group", tenant.group.as_deref().map_or("none".into(), safe));
    let limit = |limit: Option<u32>| limit.map_or("no limit".into(), |n: u32| n.to_string());
    fact(
        "limits",
        format!("GPUs: {}; jobs: {}", limit(tenant.limits.gpus), limit(tenant.limits.jobs)),
    );
    if !tenant.limit.is_empty() {
        fact("by type", format!("at most {}", by_type(&tenant.limit)));
    }
    if !tenant.guarantee.is_empty() {
        fact("guarantee", holds(&tenant.guarantee));
    }
    match tenant.order {
        JobOrder::Fair => {}
        JobOrder::Fifo => fact("order", "fifo: the oldest job first".into()),
        JobOrder::Shortest => fact("order", "shortest: the fewest steps left first".into()),
    }
    if let Some(user) = &tenant.user {
        fact("runs as", format!("the Unix user {}", safe(user)));
    }
    fact("jobs", format!("{} run, {} wait", tenant.running, tenant.queued));
    fact("holds", holds(&tenant.holds));
    fact("share", amounts(&tenant.share));
    fact("balance", balance(&tenant.deficit));
    fact("created", at(tenant.created));
    out
}
