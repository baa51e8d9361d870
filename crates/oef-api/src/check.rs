//! What can be said of a value by itself, without a cluster: the same words at the client and at the daemon.

use crate::limits::{
    AFTER_MAX, HALF_LIFE_S, JOB_NAME_MAX, LABEL_MAX, LABELS_BYTES_MAX, LABELS_MAX, NAME_MAX,
    PATH_MAX, RETRIES_MAX, ROUND_S, SECONDS_MAX, SPAN_S, STICKINESS, USAGE_BOUND, VARIABLES_MAX,
};
use crate::memory::{by_type, is_memory};
use crate::parsed::Workers;
use crate::types::{JobSubmit, Probe, SettingsPatch};
use std::fmt;
use std::path::Path;
use thiserror::Error;

/// A value that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct BadValue {
    /// The field that it is in.
    pub field: String,
    /// What is wrong, with the value.
    pub message: String,
    /// The way out.
    pub hint: Option<String>,
}

impl BadValue {
    /// A value of a field.
    pub fn new(field: &str, message: impl Into<String>) -> BadValue {
        BadValue { field: field.into(), message: message.into(), hint: None }
    }
}

/// A name: something that can be shown and stand in a path.
pub fn name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("{what} is empty"));
    }
    if name.chars().count() > NAME_MAX {
        return Err(format!("{what} has more than {NAME_MAX} characters"));
    }
    if name.trim() != name || name == "." || name == ".." {
        return Err(format!("{what} `{name}` begins or ends with a space, or is a path"));
    }
    // Spaces of other widths look like the one on the keyboard.
    let is_odd = |c: char| is_unseen(c) || c == '/' || (c.is_whitespace() && c != ' ');
    match name.chars().find(|c| is_odd(*c)) {
        Some(odd) => Err(format!("{what} contains {odd:?}, which is not allowed in a name")),
        None => Ok(()),
    }
}

/// Whether a character moves the cursor, changes the direction of what stands after it, or is not seen at all: two
/// names that look alike would be two names.
pub fn is_unseen(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{13440}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    c.is_control() || is_invisible
}

/// A text that is shown in one line.
pub fn line(what: &str, field: &str, text: &str, max: usize) -> Result<(), BadValue> {
    if text.chars().count() > max {
        return Err(BadValue::new(field, format!("{what} has more than {max} characters")));
    }
    match text.chars().find(|c| is_unseen(*c)) {
        Some(odd) => {
            let why = format!("{what} contains {odd:?}, which is not allowed there");
            Err(BadValue::new(field, why))
        }
        None => Ok(()),
    }
}

/// As much of a text as can be shown in one line.
pub fn cleaned(text: &str, max: usize) -> String {
    text.chars().filter(|c| !is_unseen(*c)).take(max).collect()
}

/// A number of seconds; 0 only where that makes sense.
pub fn seconds(what: &str, field: &str, seconds: Option<f64>, zero: bool) -> Result<(), BadValue> {
    let Some(seconds) = seconds else { return Ok(()) };
    let positive = seconds > 0.0 || (zero && seconds == 0.0);
    match seconds.is_finite() && positive && seconds <= SECONDS_MAX {
        true => Ok(()),
        false => Err(BadValue {
            hint: Some("leave it out where there is no limit".into()),
            ..BadValue::new(
                field,
                format!("{what} is a number of seconds up to a century, not {seconds}"),
            )
        }),
    }
}

/// The one variable of OEF's that is for jobs to set: which GPUs a worker sees.
const VISIBLE_GPUS: &str = "OEF_VISIBLE_GPUS";

/// Whether a variable is only for OEF to set: with it a job would pass for another.
fn is_reserved(name: &str) -> bool {
    name.starts_with("OEF_") && name != VISIBLE_GPUS
}

/// Everything that is wrong.
#[derive(Default)]
struct Found(Vec<BadValue>);

impl Found {
    /// Notes a value that is not right.
    fn must(&mut self, is_right: bool, field: &str, why: impl fmt::Display) {
        self.also(is_right.then_some(()).ok_or_else(|| BadValue::new(field, why.to_string())));
    }

    fn also(&mut self, checked: Result<(), BadValue>) {
        self.0.extend(checked.err());
    }
}

impl JobSubmit {
    /// Everything that is wrong with a job wherever it would run, also with one that is only asked about.
    pub fn check(&self) -> Vec<BadValue> {
        let mut found = Found::default();
        self.check_words(&mut found);
        self.check_numbers(&mut found);
        self.check_probe(&mut found);
        self.check_terminal(&mut found);
        self.check_folders(&mut found);
        found.0
    }

    fn check_words(&self, found: &mut Found) {
        let own = self.name.as_deref().unwrap_or_default();
        found.also(line("the name of a job", "name", own, JOB_NAME_MAX));
        let (env, labels) = (&self.env, &self.labels);
        let why = format_args!("there are more than {VARIABLES_MAX} variables");
        found.must(env.len() <= VARIABLES_MAX, "env", why);
        if let Some(ours) = env.keys().find(|name| is_reserved(name)) {
            let why = format_args!("the variable `{ours}` is set by OEF and cannot be given");
            found.must(false, "env", why);
        }
        let cannot_be = |(name, value): &(&String, &String)| {
            name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
        };
        if let Some((name, _)) = env.iter().find(cannot_be) {
            let shown = name.escape_debug();
            let why = format_args!("`{shown}` cannot be set as a variable: no `=` and no NUL");
            found.must(false, "env", why);
        }
        let why = format_args!("there are more than {LABELS_MAX} labels");
        found.must(labels.len() <= LABELS_MAX, "labels", why);
        for (key, value) in labels.iter().take(LABELS_MAX) {
            found.also(name("a label", key).map_err(|why| BadValue::new("labels", why)));
            found.also(line("the value of a label", "labels", value, LABEL_MAX));
        }
        let bytes: usize = labels.iter().map(|(key, value)| key.len() + value.len()).sum();
        let why = format_args!("the labels together have more than {LABELS_BYTES_MAX} bytes");
        found.must(bytes <= LABELS_BYTES_MAX, "labels", why);
    }

    fn check_numbers(&self, found: &mut Found) {
        let (tries, after) = (self.retries, self.after.len());
        let why = format_args!("a job is tried again {RETRIES_MAX} times at most, not {tries}");
        found.must(tries <= RETRIES_MAX, "retries", why);
        if let Some(steps) = self.steps {
            let why = format_args!("a job has a number of steps above 0, not {steps}");
            found.must(steps.is_finite() && steps > 0.0, "steps", why);
        }
        if let Some(memory) = self.gpu_memory_gib {
            let why = "a GPU has a memory of more than 0 GiB and at most a million, not";
            found.must(is_memory(memory), "gpu_memory_gib", format_args!("{why} {memory}"));
        }
        let why = format_args!("a job waits for {AFTER_MAX} jobs at most, not {after}");
        found.must(after <= AFTER_MAX, "after", why);
        found.also(seconds("the maximum run time", "max_run_s", self.max_run_s, false));
        found.also(seconds("the minimum run time", "min_run_s", self.min_run_s, true));
        found.also(seconds("the grace time", "grace_s", self.grace_s, true));
    }

    fn check_probe(&self, found: &mut Found) {
        let Some(probe) = &self.probe else { return };
        let (least, most, max) = (Probe::BATCHES_MIN, Probe::BATCHES_MAX, Probe::LIMIT_MAX_S);
        let (named, batches) = (self.types.len(), probe.batches);
        let why = format_args!("a profile run is for one gpu type, and this names {named}");
        found.must(named == 1, "types", why);
        let why = format_args!("a profile run has {least} to {most} batches, not {batches}");
        found.must((least..=most).contains(&batches), "probe.batches", why);
        let why = format_args!("a profile run has {most} batches of warm-up at most");
        found.must(probe.warmup <= most, "probe.warmup", why);
        let why = format_args!("the least time of a profile run is 0 to {max} seconds");
        found.must((0.0..=max).contains(&probe.least_s), "probe.least_s", why);
        let why = format_args!("the limit of a profile run is above 0 and at most {max} seconds");
        found.must(probe.limit_s > 0.0 && probe.limit_s <= max, "probe.limit_s", why);
    }

    fn check_terminal(&self, found: &mut Found) {
        let Some(terminal) = &self.terminal else { return };
        let is_one = self.workers == Workers::default();
        found.must(is_one, "workers", "a job in a terminal has one worker");
        let is_command = self.script.is_none() && self.probe.is_none() && self.warm.is_empty();
        found.must(is_command, "terminal", "a job in a terminal is a command, and no profile run");
        let why = "it is not a SHA-256 in 64 hexadecimal digits";
        found.must(terminal.has_hash(), "terminal.key_hash", why);
    }

    fn check_folders(&self, found: &mut Found) {
        let folders = [("workdir", &self.workdir), ("checkpoint_dir", &self.checkpoint_dir)];
        let given = folders.iter().filter_map(|(field, folder)| Some((field, folder.as_ref()?)));
        for (field, folder) in given {
            if folder.len() > PATH_MAX {
                let why = format!("the path has more than {PATH_MAX} bytes");
                found.also(Err(BadValue::new(field, why)));
            } else if !Path::new(folder).is_absolute() || folder.contains('\0') {
                let why = format!("`{}` is not an absolute path", folder.escape_debug());
                let hint = "the daemon may have been started elsewhere: give the whole path";
                let bad = BadValue { hint: Some(hint.into()), ..BadValue::new(field, why) };
                found.also(Err(bad));
            }
        }
    }
}

impl SettingsPatch {
    /// Every setting that is wrong by itself.
    pub fn check(&self) -> Vec<BadValue> {
        let half_life = self.usage_half_life_s.filter(|&seconds| seconds != 0.0);
        let numbers = [
            ("round_s", "the length of a round", self.round_s, ROUND_S),
            ("min_run_s", "the minimum run time", self.min_run_s, SPAN_S),
            ("grace_s", "the grace time", self.grace_s, SPAN_S),
            ("stickiness", "stickiness", self.stickiness, STICKINESS),
            ("usage_half_life_s", "the half-life of usage (0: off)", half_life, HALF_LIFE_S),
            ("usage_bound", "the bound of usage", self.usage_bound, USAGE_BOUND),
        ];
        let out_of_range = numbers.into_iter().filter_map(|(field, what, given, range)| {
            let given = given.filter(|number| !range.contains(number))?;
            let unit = if field.ends_with("_s") { " s" } else { "" };
            let (low, high) = range.into_inner();
            let why = format!("{what} is between {low}{unit} and {high}{unit}, not {given}{unit}");
            Some(BadValue::new(field, why))
        });
        let memory = self.gpu_memory.as_deref().and_then(|text| by_type(text).err());
        out_of_range.chain(memory.map(|why| BadValue::new("gpu_memory", why))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_of_seconds_are_refused() {
        for bad in [f64::NAN, -1.0, f64::INFINITY, 1e12, 0.0] {
            assert!(seconds("it", "f", Some(bad), false).is_err(), "{bad}");
        }
        assert!(seconds("it", "f", Some(0.0), true).is_ok());
        assert!(seconds("it", "f", None, false).is_ok());
    }

    #[test]
    fn every_wrong_field_of_a_job_is_named() {
        let wrong = JobSubmit {
            name: Some("x".repeat(JOB_NAME_MAX + 1)),
            env: [("OEF_JOB", "1"), ("", "")].map(|(a, b)| (a.into(), b.into())).into(),
            labels: [("a/b".into(), "\n".into())].into(),
            retries: RETRIES_MAX + 1,
            steps: Some(f64::NAN),
            grace_s: Some(-1.0),
            workdir: Some("here".into()),
            probe: Some(Probe { batches: 1, ..Probe::default() }),
            ..JobSubmit::default()
        };
        let fields: Vec<String> = wrong.check().into_iter().map(|bad| bad.field).collect();
        let expected = [
            "name",
            "env",
            "env",
            "labels",
            "labels",
            "retries",
            "steps",
            "grace_s",
            "types",
            "probe.batches",
            "workdir",
        ];
        assert_eq!(fields, expected);
        assert_eq!(JobSubmit::default().check(), []);
    }

    #[test]
    fn paths_and_labels_have_an_end() {
        let found = |job: JobSubmit| -> Vec<String> {
            job.check().into_iter().map(|bad| bad.field).collect()
        };
        let path = |bytes: usize| Some(format!("/{}", "x".repeat(bytes - 1)));
        let longest = JobSubmit {
            workdir: path(PATH_MAX),
            checkpoint_dir: path(PATH_MAX),
            ..JobSubmit::default()
        };
        assert_eq!(found(longest), [""; 0]);
        let longer = JobSubmit {
            workdir: path(PATH_MAX + 1),
            checkpoint_dir: path(5 << 20),
            ..JobSubmit::default()
        };
        assert_eq!(found(longer), ["workdir", "checkpoint_dir"]);
        let labels = |count: usize| JobSubmit {
            labels: (0..count).map(|n| (format!("{n:04}"), "x".repeat(1000))).collect(),
            ..JobSubmit::default()
        };
        assert_eq!(found(labels(16)), [""; 0]);
        assert_eq!(found(labels(17)), ["labels"]);
    }

    #[test]
    fn every_setting_out_of_its_range_is_named() {
        let wrong = SettingsPatch {
            round_s: Some(0.01),
            grace_s: Some(f64::NAN),
            usage_half_life_s: Some(-1.0),
            gpu_memory: Some("fast".into()),
            ..SettingsPatch::default()
        };
        let found = wrong.check();
        let fields: Vec<&str> = found.iter().map(|bad| bad.field.as_str()).collect();
        assert_eq!(fields, ["round_s", "grace_s", "usage_half_life_s", "gpu_memory"]);
        let said = "the length of a round is between 0.1 s and 86400 s, not 0.01 s";
        assert_eq!(found[0].message, said);
        let off = SettingsPatch { usage_half_life_s: Some(0.0), ..SettingsPatch::default() };
        assert_eq!(off.check(), []);
    }
}
