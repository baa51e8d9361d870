//! `oef why`: the reason in a sentence.

use crate::args::jobs::WhyArgs;
use crate::output::jobs::state_style;
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::types::{TenantWhy, Why};
use oef_terminal::names::{safe, safe_lines};
use oef_terminal::times::{moment, relative};
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

pub fn run(args: &WhyArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let id = args.what.parse::<u64>().ok().filter(|_| !args.tenant);
    let Some(id) = id else {
        let why = client.tenant_why(&args.what)?;
        return printer.show(args.json, || &why, || tenant(&why));
    };
    let why = client.why(id)?;
    printer.show(args.json, || &why, || job(&why, Timestamp::now()))?;
    Ok(if why.state.is_failure() { Exit::DoesNotHold } else { Exit::Done })
}

fn job(why: &Why, now: Timestamp) -> String {
    let mut out = String::new();
    let name = format!("job {}", why.id);
    let state = state_style(why.state).style(why.state.phrase());
    let sentence = safe_lines(&why.sentence);
    let _ = match sentence.starts_with("is ") {
        true => writeln!(out, "{} {sentence}", name.bold()),
        false => writeln!(out, "{} {state}: {sentence}", name.bold()),
    };
    match (why.expected_start, why.expected_round) {
        (Some(start), Some(round)) => {
            let (when, at) = (relative(start, now), moment(start, now));
            let _ = writeln!(out, "  expected to start {when}, at {at} (round {round})");
        }
        (Some(start), None) => {
            let (when, at) = (relative(start, now), moment(start, now));
            let _ = writeln!(out, "  expected to start {when}, at {at}");
        }
        (None, Some(round)) => {
            let _ = writeln!(out, "  expected to start in round {round}");
        }
        (None, None) => {}
    }
    details(&mut out, &why.details);
    out
}

fn tenant(why: &TenantWhy) -> String {
    let mut out = String::new();
    let name = format!("tenant {}", safe(&why.tenant));
    // The sentence begins with the name, which is shown already.
    let said = why.sentence.strip_prefix(&why.tenant);
    let said = said.map_or_else(|| format!(": {}", why.sentence), String::from);
    let _ = writeln!(out, "{}{}", name.bold(), safe_lines(&said));
    details(&mut out, &why.details);
    out
}

fn details(out: &mut String, details: &[String]) {
    for detail in details {
        let _ = writeln!(out, "  {}", safe_lines(detail).replace('\n', "\n  "));
    }
}
