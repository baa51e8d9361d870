//! What `squeue` and `sinfo` print, in the form that all versions have: columns of our own choosing.
//!
//! Names and comments are other people's words. They come last in a row, so that nothing in them is taken for another
//! column; and every row begins with a word that is new for each call, so that a name with a line break in it cannot
//! pass for a row of its own.

use super::hosts;
use oef_sched::{Generation, JobId};
use std::collections::BTreeMap;

/// Between columns.
const SEPARATOR: char = '|';

/// A job as `squeue` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its number, which Slurm may use again.
    pub id: u64,
    /// What it does.
    pub state: JobState,
    /// Whose it is.
    pub uid: u32,
    /// Where it runs; empty while it waits.
    pub nodes: Vec<String>,
    /// GPUs that it has on each of its nodes, with their type if it is known; none: it cannot be told from this.
    pub gpus: Option<u32>,
    /// Why it waits, in Slurm's word.
    pub reason: String,
    /// Its name.
    pub name: String,
    /// Its comment.
    pub comment: String,
}

/// What a job does, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits.
    Pending,
    /// It has its nodes.
    Running,
    /// It is ending, and has its nodes.
    Completing,
    /// It is over; the word for how.
    Over(String),
}

impl JobState {
    /// From Slurm's word for it. Flags may follow, as in `RUNNING+`.
    pub fn of(word: &str) -> JobState {
        let first = word.split(['+', ' ', ',']).next().unwrap_or(word);
        match first {
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" => {
                JobState::Pending
            }
            "RUNNING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "RESIZING"
            | "STAGE_OUT" => JobState::Running,
            "COMPLETING" => JobState::Completing,
            over => JobState::Over(over.to_string()),
        }
    }

    /// It is not over.
    pub fn is_live(&self) -> bool {
        !matches!(self, JobState::Over(_))
    }
}

/// A node as `sinfo` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Its state with all flags, as in `mixed+drain`.
    pub state: String,
    /// What it has: gpu type and count; the type is empty where Slurm knows none.
    pub gpus: Vec<(String, u32)>,
    /// What of that is in use.
    pub used: Vec<(String, u32)>,
    /// Where it is reached.
    pub address: String,
    /// Why it is drained or down.
    pub reason: String,
    /// Who said so; empty: nobody knows.
    pub by: String,
}

/// Any job as `squeue` shows it, with what tells whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherRow {
    /// Its number, with that of its task where it is one of an array.
    pub(crate) shown: String,
    /// When it was submitted: a number that comes again has another time.
    pub(crate) submitted: String,
    pub(crate) state: JobState,
    pub(crate) account: String,
    pub(crate) user: String,
    /// GPUs in all that it has or asks for, by type, and without a type the sum of them.
    pub(crate) gpus: Vec<(String, u32)>,
    pub(crate) nodes: Vec<String>,
    pub(crate) reason: String,
    pub(crate) name: String,
}

/// The arguments of `squeue` for all jobs that Slurm remembers, or those of one name.
pub(crate) fn jobs_args(mark: &str, name: Option<&str>) -> Vec<String> {
    let columns = ["%A", "%T", "%U", "%N", "%b", "%r", "%j", "%k"];
    let format = format!("{mark}|{}", columns.join("|"));
    let mut args: Vec<String> =
        ["--noheader", "--all", "--states=all", "--format"].map(String::from).to_vec();
    args.push(format);
    args.extend(name.map(|name| format!("--name={name}")));
    args
}

/// The arguments of `sinfo` for the nodes of a partition, or all.
pub(crate) fn nodes_args(mark: &str, partition: Option<&str>, nodes: Option<&str>) -> Vec<String> {
    let columns = ["NodeList", "StateComplete", "Gres", "GresUsed", "NodeAddr", "Reason", "User"];
    // Without a width a column is cut at twenty characters.
    let columns = columns.map(|column| format!("{column}:{mark}"));
    let mut args: Vec<String> = ["--noheader", "--Node"].map(String::from).to_vec();
    args.push(format!("--Format={}", columns.join(",")));
    args.extend(partition.map(|partition| format!("--partition={partition}")));
    args.extend(nodes.map(|nodes| format!("--nodes={nodes}")));
    args
}

/// The columns of a job of anybody's.
const OTHER_COLUMNS: [&str; 9] = [
    "JobArrayID",
    "SubmitTime",
    "State",
    "Account",
    "UserName",
    "tres-alloc",
    "NodeList",
    "Reason",
    "Name",
];

/// The arguments of `squeue` for all jobs of everybody, one row for each task of an array.
pub(crate) fn others_args(mark: &str, partition: Option<&str>) -> Vec<String> {
    let columns = OTHER_COLUMNS.map(|column| format!("{column}:{mark}"));
    let mut args = ["--noheader", "--all", "--array", "--states=all"].map(String::from).to_vec();
    args.push(format!("--Format={}", columns.join(",")));
    args.extend(partition.map(|partition| format!("--partition={partition}")));
    args
}

/// Reads what `squeue` says of everybody's jobs. A line break in a name is a part of its column.
pub(crate) fn others(text: &str, mark: &str) -> Result<Vec<OtherRow>, String> {
    let columns: Vec<&str> = text.split(mark).collect();
    let rows = columns.chunks(OTHER_COLUMNS.len());
    let (rows, rest): (Vec<&[&str]>, Vec<&[&str]>) =
        rows.partition(|row| row.len() == OTHER_COLUMNS.len());
    if rest.iter().any(|row| row.iter().any(|column| !column.trim().is_empty())) {
        return Err(format!("the row `{}`", rest.concat().join("|")));
    }
    rows.iter()
        .map(|row| other(row).ok_or_else(|| format!("the row `{}`", row.join("|"))))
        .collect()
}

fn other(row: &[&str]) -> Option<OtherRow> {
    let [shown, submitted, state, account, user, tres, nodes, reason, name] = row[..] else {
        return None;
    };
    let (shown, state) = (shown.trim(), state.trim());
    let is_word = !state.is_empty() && state.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    (is_word && shown.starts_with(|first: char| first.is_ascii_digit())).then_some(())?;
    Some(OtherRow {
        shown: shown.to_string(),
        submitted: submitted.trim().to_string(),
        state: JobState::of(state),
        account: account.trim().to_string(),
        user: user.trim().to_string(),
        gpus: gpus_in(tres.trim())?,
        nodes: hosts::expand(nodes.trim())?,
        reason: reason.trim().to_string(),
        name: name.to_string(),
    })
}

/// Reads the rows of `squeue`. A row that is not understood makes the whole reply useless: which job it was about is
/// not known.
pub(crate) fn jobs(text: &str, mark: &str) -> Result<Vec<JobRow>, String> {
    // Later lines may be the rest of somebody's name. With the first one that is not so.
    if let Some(first) = text.lines().next().filter(|first| !first.starts_with(mark)) {
        return Err(format!("the first line `{first}`"));
    }
    let rows = text.lines().filter_map(|line| line.strip_prefix(mark)?.strip_prefix(SEPARATOR));
    rows.map(|row| job(row).ok_or_else(|| format!("the row `{row}`"))).collect()
}

fn job(row: &str) -> Option<JobRow> {
    let mut columns: Vec<&str> = row.splitn(8, SEPARATOR).collect();
    if columns.len() == 7 {
        // A line break in somebody's name cuts the row there. Then it is not one of ours.
        columns.push("");
    }
    let [id, state, uid, nodes, gres, reason, name, comment] = columns[..] else { return None };
    let is_word = !state.is_empty() && state.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    is_word.then_some(())?;
    Some(JobRow {
        id: id.parse().ok()?,
        state: JobState::of(state),
        uid: uid.parse().ok()?,
        nodes: hosts::expand(nodes)?,
        gpus: gpus_in(gres).map(|gpus| gpus.iter().map(|(_, count)| count).sum()),
        reason: reason.to_string(),
        name: name.to_string(),
        comment: comment.to_string(),
    })
}

/// Reads the rows of `sinfo`.
pub(crate) fn nodes(text: &str, mark: &str) -> Result<Vec<NodeRow>, String> {
    let mut rows: BTreeMap<String, NodeRow> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row = node(line, mark).ok_or_else(|| format!("the row `{line}`"))?;
        // A node comes once for every partition that it is in.
        rows.insert(row.name.clone(), row);
    }
    Ok(rows.into_values().collect())
}

fn node(line: &str, mark: &str) -> Option<NodeRow> {
    let columns: Vec<&str> = line.split(mark).map(str::trim).collect();
    let [name, state, gres, used, address, reason, by, ..] = columns[..] else { return None };
    (!name.is_empty() && !state.is_empty()).then_some(())?;
    Some(NodeRow {
        name: name.to_string(),
        state: state.to_ascii_lowercase(),
        gpus: gpus_in(gres)?,
        used: gpus_in(used)?,
        address: address.to_string(),
        reason: reason.to_string(),
        by: by.to_string(),
    })
}

/// The GPUs in a list such as `gpu:rtx3070:4(S:0-1),nic:2` or `gres:gpu:2`, or `gres/gpu:a100=4` of newer versions;
/// none: it is not such a list.
pub(crate) fn gpus_in(list: &str) -> Option<Vec<(String, u32)>> {
    let mut found = Vec::new();
    if matches!(list, "" | "N/A" | "(null)" | "none") {
        return Some(found);
    }
    for item in outside_of_brackets(list) {
        let item = item.split('(').next().unwrap_or_default();
        let item =
            item.strip_prefix("gres:").or_else(|| item.strip_prefix("gres/")).unwrap_or(item);
        let item = item.replace('=', ":");
        let mut words = item.split(':');
        if words.next() != Some("gpu") {
            continue;
        }
        let words: Vec<&str> = words.collect();
        let (gpu_type, count) = match words[..] {
            [] => ("", "1"),
            [count] if count.parse::<u32>().is_ok() => ("", count),
            [gpu_type] => (gpu_type, "1"),
            [gpu_type, count] => (gpu_type, count),
            _ => return None,
        };
        found.push((gpu_type.to_string(), count.parse().ok()?));
    }
    Some(found)
}

fn outside_of_brackets(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut begin) = (Vec::new(), 0i32, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[begin..]);
    items
}

/// The name of a job's Slurm jobs, of which `singleton` lets one run at a time.
pub(crate) fn name_of(tag: &str, job: JobId) -> String {
    format!("oef-{tag}-{job}")
}

/// The comment that says which lease a Slurm job is for.
pub(crate) fn comment_of(tag: &str, job: JobId, generation: Generation) -> String {
    format!("oef:{tag}:{job}:{generation}")
}

/// The lease of a row, if it is one of ours by name and comment.
pub(crate) fn lease_of(row: &JobRow, tag: &str) -> Option<(JobId, Generation)> {
    let rest = row.comment.strip_prefix("oef:")?.strip_prefix(tag)?.strip_prefix(':')?;
    let (job, generation) = rest.split_once(':')?;
    let (job, generation) = (JobId(job.parse().ok()?), Generation(generation.parse().ok()?));
    (row.name == name_of(tag, job)).then_some((job, generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_squeue() {
        let text = "m1|17|RUNNING|1000|n[1-2]|gres:gpu:rtx3070:2|None|oef-ab-7|oef:ab:7:3\n\
                    m1|18|PENDING|0||N/A|Resources|a|b|(null)\n\
                    m1|19|NODE_FAIL|0|n3|gres:gpu:1|None|a\nm0|99|RUNNING|0|n1|gres:gpu:9|None|x|y\n";
        let rows = jobs(text, "m1").expect("rows");
        assert_eq!(rows.len(), 2 + 1, "a line break in a name makes no row");
        assert_eq!(rows[0].nodes, ["n1", "n2"]);
        assert_eq!((rows[0].gpus, &rows[0].state), (Some(2), &JobState::Running));
        assert_eq!(lease_of(&rows[0], "ab"), Some((JobId(7), Generation(3))));
        assert_eq!(lease_of(&rows[0], "cd"), None);
        assert_eq!((rows[1].name.as_str(), rows[1].comment.as_str()), ("a", "b|(null)"));
        assert_eq!(rows[1].gpus, Some(0));
    }

    #[test]
    fn what_is_no_row_makes_the_reply_useless() {
        assert!(jobs("m1|19|NODE_FAIL|0|n3|gres:gpu:1|None\n", "m1").is_err());
        assert!(jobs("m1|19|running|0|n3|gres:gpu:1|None|a|b\n", "m1").is_err());
        assert!(jobs("m1|x|RUNNING|0|n3|gres:gpu:1|None|a|b\n", "m1").is_err());
        assert!(jobs("another form\n", "m1").is_err(), "no jobs at all is something else");
        assert_eq!(jobs("", "m1"), Ok(Vec::new()));
    }

    #[test]
    fn rows_of_sinfo() {
        let text = "n1@mixed@gpu:rtx3070:4@gpu:rtx3070:3(IDX:0-2)@127.0.0.1@none@Unknown@\n\
                    n1@mixed@gpu:rtx3070:4@gpu:rtx3070:3(IDX:0-2)@127.0.0.1@none@Unknown@\n\
                    n7@DRAINED*@gpu:a:2(S:0),gpu:b:1(S:1),nic:2@gpu:a:0(IDX:N/A),gpu:b:0(IDX:N/A)@h@a fan@ada@\n";
        let rows = nodes(text, "@").expect("rows");
        assert_eq!(rows.len(), 2, "one of two partitions");
        assert_eq!(rows[0].used, [("rtx3070".to_string(), 3)]);
        assert_eq!(rows[1].gpus, [("a".to_string(), 2), ("b".to_string(), 1)]);
        assert_eq!((rows[1].state.as_str(), rows[1].reason.as_str()), ("drained*", "a fan"));
        assert!(nodes("n1@idle\n", "@").is_err());
        assert_eq!(rows[1].by, "ada");
        assert!(nodes("n1@idle@gpu:x:many@(null)@a@b@c@\n", "@").is_err());
    }

    #[test]
    fn rows_of_everybody() {
        let text = "2_1@2026-11-16T09:50:45@RUNNING@speech@root@cpu=1,mem=500M,gres/gpu=3,gres/gpu:a=3@n[1-2]@None@a\nb@\n\
                    3@2026-11-16T09:50:46@PENDING@vision@ada@cpu=1@@Resources@x@\n";
        let rows = others(text, "@").expect("rows");
        assert_eq!((rows[0].shown.as_str(), rows[0].name.as_str()), ("2_1", "a\nb"));
        assert_eq!(rows[0].gpus, [("".to_string(), 3), ("a".to_string(), 3)]);
        assert_eq!((rows[1].shown.as_str(), rows[1].user.as_str()), ("3", "ada"));
        assert!(rows[1].gpus.is_empty());
        assert!(others("", "@").expect("nobody").is_empty());
        assert!(others("3@x@PENDING@\n", "@").is_err(), "cut short");
        assert!(others(&text.replace("RUNNING", "running"), "@").is_err());
    }

    #[test]
    fn lists_of_gpus() {
        let cases: [(&str, &[(&str, u32)]); 8] = [
            // Of 23.02 and later.
            ("gres/gpu:a100:2", &[("a100", 2)]),
            ("(null)", &[]),
            ("gpu", &[("", 1)]),
            ("gpu:4", &[("", 4)]),
            ("gpu:a100:4(S:0-1)", &[("a100", 4)]),
            ("gres/gpu:a100=4", &[("a100", 4)]),
            ("gres:gpu:a100:2,nic:1", &[("a100", 2)]),
            ("gpu:a:2(IDX:0,3),gpu:b:0(IDX:N/A)", &[("a", 2), ("b", 0)]),
        ];
        for (list, expected) in cases {
            let expected: Vec<(String, u32)> =
                expected.iter().map(|(name, count)| (name.to_string(), *count)).collect();
            assert_eq!(gpus_in(list), Some(expected), "{list}");
        }
        assert_eq!(gpus_in("gpu:a:b:c"), None);
    }

    #[test]
    fn states_by_their_words() {
        assert_eq!(JobState::of("PENDING"), JobState::Pending);
        assert_eq!(JobState::of("CONFIGURING"), JobState::Running);
        assert_eq!(JobState::of("NODE_FAIL"), JobState::Over("NODE_FAIL".into()));
        assert!(!JobState::of("CANCELLED+").is_live());
    }
}
