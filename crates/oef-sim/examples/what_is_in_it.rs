//! Says what is in trace, profile and cluster files, of any form that OEF reads.
//!
//!     cargo run -p oef-sim --example what_is_in_it -- my.csv cluster.toml sacct.txt
//!
//! Without a file it looks at what `generate::demo` makes.
#![expect(clippy::print_stdout, reason = "an example shows something")]

use oef_sim::generate::{demo, write_cluster, write_profiles, write_trace};
use oef_sim::input::{
    BadRow, InputError, Source, TraceOptions, read_cluster, read_profiles, read_trace,
};

fn main() -> std::io::Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    for path in &paths {
        look(path, &std::fs::read_to_string(path)?);
    }
    if paths.is_empty() {
        let demo = demo();
        look("cluster.toml", &write_cluster(&demo.cluster));
        look("profiles.csv", &write_profiles(&demo.profiles));
        look("trace.csv", &write_trace(&demo.trace));
    }
    Ok(())
}

fn look(name: &str, text: &str) {
    let source = Source::new(name, text);
    let options = TraceOptions { skip_bad_rows: true, ..TraceOptions::default() };
    let mut refused = Vec::new();
    match read_trace(source, None, &options) {
        Ok(read) => {
            let (jobs, tenants) = (read.value.jobs.len(), read.value.tenants().len());
            let gpus: u64 = read.value.jobs.iter().map(|j| u64::from(j.gpus)).sum();
            let what = format!("a trace: {jobs} jobs of {tenants} tenants ask for {gpus} GPUs");
            return say(name, &what, &read.skipped, &read.notes);
        }
        Err(error) => refused.push(("trace", error)),
    }
    match read_profiles(source, None, true) {
        Ok(read) => {
            let (rows, types) = (read.value.rows.len(), read.value.types.len());
            let what = format!("profiles: {rows} rows, {types} gpu types");
            return say(name, &what, &read.skipped, &read.notes);
        }
        Err(error) => refused.push(("profiles", error)),
    }
    match read_cluster(source, None, true) {
        Ok(read) => {
            let (nodes, types) = (read.value.nodes.len(), read.value.types().len());
            let what =
                format!("a cluster: {nodes} nodes, {} GPUs, {types} types", read.value.gpus());
            return say(name, &what, &read.skipped, &read.notes);
        }
        Err(error) => refused.push(("cluster", error)),
    }
    println!("{name}: none of the forms that OEF reads");
    refused.iter().for_each(|(form, error): &(&str, InputError)| println!("  {form}: {error}"));
}

fn say(name: &str, what: &str, skipped: &[BadRow], notes: &[String]) {
    println!("{name}: {what}");
    notes.iter().for_each(|note| println!("  {note}"));
    if let Some(first) = skipped.first() {
        println!("  {} bad rows, first {first}", skipped.len());
    }
}
