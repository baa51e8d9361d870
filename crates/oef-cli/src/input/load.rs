//! From a path to a valid problem, or to everything that is wrong with the file.

use super::build::{self, Built};
use super::counts::{self, Count};
use super::format::Format;
use super::{Finding, csv};
use oef_core::{InvalidProblem, Problem, ProblemSpec, TenantSpec};
use oef_sim::input::Lines;
use oef_sim::input::tree::{self, Table};
use oef_terminal::{Complaint, Exit, Failure, Source};
use std::path::Path;

/// Where an example of a problem file is.
pub const EXAMPLE: &str = "`oef generate problem` prints an example with every field explained";

/// A problem and the description it came from.
#[derive(Debug)]
pub struct Loaded {
    /// As it was written.
    pub spec: ProblemSpec,
    /// Checked.
    pub problem: Problem,
}

/// Reads a problem file; `counts` are the arguments of `--counts`.
pub fn load(path: &Path, counts: &[String]) -> Result<Loaded, Failure> {
    load_text(&Source::read(path, EXAMPLE)?, counts)
}

fn load_text(source: &Source, counts: &[String]) -> Result<Loaded, Failure> {
    let format = Format::of(source);
    let counts = counts::parse(counts, "--counts").map_err(Failure::input)?;
    let built = match format {
        Format::Csv => csv::parse(&source.text, &counts, &source.label).map_err(Failure::input)?,
        _ => tables(source, format, &counts)?,
    };
    let (spec, problem) = check(built, source)?;
    Ok(Loaded { spec, problem })
}

/// Reads a file of tenants that join the cluster of `base`.
pub fn load_tenants(path: &Path, base: &ProblemSpec) -> Result<Vec<TenantSpec>, Failure> {
    let source = Source::read(path, EXAMPLE)?;
    let format = Format::of(&source);
    if format == Format::Csv {
        let complaint = Complaint::new("tenants to add are read from TOML or JSON, not from CSV");
        return Err(complaint.at(source.label).hint("write them as [[tenant]] tables").into());
    }
    let mut built = build::tenants_only(&parse(&source, format)?);
    // The cluster they join is known to be right, so whatever is found is about the tenants.
    built.spec.gpus = base.gpus.clone();
    built.spec.reference = base.reference.clone();
    check(built, &source).map(|(spec, _)| spec.tenants)
}

fn tables(source: &Source, format: Format, counts: &[Count]) -> Result<Built, Failure> {
    if !counts.is_empty() {
        let complaint =
            Complaint::new("a problem file has its own counts, so --counts has no place here");
        let hint = "change `count` in the file, or use `oef whatif --add-gpu`";
        return Err(complaint.at(&source.label).hint(hint).into());
    }
    Ok(build::problem(&parse(source, format)?))
}

/// The fields of a text that is not even well formed say nothing reliable.
fn parse(source: &Source, format: Format) -> Result<Table, Failure> {
    let parsed = match format {
        Format::Json => tree::json(&source.text),
        _ => tree::toml(&source.text),
    };
    parsed.map_err(|wrong| complaints(wrong.into_iter().map(Finding::from).collect(), source, &[]))
}

fn check(mut built: Built, source: &Source) -> Result<(ProblemSpec, Problem), Failure> {
    let (errors, limits) = match built.spec.validate() {
        Ok(problem) if built.findings.is_empty() => return Ok((built.spec, problem)),
        Ok(_) => (Vec::new(), Vec::new()),
        Err(InvalidProblem(errors)) => errors.into_iter().partition(|e| !e.is_limit),
    };
    if let Some(limit) = limits.first() {
        let complaint = Complaint::new(limit.message.as_str()).at(&source.label);
        return Err(Failure::limit(complaint.hint(limit.hint.as_str())));
    }
    let mut arguments = Vec::new();
    for error in errors.into_iter().filter(|e| !built.silenced.contains(&e.field)) {
        let (at, field) = built.places.of(&error.field);
        if built.places.is_argument(&error.field) {
            arguments.push(Complaint::new(error.message).at("--counts").hint(error.hint));
        } else {
            built.findings.push(Finding::new(at, &field, error.message).hint(error.hint));
        }
    }
    Err(complaints(built.findings, source, &arguments))
}

fn complaints(mut findings: Vec<Finding>, source: &Source, arguments: &[Complaint]) -> Failure {
    let lines = Lines::of(&source.text);
    findings.sort_by_key(|finding| finding.at);
    let placed = findings.into_iter().map(|finding| {
        let (line, column) = lines.locate(finding.at);
        let mut place = format!("{}:{line}:{column}", source.label);
        if !finding.field.is_empty() {
            place.push_str(&format!(": {}", finding.field));
        }
        Complaint { place: Some(place), message: finding.message, hint: finding.hint }
    });
    let complaints: Vec<Complaint> = arguments.iter().cloned().chain(placed).collect();
    Failure::Said { exit: Exit::BadInput, complaints }
}

#[cfg(all(test, feature = "lab"))]
mod tests {
    use super::*;
    use oef_lab::fuzz::{Mutator, corpus};

    /// What is nearly a problem file is read or refused with a complaint, in any form that it could have.
    #[test]
    fn no_text_makes_the_reader_panic() {
        let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|text| text.parse().ok());
        let corpus = corpus("problems");
        assert!(corpus.len() >= 5, "no corpus");
        let mut mutator = Mutator::new(seed.unwrap_or(1));
        let inputs = corpus.to_vec();
        let changed: Vec<Vec<u8>> = (0..2_000).map(|_| mutator.next(&corpus)).collect();
        let mut read = 0;
        for (n, input) in inputs.iter().chain(&changed).enumerate() {
            let text = String::from_utf8_lossy(input).into_owned();
            for label in ["any.toml", "any.json", "any.csv"] {
                let source = Source { label: label.into(), text: text.clone() };
                let counts: &[String] = if n % 2 == 0 { &[] } else { &["sm12=4".to_string()] };
                read += usize::from(load_text(&source, counts).is_ok());
            }
        }
        assert!(read > inputs.len() / 2, "{read}: even what is right was refused");
    }
}
