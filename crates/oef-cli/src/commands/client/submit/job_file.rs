//! Job files: a job in TOML, with the names of the interface.

use super::sweep::Axis;
use crate::input::nearest;
use oef_api::check::BadValue;
use oef_api::types::JobSubmit;
use oef_sim::input::Lines;
use oef_terminal::{Complaint, Failure, Source};
use serde::Deserialize as _;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// The one field that the interface does not know: it is replaced before anything is sent.
const SWEEP: &str = "sweep";

/// A job file with every field.
pub const EXAMPLE: &str = r#"# A job for `oef submit --file`. Everything but the command may be left out.

name = "vgg16-cifar"                # for people; by default the script's or the program's
tenant = "vision-lab"               # who owns it; a tenant's token need not say
workload = "vgg16"                  # jobs of one workload share a profile
command = ["python", "train.py", "--lr", "0.1"]
# script = """                      # instead of a command; run by /bin/sh or by what its first line names
# set -e
# python train.py
# """
# warm = ["torch"]                  # Python modules that are imported before it starts, so that restarts are quick
workers = 2                         # each on a GPU of its own; all run or none
types = ["rtx3080", "rtx3090"]      # gpu types that it may use; by default all that its workload runs on
# gpu_memory_gib = 20               # each of its GPUs has so much memory at least
one_type = false                    # true: all workers on GPUs of one type, whichever
priority = 0                        # a higher one goes first within its tenant, and takes the GPUs of its jobs of a lower one
now = false                         # true: it does so at once, not when the next round begins
# workdir = "/home/ada/vgg16"       # by default the folder where you submit
# checkpoint_dir = "/data/ada/vgg"  # by default a folder of the daemon for this job
max_run_s = 7200                    # stopped for good after so many seconds of running
min_run_s = 600                     # once started, not preempted for so many seconds
steps = 20000                       # in all: for tenants whose shortest jobs go first
retries = 2                         # started again after so many failures
stop_signal = "term"                # what tells it to write a checkpoint and stop: term, int, usr1, usr2
grace_s = 30                        # how long it may take to stop
# held = true                       # it does not start until `oef release`
# not_before = "2026-12-24T08:00:00Z"            # it starts at this time or later
# after = [{ job = 17, when = "finished" }]     # it starts after that job: finished, ended (in any way), or failed

[env]
OMP_NUM_THREADS = "8"

[labels]
project = "cifar"

# [sweep]                           # one job for each value (and each combination), with "{lr}" in the command
# lr = [0.1, 0.01]
"#;

/// A job file.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    pub job: JobSubmit,
    /// What is varied.
    pub axes: Vec<Axis>,
}

/// Reads a job file; every complaint has its line.
pub fn read(path: &Path) -> Result<JobFile, Failure> {
    let source = Source::read(
        path,
        "`oef submit --example-file` prints an example with every field explained",
    )?;
    parse(&source).map_err(Failure::input)
}

fn parse(source: &Source) -> Result<JobFile, Vec<Complaint>> {
    let lines = Lines::of(&source.text);
    let place = |at: usize| {
        let (line, column) = lines.locate(at);
        format!("{}:{line}:{column}", source.label)
    };
    let syntax = |error: &toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        Complaint::new(error.message().trim_end().to_string()).at(place(at))
    };
    let (mut table, errors) = DeTable::parse_recoverable(&source.text);
    if !errors.is_empty() {
        return Err(errors
            .iter()
            .map(|e| syntax(e).hint("a job file is TOML; see `oef submit --example-file`"))
            .collect());
    }
    let mut complaints = Vec::new();
    let sweep = table.get_mut().remove(SWEEP);
    let keys = table.get_ref().keys().map(|key| (key.get_ref().to_string(), key.span().start));
    let keys: Vec<(String, usize)> = keys.collect();
    let fields = fields();
    for (name, at) in keys.clone() {
        if fields.contains(&name) {
            continue;
        }
        let known: Vec<&str> = fields.iter().map(String::as_str).chain([SWEEP]).collect();
        let complaint = Complaint::new(format!("a job has no field `{name}`"));
        complaints.push(complaint.at(place(at)).hint(nearest::hint("fields", &name, known)));
        table.get_mut().remove(&*name);
    }
    let axes = sweep.map_or(Ok(Vec::new()), |sweep| axes(sweep, &place));
    let axes = axes.unwrap_or_else(|found| {
        complaints.extend(found);
        Vec::new()
    });
    let job = JobSubmit::deserialize(Deserializer::from(table));
    if let Ok(job) = &job {
        complaints.extend(refused(job, &keys, &place));
    }
    match job {
        Ok(job) if complaints.is_empty() => Ok(JobFile { job, axes }),
        Ok(_) => Err(complaints),
        Err(error) => {
            complaints.push(syntax(&error).hint("see `oef submit --example-file` for every field"));
            Err(complaints)
        }
    }
}

/// Profile runs are made by `oef profile`, from a job file like any other; the daemon knows the user; and `oef run` has
/// the terminal.
const NOT_IN_FILES: [&str; 3] = ["probe", "user", "terminal"];

/// The fields of a job in a file.
fn fields() -> Vec<String> {
    let is_there = |field: &String| !NOT_IN_FILES.contains(&field.as_str());
    JobSubmit::fields().into_iter().filter(is_there).collect()
}

/// What the daemon would refuse, with its line. A folder may still be relative here, and the command come later.
fn refused(
    job: &JobSubmit,
    keys: &[(String, usize)],
    place: &dyn Fn(usize) -> String,
) -> impl Iterator<Item = Complaint> {
    let job = JobSubmit { workdir: None, checkpoint_dir: None, ..job.clone() };
    job.check().into_iter().map(|BadValue { field, message, hint }| {
        let at = keys.iter().find(|(key, _)| *key == field).map_or(0, |(_, at)| *at);
        let complaint = Complaint::new(format!("`{field}`: {message}")).at(place(at));
        match hint {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    })
}

fn axes(
    sweep: Spanned<DeValue<'_>>,
    place: &dyn Fn(usize) -> String,
) -> Result<Vec<Axis>, Vec<Complaint>> {
    let hint = "write a table of lists: [sweep] and below it lr = [0.1, 0.01]";
    let at = place(sweep.span().start);
    let DeValue::Table(table) = sweep.into_inner() else {
        return Err(vec![Complaint::new("`sweep` is not a table").at(at).hint(hint)]);
    };
    // The parser sorts by key; the jobs follow the file.
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let (mut axes, mut complaints) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        let (at, name) = (place(value.span().start), key.into_inner().into_owned());
        let values: Option<Vec<String>> = match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|value| written(value.get_ref())).collect(),
            _ => None,
        };
        let axis = match values {
            Some(values) => Axis { name, values }.checked(&at),
            None => {
                let complaint =
                    Complaint::new(format!("`{name}` is not a list of numbers or texts"));
                Err(complaint.at(at).hint(hint))
            }
        };
        match axis {
            Ok(axis) => axes.push(axis),
            Err(complaint) => complaints.push(complaint),
        }
    }
    if complaints.is_empty() { Ok(axes) } else { Err(complaints) }
}

/// A value as it stands in the file: `1e-3` stays `1e-3`.
fn written(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(x) if x.radix() == 10 => Some(x.as_str().into()),
        DeValue::Float(x) => Some(x.as_str().into()),
        DeValue::Boolean(b) => Some(b.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<JobFile, String> {
        let source = Source { label: "job.toml".into(), text: text.into() };
        let words = |c: Complaint| {
            format!(
                "{}: {} | {}",
                c.place.unwrap_or_default(),
                c.message,
                c.hint.unwrap_or_default()
            )
        };
        parse(&source).map_err(|found| found.into_iter().map(words).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn the_example_has_every_field_and_is_read() {
        let file = parsed(EXAMPLE).expect("the example");
        assert!(file.axes.is_empty(), "`oef profile` and `oef whatif` take the example as it is");
        let swept = EXAMPLE.replace("# [sweep]", "[sweep]").replace("# lr", "lr");
        assert_eq!(
            parsed(&swept).expect("the example").axes,
            [Axis { name: "lr".into(), values: vec!["0.1".into(), "0.01".into()] }]
        );
        assert_eq!((*file.job.workers, file.job.retries), (2, 2));
        assert!(fields().len() > 15, "{:?}", fields());
        for field in fields() {
            assert!(
                EXAMPLE.lines().any(|line| {
                    line.trim_start_matches("# ").starts_with(&format!("{field} ="))
                        || line == format!("[{field}]")
                }),
                "{field}"
            );
        }
    }

    #[test]
    fn mistakes_have_their_line() {
        let cases = [
            (
                "command = [\"a\"]\nmax_run_s = nan\n",
                "job.toml:2:1: `max_run_s`: the maximum run time is a number of seconds up to a century, not NaN | leave it out where there is no limit",
            ),
            (
                "command = [\"a\"]\nwokers = 2\n",
                "job.toml:2:1: a job has no field `wokers` | did you mean `workers`?",
            ),
            (
                "command = [\"a\"]\nworkers = \"two\"\n",
                "job.toml:2:11: invalid type: string \"two\", expected u32",
            ),
            ("command = [\"a\"\n", "job.toml:"),
            ("stop_signal = \"kill\"\n", "job.toml:1:15: unknown variant `kill`"),
            ("command = [\"a\"]\n[sweep]\nlr = 0.1\n", "job.toml:3:6: `lr` is not a list"),
            ("command = [\"a\"]\n[sweep]\nlr = [[1]]\n", "job.toml:3:6: `lr` is not a list"),
            ("command = [\"a\"]\n[sweep]\nlr = []\n", "job.toml:3:6: `lr` has no values"),
            ("sweep = 3\n", "job.toml:1:9: `sweep` is not a table"),
        ];
        for (text, expected) in cases {
            let said = parsed(text).expect_err(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn numbers_of_a_sweep_stay_as_they_are_written() {
        let file = parsed("command = [\"t\"]\n[sweep]\nz = [1e-3, 0.10, 5]\na = [true, \"x y\"]\n")
            .expect("a file");
        let values: Vec<String> = file.axes.iter().map(|axis| axis.values.join("|")).collect();
        assert_eq!(values, ["1e-3|0.10|5", "true|x y"]);
    }

    /// What is nearly a job file is read or refused with a complaint.
    #[cfg(feature = "lab")]
    #[test]
    fn no_text_makes_the_reader_panic() {
        use oef_lab::fuzz::{Mutator, corpus};
        let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|text| text.parse().ok());
        let corpus = corpus("jobs");
        let mut mutator = Mutator::new(seed.unwrap_or(1));
        let changed: Vec<Vec<u8>> = (0..2_000).map(|_| mutator.next(&corpus)).collect();
        for input in &corpus {
            let text = String::from_utf8_lossy(input).into_owned();
            assert!(parsed(&text).is_ok(), "{:?}", parsed(&text));
        }
        for input in &changed {
            let refused = parsed(&String::from_utf8_lossy(input)).err();
            assert!(refused.is_none_or(|why| !why.is_empty()), "refused without a word");
        }
    }
}
