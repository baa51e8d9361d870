//! `oef round`: shares, grants, who is where, and the certificate.

use super::tenants::amounts;
use super::watch::{Watching, watch};
use crate::args::cluster::RoundArgs;
use crate::output::jobs::{by_type, one_by_one};
use oef_api::client::Client;
use oef_api::types::{
    Audit, EventTopic, Grant, LeftOut, Property, Round, RoundProblem, RoundSummary,
};
use oef_report::format::{duration, figure, span};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::fixed;
use oef_terminal::table::{Cell, Table};
use oef_terminal::times::at;
use oef_terminal::{Complaint, Exit, Failure, Printer, width};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

/// Runs the command.
pub fn run(args: &RoundArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let draw = || -> Result<String, Failure> {
        if args.list {
            return Ok(list(&client.rounds(Some(args.limit), None)?.rounds)
                .render_within(width::columns()));
        }
        Ok(render(&client.round(args.round)?, width::columns()))
    };
    if args.problem {
        return problem(args, client, printer);
    }
    if args.watch {
        let begins = |event: &oef_api::types::Event| event.topic == EventTopic::Round;
        return watch(client, printer, begins, || Ok((draw()?, Watching::GoOn)));
    }
    match (args.json, args.list) {
        (true, true) => printer.json(&client.rounds(Some(args.limit), None)?)?,
        (true, false) => printer.json(&client.round(args.round)?)?,
        (false, _) => printer.result(&draw()?)?,
    }
    Ok(Exit::Done)
}

/// Writes the problem of a round as a problem file.
fn problem(args: &RoundArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let round = client.round(args.round)?;
    let problem = client.round_problem(round.round)?;
    match args.json {
        true => printer.json(&problem)?,
        false => printer.result(&problem_file(&round, &problem)?)?,
    }
    Ok(Exit::Done)
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
    let mut table = Table::headed([
        "round>",
        "began",
        "mechanism",
        "gpus>",
        "run>",
        "wait>",
        "total>",
        "what holds",
    ]);
    for round in rounds {
        let holds: Vec<String> = round.holds.iter().map(|word| safe(word)).collect();
        table.row(vec![
            Cell::number(round.round.to_string()),
            Cell::text(at(round.began)),
            Cell::text(safe(&round.mechanism)),
            Cell::number(format!("{}/{}", round.gpus_used, round.gpus)),
            Cell::number(round.running.to_string()),
            Cell::number(round.queued.to_string()),
            Cell::number(fixed(round.total)),
            Cell::text(holds.join(", ")),
        ]);
    }
    table
}

fn render(round: &Round, columns: Option<usize>) -> String {
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
        out.push_str(&shares(round).render_within(columns));
    }
    if !round.placements.is_empty() {
        let _ = writeln!(out, "\n{}", "Who is where".bold());
        out.push_str(&placements(round).render_within(columns));
    }
    if let Some(audit) = &round.audit {
        let _ = writeln!(out, "\n{}", "Certificate".bold());
        out.push_str(&certificate(audit));
        if let Some(half_life) = round.usage_half_life_s {
            let _ = writeln!(
                out,
                "  judged with weights by past usage (half-life {})",
                span(half_life)
            );
        }
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
        let _ = writeln!(out, "shares computed in {took}");
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
        let _ = writeln!(out, "value of one more GPU (cluster throughput): {}", prices.join(", "));
    }
}

fn shares(round: &Round) -> Table {
    let mut table =
        Table::headed(["workload", "weight>", "throughput>", "equal split>", "share", "granted"]);
    for share in &round.shares {
        let is_its = |g: &&Grant| g.tenant == share.tenant && g.workload == share.workload;
        let granted = round.grants.iter().filter(is_its).filter(|grant| grant.gpus > 0);
        let granted: Vec<String> =
            granted.map(|grant| format!("{}×{}", grant.gpus, safe(&grant.gpu_type))).collect();
        table.row(vec![
            Cell::text(short(&format!("{}/{}", share.tenant, share.workload))),
            Cell::number(figure(share.weight)),
            Cell::number(fixed(share.throughput)),
            Cell::number(fixed(share.equal_split)),
            Cell::text(amounts(&share.share)),
            Cell::text(if granted.is_empty() { "·".into() } else { granted.join(" ") }),
        ]);
    }
    table
}

fn placements(round: &Round) -> Table {
    let mut table = Table::headed(["job>", "tenant", "gpus", "where", "why"]);
    for placement in &round.placements {
        table.row(vec![
            Cell::number(placement.job.to_string()),
            Cell::text(short(&placement.tenant)),
            Cell::text(by_type(&placement.gpus)),
            Cell::text(one_by_one(&placement.gpus)),
            Cell::text(safe(&placement.reason)),
        ]);
    }
    table
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
    line("nobody envies", &audit.envy_free);
    line("above an equal split", &audit.sharing_incentive);
    line("nothing left to gain", &audit.pareto_efficient);
    line("types side by side", &audit.adjacent);
    out
}
