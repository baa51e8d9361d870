//! `oef edit` and `oef resubmit`.

use super::select::lines;
use super::submit::after;
use crate::args::select::{EditArgs, ResubmitArgs};
use oef_api::client::Client;
use oef_api::types::{JobPatch, Submitted};
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::collections::BTreeMap;

/// The word for any gpu type.
const ANY: &str = "any";

/// Changes a job.
pub fn run(args: &EditArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let patch = patch(args)?;
    if patch == JobPatch::default() {
        let complaint = Complaint::new("nothing to change");
        return Err(complaint.hint("name what to change, as in `oef edit 12 --priority 5`").into());
    }
    let job = client.patch_job(args.id, &patch)?;
    printer.show(args.json, || &job, || lines(std::slice::from_ref(&job)))
}

fn patch(args: &EditArgs) -> Result<JobPatch, Failure> {
    let is_any = args.types.iter().any(|name| name == ANY);
    let types: Vec<String> = match is_any {
        true => Vec::new(),
        false => args.types.iter().map(|name| name.trim().to_string()).collect(),
    };
    let dependencies = after(&args.after);
    Ok(JobPatch {
        held: None,
        name: args.name.clone(),
        priority: args.priority,
        types: (is_any || !types.is_empty()).then_some(types),
        gpu_memory_gib: args.gpu_memory.map(|least| least.0),
        now: args.now.then_some(true),
        labels: labels(&args.label)?,
        max_run_s: args.max_run.map(|limit| limit.0),
        not_before: args.at.map(|start| start.0),
        after: (args.after_none || !dependencies.is_empty()).then_some(dependencies),
    })
}

fn labels(given: &[String]) -> Result<BTreeMap<String, Option<String>>, Failure> {
    let mut found = BTreeMap::new();
    for text in given {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                let value = (!value.is_empty()).then(|| value.to_string());
                found.insert(key.to_string(), value);
            }
            _ => {
                let complaint = Complaint::new(format!("`{text}` is not a label")).at("--label");
                return Err(complaint.hint("write KEY=VALUE, or KEY= to remove it").into());
            }
        }
    }
    Ok(found)
}

/// Submits jobs once more, each as a new one.
pub fn resubmit(args: &ResubmitArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let mut all = Submitted { ids: Vec::new(), notes: Vec::new() };
    for &id in &args.ids {
        let submitted = client.resubmit(id)?;
        if !args.json {
            let numbers: String = submitted.ids.iter().map(|id| format!("{id}\n")).collect();
            printer.result(&numbers)?;
            submitted.notes.iter().for_each(|note| printer.note(note));
        }
        all.ids.extend(submitted.ids);
        all.notes.extend(submitted.notes);
    }
    if args.json {
        printer.json(&all)?;
    }
    Ok(Exit::Done)
}
