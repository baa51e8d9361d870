//! The texts of jobs: how much each tenant has in memory, and what stays when a job has ended.

use super::index::Index;
use oef_api::types::{Dependency, JobSubmit};

/// What is kept of the texts of an ended job, where they are longer: fifty thousand ended jobs of
/// 256 KiB would take 12 GB. The journal has all of it.
const ENDED_TEXT_MAX: usize = 8 << 10;
/// What is kept of a text that is cut.
const BEGINNING: usize = 1 << 10;
/// The labels that are kept whole of those that are too many.
const LABELS_KEPT: usize = 2 << 10;
/// What stands for variables and labels that were left out.
const OTHERS: &str = "(others)";
/// What stands where something was cut.
const CUT: &str = " [left out after its end]";

/// The bytes of a job's own texts: everything in it of which it can have as much as it likes.
pub(crate) fn text_bytes(spec: &JobSubmit) -> usize {
    let env = spec.env.iter().map(|(name, value)| name.len() + value.len());
    let labels = spec.labels.iter().map(|(name, value)| name.len() + value.len());
    let words = spec.command.iter().chain(&spec.script).chain(&spec.name).chain(paths(spec));
    let lists = spec.warm.iter().chain(&spec.types);
    let after = spec.after.len() * size_of::<Dependency>();
    words.chain(lists).map(String::len).chain(env).chain(labels).sum::<usize>() + after
}

fn paths(spec: &JobSubmit) -> impl Iterator<Item = &String> {
    spec.workdir.iter().chain(&spec.checkpoint_dir)
}

/// The end of a text, within a limit.
pub(crate) fn end_of(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// Whether a job's texts were shortened after its end.
pub(crate) fn was_shortened(spec: &JobSubmit) -> bool {
    let texts = spec.command.iter().chain(&spec.script).chain(spec.env.values());
    let texts = texts.chain(spec.labels.values()).chain(paths(spec)).chain(&spec.warm);
    texts.into_iter().any(|text| text.ends_with(CUT))
}

/// Shortens the texts of a job that has ended.
pub(super) fn shorten(spec: &mut JobSubmit) {
    if text_bytes(spec) <= ENDED_TEXT_MAX {
        return;
    }
    spec.env.values_mut().for_each(|value| cut(value, 0));
    spec.script.iter_mut().for_each(|script| cut(script, BEGINNING));
    let mut left = BEGINNING;
    for word in &mut spec.command {
        cut(word, left);
        left = left.saturating_sub(word.len());
    }
    spec.workdir.iter_mut().chain(&mut spec.checkpoint_dir).for_each(|path| cut(path, BEGINNING));
    if text_bytes(spec) > ENDED_TEXT_MAX {
        shorten_lists(spec);
    }
    if text_bytes(spec) > ENDED_TEXT_MAX {
        spec.env.clear();
        spec.env.insert(OTHERS.into(), CUT.into());
        spec.command.truncate(1);
        spec.after = Vec::new();
    }
    spec.command.shrink_to_fit();
}

/// Leaves out modules, and labels beyond the first ones.
fn shorten_lists(spec: &mut JobSubmit) {
    if !spec.warm.is_empty() {
        spec.warm = vec![CUT.into()];
    }
    let (mut left, before) = (LABELS_KEPT, spec.labels.len());
    spec.labels.retain(|name, value| {
        let rest = left.checked_sub(name.len() + value.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    if spec.labels.len() < before {
        spec.labels.insert(OTHERS.into(), CUT.into());
    }
}

fn cut(text: &mut String, keep: usize) {
    if text.len() <= keep + CUT.len() {
        return;
    }
    let mut end = keep;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut kept = String::with_capacity(end + CUT.len());
    kept.push_str(&text[..end]);
    kept.push_str(CUT);
    *text = kept;
}

impl Index {
    /// The bytes of texts of jobs that have not ended, of one tenant or of all.
    pub fn text_bytes(&self, tenant: Option<&str>) -> u64 {
        match tenant {
            Some(name) => self.texts.get(name).copied().unwrap_or(0),
            None => self.texts.values().sum(),
        }
    }

    pub(super) fn add_text(&mut self, tenant: &str, bytes: usize) {
        *self.texts.entry(tenant.into()).or_default() += bytes as u64;
    }

    pub(super) fn drop_text(&mut self, tenant: &str, bytes: usize) {
        if let Some(sum) = self.texts.get_mut(tenant) {
            *sum = sum.saturating_sub(bytes as u64);
            if *sum == 0 {
                self.texts.remove(tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_are_cut() {
        let short = JobSubmit { command: vec!["train".into()], ..JobSubmit::default() };
        let mut same = short.clone();
        shorten(&mut same);
        assert_eq!(same, short);
        let mut long = JobSubmit {
            command: (0..4000).map(|n| format!("--option-{n}=é")).collect(),
            script: Some("é".repeat(100_000)),
            env: (0..2000).map(|n| (format!("V{n}"), "x".repeat(100))).collect(),
            ..JobSubmit::default()
        };
        shorten(&mut long);
        assert!(text_bytes(&long) <= ENDED_TEXT_MAX, "{}", text_bytes(&long));
        assert!(long.command[0].starts_with("--option-0"));
        assert!(was_shortened(&long) && !was_shortened(&short));
        assert!(long.script.is_some_and(|script| script.ends_with(CUT)));
    }

    #[test]
    fn labels_paths_and_modules_of_an_ended_job_are_cut_as_well() {
        let job = JobSubmit {
            command: vec!["python".into(), "train.py".into()],
            labels: (0..16).map(|n| (format!("{n:02}"), "x".repeat(1000))).collect(),
            workdir: Some("/é".repeat(100_000)),
            checkpoint_dir: Some("/c".repeat(100_000)),
            warm: vec!["m".repeat(50_000)],
            ..JobSubmit::default()
        };
        assert!(text_bytes(&job) > 516_000, "all of it counts: {}", text_bytes(&job));
        let mut ended = job.clone();
        shorten(&mut ended);
        assert!(text_bytes(&ended) <= ENDED_TEXT_MAX, "{}", text_bytes(&ended));
        assert!(was_shortened(&ended) && !was_shortened(&job));
        assert_eq!(ended.labels.get("00"), job.labels.get("00"), "the first ones are kept");
        assert!(ended.labels.contains_key(OTHERS) && ended.command == job.command);
        assert!(ended.workdir.is_some_and(|path| path.starts_with("/é") && path.ends_with(CUT)));
    }
}
