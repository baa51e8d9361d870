//! `oef generate`: traces, clusters and profiles from a seed, and a problem file as an example.

use crate::args::generate::{
    GenerateClusterArgs, GenerateCommand, GenerateProblemArgs, GenerateProfilesArgs,
    GenerateTraceArgs, OutputArgs,
};
use oef_sim::generate::{
    Load, ProfileSpec, TraceSpec, cluster, demo, measured_profiles, profiles, trace, write_cluster,
    write_profiles, write_trace,
};
use oef_sim::input::{self, ProfileTable, Read, span_s};
use oef_terminal::{Exit, Failure, Printer, Source, file};
use serde_json::{Value, json};
use std::path::Path;

const MODELS: u32 = 12;
const EMPTY: f64 = 0.05;
const SEED: u64 = 1;

pub fn run(command: &GenerateCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        GenerateCommand::Problem(args) => make_problem(args, printer),
        GenerateCommand::Trace(args) => make_trace(args, printer),
        GenerateCommand::Cluster(args) => make_cluster(args, printer),
        GenerateCommand::Profiles(args) => make_profiles(args, printer),
    }
}

/// A problem file that explains itself.
const PROBLEM: &str = include_str!("problem/example.toml");

fn make_problem(args: &GenerateProblemArgs, printer: &Printer) -> Result<Exit, Failure> {
    write(PROBLEM, json!({"tenants": 2, "types": 2}), &args.output, printer)
}

fn make_trace(args: &GenerateTraceArgs, printer: &Printer) -> Result<Exit, Failure> {
    let table = match &args.profiles {
        Some(path) => read_profiles(path, printer)?,
        None => demo().profiles,
    };
    let spec = TraceSpec {
        tenants: args.tenants,
        jobs: args.jobs,
        days: args.days,
        gpus: Some(args.job_gpus.clone()).filter(|sizes| !sizes.is_empty()),
        load: args.load.zip(args.gpus).map(|(load, gpus)| Load { gpus, load }),
        longest_s: args.longest,
        at_once: args.at_once,
        ..TraceSpec::new(args.like.into(), args.seed)
    };
    let made = trace(&spec, &table)?;
    let hours = made.jobs.iter().filter_map(|job| {
        input::seconds_on_fastest(job, &table).map(|s| s * f64::from(job.gpus) / 3600.0)
    });
    let about = json!({
        "jobs": made.jobs.len(),
        "tenants": made.tenants().len(),
        "last_submit_s": span_s(&made),
        "gpu_hours": hours.sum::<f64>(),
        "seed": args.seed,
    });
    write(&write_trace(&made), about, &args.output, printer)
}

fn make_cluster(args: &GenerateClusterArgs, printer: &Printer) -> Result<Exit, Failure> {
    let made = cluster(args.like.into());
    let types: serde_json::Map<String, Value> =
        made.types().into_iter().map(|t| (t.clone(), made.count(&t).into())).collect();
    let about = json!({"nodes": made.nodes.len(), "gpus": made.gpus(), "types": types});
    write(&write_cluster(&made), about, &args.output, printer)
}

fn make_profiles(args: &GenerateProfilesArgs, printer: &Printer) -> Result<Exit, Failure> {
    let made = if args.measured {
        measured_profiles()
    } else if nothing_is_asked(args) {
        demo().profiles
    } else {
        let spec = ProfileSpec {
            types: types(args, printer)?,
            models: args.models.unwrap_or(MODELS),
            scale_factors: args.scale_factors.clone(),
            empty: args.empty.unwrap_or(EMPTY),
            seed: args.seed.unwrap_or(SEED),
        };
        profiles(&spec)?
    };
    let about = json!({"rows": made.rows.len(), "types": made.types});
    write(&write_profiles(&made), about, &args.output, printer)
}

/// Then the table is that of the demonstration: the defaults of all three commands go together.
fn nothing_is_asked(args: &GenerateProfilesArgs) -> bool {
    let none = args.models.is_none() && args.empty.is_none() && args.seed.is_none();
    none && args.types.is_empty() && args.cluster.is_none() && args.scale_factors.is_empty()
}

/// The types that were asked for, or those of the demonstration.
fn types(args: &GenerateProfilesArgs, printer: &Printer) -> Result<Vec<String>, Failure> {
    if let Some(path) = &args.cluster {
        let source = Source::read(path, "`oef generate cluster` makes an example")?;
        let read =
            input::read_cluster(input::Source::new(&source.label, &source.text), None, false);
        return read.map(|read| taken(read, printer).types()).map_err(Failure::from);
    }
    let named = args.types.iter().map(|name| name.trim().to_string());
    let named: Vec<String> = named.filter(|name| !name.is_empty()).collect();
    Ok(if named.is_empty() { demo().cluster.types() } else { named })
}

fn read_profiles(path: &Path, printer: &Printer) -> Result<ProfileTable, Failure> {
    let source = Source::read(path, "`oef generate profiles` makes an example")?;
    let read = input::read_profiles(input::Source::new(&source.label, &source.text), None, false)?;
    Ok(taken(read, printer))
}

/// The value; what is to be known beside it is said.
fn taken<T>(read: Read<T>, printer: &Printer) -> T {
    read.notes.iter().for_each(|note| printer.note(note));
    read.value
}

fn write(
    text: &str,
    mut about: Value,
    output: &OutputArgs,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let named = output.output.as_deref();
    let Some(path) = named.filter(|_| output.json).or(file::unless_stdout(named)) else {
        return printer.raw(text.as_bytes());
    };
    file::check_place(path)?;
    file::write(path, text)?;
    if output.json {
        about["version"] = 1.into();
        about["file"] = path.display().to_string().into();
        return printer.json(&about);
    }
    printer.note(&format!("written to {}", path.display()));
    Ok(Exit::Done)
}
