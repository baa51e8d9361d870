//! From the command line and a job file to jobs.

use super::job_file::{self, JobFile};
use super::sweep::{self, Axis};
use crate::args::jobs::SubmitArgs;
use crate::args::select::AfterArgs;
use oef_api::types::{Dependency, DependencyCondition, JobBatch, JobSubmit};
use oef_terminal::{Complaint, Failure, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the command runs, and what it can see: arguments, so that tests bring their own.
pub struct Here<'a> {
    /// The current folder.
    pub folder: PathBuf,
    /// A variable of the environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// The jobs that were asked for: one, or one for each value of a sweep.
pub fn jobs(args: &SubmitArgs, here: &Here<'_>) -> Result<JobBatch, Failure> {
    let JobFile { job, mut axes } = match &args.file {
        Some(path) => job_file::read(path)?,
        None => JobFile { job: JobSubmit::default(), axes: Vec::new() },
    };
    let job = merge(job, args, here)?;
    for text in &args.sweep {
        let axis = Axis::parse(text)?;
        // What is given on the command line goes before the file.
        match axes.iter_mut().find(|known| known.name == axis.name && args.file.is_some()) {
            Some(known) => *known = axis,
            None => axes.push(axis),
        }
    }
    if axes.is_empty() {
        if args.at_once.is_some() {
            let complaint = Complaint::new("this is one job, not a sweep").at("--at-once");
            return Err(complaint.hint("leave it out, or add a --sweep").into());
        }
        return Ok(JobBatch::of(vec![job]));
    }
    let batch = sweep::expand(&job, &axes).map_err(Failure::input)?;
    Ok(JobBatch { at_once: args.at_once, ..batch })
}

fn merge(mut job: JobSubmit, args: &SubmitArgs, here: &Here<'_>) -> Result<JobSubmit, Failure> {
    fn over<T: Clone>(field: &mut Option<T>, given: &Option<T>) {
        if given.is_some() {
            *field = given.clone();
        }
    }
    over(&mut job.tenant, &args.tenant);
    over(&mut job.workload, &args.workload);
    over(&mut job.name, &args.name);
    over(&mut job.max_run_s, &args.max_run);
    over(&mut job.min_run_s, &args.min_run);
    over(&mut job.grace_s, &args.grace);
    job.workers = args.workers.unwrap_or(job.workers);
    over(&mut job.not_before, &args.at);
    over(&mut job.steps, &args.steps);
    over(&mut job.gpu_memory_gib, &args.gpu_memory);
    job.one_type |= args.one_type;
    job.now |= args.now;
    job.held |= args.hold;
    job.after.extend(after(&args.after));
    job.priority = args.priority.unwrap_or(job.priority);
    job.retries = args.retries.unwrap_or(job.retries);
    job.stop_signal = args.signal.map_or(job.stop_signal, Into::into);
    if !args.types.is_empty() {
        job.types = args.types.iter().map(|name| name.trim().to_string()).collect();
    }
    if !args.warm.is_empty() {
        job.warm.clone_from(&args.warm);
    }
    job.env.extend(variables(&args.env, here)?);
    job.labels.extend(labels(&args.label)?);
    what_to_run(&mut job, args)?;
    over(&mut job.workdir, &args.workdir.as_deref().map(text).transpose()?);
    over(&mut job.checkpoint_dir, &args.checkpoint_dir.as_deref().map(text).transpose()?);
    let absolute = |path: &str| text(&here.folder.join(path));
    job.workdir = Some(absolute(job.workdir.as_deref().unwrap_or("."))?);
    job.checkpoint_dir = job.checkpoint_dir.as_deref().map(absolute).transpose()?;
    Ok(job)
}

/// Jobs that have to end first.
pub fn after(args: &AfterArgs) -> Vec<Dependency> {
    use DependencyCondition::{Ended, Failed, Finished};
    let lists = [(&args.after, Finished), (&args.after_any, Ended), (&args.after_failed, Failed)];
    let all = lists.into_iter().flat_map(|(ids, when)| ids.iter().map(move |&job| (job, when)));
    all.map(|(job, when)| Dependency { job, when }).collect()
}

fn what_to_run(job: &mut JobSubmit, args: &SubmitArgs) -> Result<(), Failure> {
    if !args.command.is_empty() {
        job.command.clone_from(&args.command);
        job.script = None;
    }
    if let Some(path) = &args.script {
        job.script = Some(
            Source::read(path, "write what the job runs into it, beginning with `#!/bin/sh`")?.text,
        );
        let file = path.file_name().filter(|_| path != Path::new("-"));
        let file = file.map(|name| name.to_string_lossy().into_owned());
        job.name = job.name.take().or(file);
        job.command.clear();
    }
    let example = "oef submit -- python train.py";
    let wrong = match (job.command.as_slice(), &job.script) {
        ([], None) => Complaint::new("there is nothing to run")
            .hint(format!("write the command behind `--`, as in `{example}`, or name a --script")),
        ([program, ..], None) if program.is_empty() => {
            Complaint::new("the program has no name").hint(format!("write one, as in `{example}`"))
        }
        ([_, ..], Some(_)) => Complaint::new("there is a command and a script")
            .hint("a job has one of them: leave one out"),
        _ => return Ok(()),
    };
    Err(wrong.into())
}

fn variables(given: &[String], here: &Here<'_>) -> Result<BTreeMap<String, String>, Failure> {
    let mut found = BTreeMap::new();
    for text in given {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_string()),
            None => match (here.env)(text) {
                Some(value) => (text.as_str(), value),
                None => {
                    let complaint = Complaint::new(format!("there is no variable `{text}` here"));
                    let hint = format!("write --env {text}=VALUE, or export it first");
                    return Err(complaint.at("--env").hint(hint).into());
                }
            },
        };
        if name.is_empty() {
            let complaint = Complaint::new(format!("`{text}` has no name")).at("--env");
            return Err(complaint.hint("write --env NAME=VALUE").into());
        }
        found.insert(name.into(), value);
    }
    Ok(found)
}

fn labels(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut found = BTreeMap::new();
    for text in given {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => found.insert(key.into(), value.into()),
            _ => {
                let complaint = Complaint::new(format!("`{text}` is not a label")).at("--label");
                return Err(complaint.hint("write --label KEY=VALUE").into());
            }
        };
    }
    Ok(found)
}

/// Paths go over the wire as text.
fn text(path: &Path) -> Result<String, Failure> {
    // `a/./b` and `a/.` are `a/b` and `a`; nothing else is changed, since links may lead anywhere.
    let tidy: PathBuf = path.components().collect();
    tidy.into_os_string().into_string().map_err(|path| {
        let complaint = Complaint::new(format!("the path {} is not UTF-8", path.to_string_lossy()));
        complaint.hint("rename it, or run the job from a folder above").into()
    })
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
