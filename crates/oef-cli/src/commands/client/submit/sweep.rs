//! Sweeps: one job for every combination of values.

use crate::input::nearest;
use oef_api::limits::BATCH_MAX;
use oef_api::types::{JobBatch, JobSubmit};
use oef_terminal::Complaint;
use std::collections::BTreeSet;

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name: `{name}` stands for its value.
    pub name: String,
    /// The values, as they were written.
    pub values: Vec<String>,
}

impl Axis {
    /// `lr=0.1,0.01`.
    pub fn parse(text: &str) -> Result<Axis, Complaint> {
        let place = format!("--sweep {text}");
        let (name, values) = text.split_once('=').ok_or_else(|| {
            Complaint::new("there is no `=`").at(&place).hint("write --sweep lr=0.1,0.01")
        })?;
        let values = values.split(',').map(|value| value.trim().to_string()).collect();
        Axis { name: name.trim().into(), values }.checked(&place)
    }

    /// The same axis, if it has a name and values.
    pub fn checked(self, place: &str) -> Result<Axis, Complaint> {
        let wrong = |message: String, hint: &str| Err(Complaint::new(message).at(place).hint(hint));
        let name = &self.name;
        if !is_name(name) {
            let hint = "letters, digits, `_` and `-`, a letter or `_` first, as in lr=0.1,0.01";
            return wrong(format!("`{name}` cannot be a placeholder"), hint);
        }
        let mut seen = BTreeSet::new();
        for value in &self.values {
            if value.is_empty() {
                return wrong(
                    format!("`{name}` has an empty value"),
                    "write values between the commas",
                );
            }
            if !seen.insert(value) {
                let hint = "the same job would run twice; leave one of them out";
                return wrong(format!("`{name}` has the value `{value}` twice"), hint);
            }
        }
        if self.values.is_empty() {
            return wrong(format!("`{name}` has no values"), "write some, as in lr=0.1,0.01");
        }
        Ok(self)
    }
}

/// All combinations of the axes, the last axis fastest. Every placeholder is replaced, and every axis used.
pub fn expand(template: &JobSubmit, axes: &[Axis]) -> Result<JobBatch, Vec<Complaint>> {
    check(template, axes)?;
    let mut jobs = Vec::new();
    let mut turn = vec![0; axes.len()];
    loop {
        let values: Vec<(&str, &str)> =
            axes.iter().zip(&turn).map(|(axis, &i)| (&*axis.name, &*axis.values[i])).collect();
        jobs.push(fill(template, &values));
        let Some(next) = (0..axes.len()).rfind(|&a| turn[a] + 1 < axes[a].values.len()) else {
            break;
        };
        turn[next] += 1;
        turn[next + 1..].fill(0);
    }
    let name = template.name.clone().filter(|name| slots(name).is_empty());
    let unnamed = JobSubmit { name: None, ..template.clone() };
    Ok(JobBatch { name: name.or_else(|| Some(unnamed.called())), ..JobBatch::of(jobs) })
}

fn check(template: &JobSubmit, axes: &[Axis]) -> Result<(), Vec<Complaint>> {
    let mut complaints = Vec::new();
    let names: BTreeSet<&str> = axes.iter().map(|axis| &*axis.name).collect();
    for axis in axes {
        if axes.iter().filter(|other| other.name == axis.name).count() > 1 {
            let complaint = Complaint::new(format!("`{}` is swept twice", axis.name));
            complaints.push(complaint.hint("write all its values in one --sweep"));
        }
        if template.labels.contains_key(&axis.name) {
            let complaint = Complaint::new(format!("`{}` is a label and a sweep", axis.name));
            complaints.push(complaint.hint(
                "the jobs of a sweep carry its values as labels; name one of them otherwise",
            ));
        }
    }
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (place, text) in texts(template) {
        for slot in slots(text) {
            if !names.contains(&*slot) && place != "script" {
                let hint = nearest::hint("sweeps", &slot, names.iter().copied());
                let hint = format!("{hint}; write {{{{{slot}}}}} for the text {{{slot}}} itself");
                let complaint = Complaint::new(format!("{{{slot}}} is not swept"));
                complaints.push(complaint.at(place).hint(hint));
            }
            used.insert(slot);
        }
    }
    for name in names.iter().filter(|name| !used.contains(**name)) {
        let complaint = Complaint::new(format!("the sweep of `{name}` changes nothing"));
        let hint = format!(
            "write {{{name}}} where its value belongs: in the command, the environment, the name or a path"
        );
        complaints.push(complaint.hint(hint));
    }
    let product = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
    if product.is_none_or(|n| n > BATCH_MAX) {
        let n = product.map_or("too many".into(), |n| n.to_string());
        let complaint = Complaint::new(format!(
            "the sweep has {n} jobs, but at most {BATCH_MAX} are taken at once"
        ));
        complaints.push(complaint.hint("leave out values, or submit it in parts"));
    }
    // One mistake may show in several places, and is told once.
    complaints.dedup();
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

/// Every text of a job in which a placeholder may stand.
fn texts(job: &JobSubmit) -> Vec<(&'static str, &str)> {
    let mut texts: Vec<(&'static str, &str)> = Vec::new();
    texts.extend(job.command.iter().map(|word| ("command", &**word)));
    texts.extend(job.script.iter().map(|text| ("script", &**text)));
    texts.extend(job.env.values().map(|value| ("env", &**value)));
    texts.extend(job.name.iter().map(|name| ("name", &**name)));
    texts.extend(job.workdir.iter().map(|path| ("workdir", &**path)));
    texts.extend(job.checkpoint_dir.iter().map(|path| ("checkpoint_dir", &**path)));
    texts
}

fn fill(template: &JobSubmit, values: &[(&str, &str)]) -> JobSubmit {
    let mut job = template.clone();
    let put = |text: &mut String| *text = replace(text, values);
    job.command.iter_mut().for_each(put);
    job.env.values_mut().for_each(put);
    for text in [&mut job.script, &mut job.name, &mut job.workdir, &mut job.checkpoint_dir] {
        text.iter_mut().for_each(put);
    }
    if job.name.is_none() {
        let settings: Vec<String> =
            values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        job.name = Some(format!("{} {}", template.called(), settings.join(" ")));
    }
    job.labels.extend(values.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    job
}

/// The text with its placeholders replaced; `{{name}}` becomes `{name}`.
fn replace(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Braced(name) => out.extend(["{", name, "}"]),
            Piece::Slot(name) => match values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => out.push_str(value),
                None => out.extend(["{", name, "}"]),
            },
        }
    }
    out
}

/// The names of a text's placeholders.
fn slots(text: &str) -> Vec<String> {
    let slot = |piece| match piece {
        Piece::Slot(name) => Some(String::from(name)),
        _ => None,
    };
    pieces(text).into_iter().filter_map(slot).collect()
}

enum Piece<'a> {
    Text(&'a str),
    Slot(&'a str),
    Braced(&'a str),
}

/// Braces around anything but a name are text: JSON and shell pass through. So do the shell's `${name}`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut done = 0;
    while let Some(open) = rest[done..].find('{').map(|at| at + done) {
        let (before, tail) = rest.split_at(open);
        let name_end = |tail: &str| tail.find('}').filter(|&end| is_name(&tail[..end]));
        let (piece, length) = match (tail[1..].strip_prefix('{'), name_end(&tail[1..])) {
            (Some(inner), _) => match name_end(inner) {
                Some(end) if inner[end..].starts_with("}}") => {
                    (Piece::Braced(&inner[..end]), end + 4)
                }
                _ => {
                    done = open + 2;
                    continue;
                }
            },
            (None, Some(end)) if !before.ends_with('$') => (Piece::Slot(&tail[1..=end]), end + 2),
            _ => {
                done = open + 1;
                continue;
            }
        };
        pieces.push(Piece::Text(before));
        pieces.push(piece);
        rest = &tail[length..];
        done = 0;
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn is_name(text: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(first) && text.chars().all(|c| first(c) || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
