//! The texts of jobs: how much each tenant has in memory, and what stays when a job has ended.

use super::index::Index;
use oef_api::types::JobSubmit;

/// What is kept of an ended job's command, script and variables, where they are longer: fifty thousand ended jobs of
/// 256 KiB would take 12 GB. The journal has all of it.
const ENDED_TEXT_MAX: usize = 8 << 10;
/// What is kept of a text that is cut.
const BEGINNING: usize = 1 << 10;
/// What stands where something was cut.
const CUT: &str = " [left out after its end]";

/// The bytes of a job's own texts.
pub(crate) fn text_bytes(spec: &JobSubmit) -> usize {
    let env = spec.env.iter().map(|(name, value)| name.len() + value.len());
    let labels = spec.labels.iter().map(|(name, value)| name.len() + value.len());
    let words = spec.command.iter().chain(&spec.script).map(String::len);
    words.chain(env).chain(labels).sum()
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
    if text_bytes(spec) > ENDED_TEXT_MAX {
        spec.env.clear();
        spec.env.insert("(others)".into(), CUT.into());
        spec.command.truncate(1);
    }
    spec.command.shrink_to_fit();
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
}
