//! `oef round`: shares, grants, who is where, and the certificate.

use super::fairness::{BEYOND, last_day};
use super::tenants::amounts;
use super::watch;
use crate::args::cluster::RoundArgs;
use crate::output::jobs::{by_type, one_by_one};
use oef_api::client::Client;
use oef_api::types::{
    Audit, Event, EventTopic, Grant, LeftOut, Property, Round, RoundProblem, RoundSummary,
    ShareEntry, SolverStatus,
};
use oef_report::format::{duration, figure, span};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::Table;
use oef_terminal::times::at;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

pub fn run(args: &RoundArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    if args.problem {
        return problem(args, client, printer);
    }
    let begins = |event: &Event| event.topic == EventTopic::Round;
    let how = (args.watch, args.json);
    if args.list {
        let fetch = || Ok(client.rounds(Some(args.limit), None)?);
        return watch::show(how, client, printer, begins, fetch, |page| {
            list(&page.rounds).fitted()
        });
    }
    let fetch = || Ok(client.round(args.round)?);
    // What was delivered is known of the last day only, and stands beside the round that goes on.
    let day = || match args.round {
        None => client.fairness().map(|fairness| last_day(&fairness.tenants)).unwrap_or_default(),
        Some(_) => String::new(),
    };
    watch::show(how, client, printer, begins, fetch, |round| render(round, &day()))
}

/// Writes the problem of a round as a problem file.
fn problem(args: &RoundArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let round = client.round(args.round)?;
    let problem = client.round_problem(round.round)?;
    match args.json {
        true => printer.json(&problem),
        false => printer.result(&problem_file(&round, &problem)?),
    }
}

fn problem_file(round: &Round, problem: &RoundProblem) -> Result<String, Failure> {
    let mechanism = safe(&round.mechanism);
    let mut out = format!(
        "# Round {}, began {}. `oef share --mechanism {mechanism} FILE` gives its shares.\n",
        round.round, round.began
    );
    if let Some(trouble) = &round.shares_age.trouble {
        let _ = writeln!(out, "# Not in this round: {}.", safe(trouble));
    }
    let text = toml::to_string(problem).map_err(|error| {
        Complaint::new(format!("the problem cannot be written as TOML: {error}"))
            .hint("`--json` writes it as JSON")
    })?;
    out.push_str(&text);
    Ok(out)
}

fn list(rounds: &[RoundSummary]) -> Table {
    Table::each(rounds)
        .column("round>", |round| round.round.to_string())
        .column("began", |round| at(round.began))
        .column("mechanism", |round| safe(&round.mechanism))
        .column("gpus>", |round| format!("{}/{}", round.gpus_used, round.gpus))
        .column("run>", |round| round.running.to_string())
        .column("wait>", |round| round.queued.to_string())
        .column("total>", |round| fixed(round.total))
        .column("what holds", |round| safe(&round.holds.join(", ")))
        .table()
}

fn render(round: &Round, day: &str) -> String {
    let mut out = String::new();
    let name = format!("round {}", round.round);
    let _ = writeln!(
        out,
        "{}, began {}, {} long, planned in {}",
        name.bold(),
        at(round.began),
        span(round.length_s),
        duration(round.plan_s)
    );
    head(&mut out, round);
    if !round.shares.is_empty() {
        let _ = writeln!(out, "\n{}", "Shares and grants".bold());
        out.push_str(&shares(round).fitted());
    }
    if !round.placements.is_empty() {
        let _ = writeln!(out, "\n{}", "Who is where".bold());
        out.push_str(&placements(round).fitted());
    }
    if let Some(audit) = &round.audit {
        let _ = writeln!(out, "\n{}", "Certificate".bold());
        out.push_str(&certificate(audit));
        if audit.beyond_guarantees {
            let _ = writeln!(out, "  {BEYOND}");
        }
        if let Some(half_life) = round.usage_half_life_s {
            let _ = writeln!(
                out,
                "  judged with weights by past usage (half-life {})",
                span(half_life)
            );
        }
        day.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    out
}

fn head(out: &mut String, round: &Round) {
    let reference = round
        .reference
        .as_deref()
        .map_or(String::new(), |name| format!(", in GPUs of type {}", safe(name)));
    let _ =
        writeln!(out, "{}: total {}{reference}", safe(&round.mechanism).bold(), fixed(round.total));
    let age = &round.shares_age;
    if age.kept {
        let text =
            format!("shares could not be computed in time; using those of round {}", age.of_round);
        let _ = writeln!(out, "{}", text.yellow());
    } else {
        // It is counted in whole milliseconds.
        let took = match age.solve_s > 0.0 {
            true => duration(age.solve_s),
            false => "less than 1 ms".into(),
        };
        let did = if age.trouble.is_none() { "shares computed in" } else { "the solver took" };
        let _ = writeln!(out, "{did} {took}");
    }
    if let Some(solver) = round.solver.as_ref().filter(|_| !age.kept && age.trouble.is_none()) {
        let text = format!("shares are {}", safe(&solver.sentence));
        let is_proven = solver.status == SolverStatus::Optimal;
        let _ = writeln!(out, "{}", if is_proven { text } else { text.yellow().to_string() });
    }
    if let Some(trouble) = age.trouble.as_deref().filter(|_| !age.kept) {
        let _ = writeln!(out, "{}", safe(trouble).yellow());
    }
    for LeftOut { tenant, workload, reason } in &age.left_out {
        let text = format!("{}/{} has no share: {}", safe(tenant), safe(workload), safe(reason));
        let _ = writeln!(out, "{}", text.yellow());
    }
    let prices: Vec<String> = round
        .prices
        .iter()
        .map(|(name, price)| format!("{} {}", safe(name), figure(*price)))
        .collect();
    if !prices.is_empty() {
        let _ = writeln!(out, "price of a GPU, in throughput: {}", prices.join(", "));
    }
}

fn shares(round: &Round) -> Table {
    let granted = |share: &ShareEntry| {
        let is_its = |g: &&Grant| g.tenant == share.tenant && g.workload == share.workload;
        let granted = round.grants.iter().filter(is_its).filter(|grant| grant.gpus > 0);
        let granted: Vec<String> =
            granted.map(|grant| format!("{}×{}", grant.gpus, safe(&grant.gpu_type))).collect();
        if granted.is_empty() { "·".to_string() } else { granted.join(" ") }
    };
    Table::each(&round.shares)
        .column("workload", |share| short(&format!("{}/{}", share.tenant, share.workload)))
        .column("weight>", |share| figure(share.weight))
        .column("throughput>", |share| fixed(share.throughput))
        .column("equal split>", |share| fixed(share.equal_split))
        .column("share", |share| amounts(&share.share))
        .column("granted", granted)
        .table()
}

fn placements(round: &Round) -> Table {
    Table::each(&round.placements)
        .column("job>", |placement| placement.job.to_string())
        .column("tenant", |placement| short(&placement.tenant))
        .column("gpus", |placement| by_type(&placement.gpus))
        .column("where", |placement| one_by_one(&placement.gpus))
        .column("why", |placement| safe(&placement.reason))
        .table()
}

/// What each property measured, a line each, with its witness where it fails.
pub fn certificate(audit: &Audit) -> String {
    let mut out = String::new();
    let mut line = |name: &str, property: &Property| {
        let mark =
            if property.holds { "holds".green().to_string() } else { "fails".red().to_string() };
        let _ = writeln!(out, "  {name:<22} {mark}  worst {}", figure(property.worst));
        if let Some(witness) = property.witness.as_deref().filter(|_| !property.holds) {
            let _ = writeln!(out, "    {}", safe(witness));
        }
    };
    line("within capacity", &audit.capacity);
    audit.demand.iter().for_each(|demand| line("within demand", demand));
    line("nobody envies", &audit.envy_free);
    line("above an equal split", &audit.sharing_incentive);
    line("nothing left to gain", &audit.pareto_efficient);
    line("types side by side", &audit.adjacent);
    out
}
