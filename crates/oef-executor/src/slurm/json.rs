//! What `squeue --json`, `sinfo --json` and `scontrol show nodes --json` print. The shape follows the version of Slurm's
//! `data_parser`: a state is a word or a list of words, a number is itself or an object that says whether it is set, and
//! nodes are a list of their own or a word. Whatever says the same is read the same; the rest is left alone.

use super::hosts;
use super::parse::{JobRow, JobState, NodeRow, OtherRow, gpus_in};
use serde::Deserialize;
use serde_json::Value;

/// What is read of a reply about jobs.
#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    job_id: Value,
    job_state: Value,
    #[serde(default)]
    user_id: Value,
    #[serde(default)]
    user_name: Value,
    #[serde(default)]
    account: Value,
    #[serde(default)]
    partition: Value,
    #[serde(default)]
    nodes: Value,
    #[serde(default)]
    job_resources: Value,
    #[serde(default)]
    tres_per_node: Value,
    #[serde(default)]
    tres_req_str: Value,
    #[serde(default)]
    tres_alloc_str: Value,
    #[serde(default)]
    array_job_id: Value,
    #[serde(default)]
    array_task_id: Value,
    #[serde(default)]
    submit_time: Value,
    #[serde(default)]
    state_reason: Value,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    comment: Value,
}

/// The jobs of a reply, or those of one name.
pub(super) fn jobs(text: &str, name: Option<&str>) -> Result<Vec<JobRow>, String> {
    let rows = read_jobs(text)?.into_iter().map(|job| {
        let id = number(&job.job_id).ok_or("a job without a number")?;
        let bad = |what: &str| format!("{what} of job {id}");
        Ok(JobRow {
            id,
            state: JobState::of(&state(&job.job_state).ok_or_else(|| bad("the state"))?),
            uid: number(&job.user_id)
                .and_then(|uid| u32::try_from(uid).ok())
                .ok_or_else(|| bad("the user"))?,
            nodes: job.nodes().ok_or_else(|| bad("the nodes"))?,
            gpus: gpus_in(word(&job.tres_per_node))
                .map(|gpus| gpus.iter().map(|(_, count)| count).sum()),
            reason: word(&job.state_reason).to_string(),
            name: word(&job.name).to_string(),
            comment: comment(&job.comment).to_string(),
        })
    });
    let rows: Vec<JobRow> = rows.collect::<Result<_, String>>()?;
    Ok(rows.into_iter().filter(|row| name.is_none_or(|name| row.name == name)).collect())
}

/// The jobs of a reply with what tells whose they are.
pub(super) fn others(text: &str, partition: Option<&str>) -> Result<Vec<OtherRow>, String> {
    let is_there = |job: &Job| {
        partition.is_none_or(|name| word(&job.partition).split(',').any(|one| one == name))
    };
    let rows = read_jobs(text)?.into_iter().filter(is_there).map(|job| {
        let id = number(&job.job_id).ok_or("a job without a number")?;
        let bad = |what: &str| format!("{what} of job {id}");
        let array = number(&job.array_job_id).filter(|array| *array > 0);
        let shown = match (array, number(&job.array_task_id)) {
            (Some(array), Some(task)) => format!("{array}_{task}"),
            _ => id.to_string(),
        };
        let asked = [&job.tres_alloc_str, &job.tres_req_str].map(word);
        Ok(OtherRow {
            shown,
            submitted: number(&job.submit_time).unwrap_or_default().to_string(),
            state: JobState::of(&state(&job.job_state).ok_or_else(|| bad("the state"))?),
            account: word(&job.account).to_string(),
            user: word(&job.user_name).to_string(),
            gpus: asked
                .iter()
                .find(|text| !text.is_empty())
                .map_or_else(|| Some(Vec::new()), |text| gpus_in(text))
                .ok_or_else(|| bad("the GPUs"))?,
            nodes: job.nodes().ok_or_else(|| bad("the nodes"))?,
            reason: word(&job.state_reason).to_string(),
            name: word(&job.name).to_string(),
        })
    });
    rows.collect()
}

fn read_jobs(text: &str) -> Result<Vec<Job>, String> {
    serde_json::from_str::<Jobs>(text).map(|read| read.jobs).map_err(|error| error.to_string())
}

impl Job {
    fn nodes(&self) -> Option<Vec<String>> {
        let of_resources = self.job_resources.get("nodes");
        let listed = of_resources.map(|nodes| nodes.get("list").unwrap_or(nodes));
        let text = self.nodes.as_str().or(listed.and_then(Value::as_str)).unwrap_or_default();
        hosts::expand(text)
    }
}

/// What is read of a reply about nodes.
#[derive(Deserialize)]
struct Nodes {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    name: String,
    state: Value,
    #[serde(default)]
    state_flags: Value,
    #[serde(default)]
    gres: Value,
    #[serde(default)]
    gres_used: Value,
    #[serde(default)]
    address: Value,
    #[serde(default)]
    reason: Value,
    #[serde(default)]
    reason_set_by_user: Value,
    #[serde(default)]
    partitions: Value,
}

/// Whether a reply groups nodes, as `sinfo` does from 23.11 on: then `scontrol` lists them.
pub(super) fn is_grouped(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Grouped {
        #[serde(rename = "sinfo")]
        _sinfo: serde::de::IgnoredAny,
    }
    serde_json::from_str::<Grouped>(text).is_ok()
}

/// The nodes of a reply that are in a partition and in a list; none: all.
pub(super) fn nodes(
    text: &str,
    partition: Option<&str>,
    names: Option<&str>,
) -> Result<Vec<NodeRow>, String> {
    let read: Nodes = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let names = match names {
        Some(list) => Some(hosts::expand(list).ok_or_else(|| format!("the list `{list}`"))?),
        None => None,
    };
    let is_meant = |node: &Node| {
        let is_in = |name: &str| words(&node.partitions).iter().any(|known| known == name);
        partition.is_none_or(is_in) && names.as_ref().is_none_or(|names| names.contains(&node.name))
    };
    read.nodes.iter().filter(|node| is_meant(node)).map(node_row).collect()
}

fn node_row(node: &Node) -> Result<NodeRow, String> {
    let bad = |what: &str| format!("{what} of node {}", node.name);
    let mut states = words(&node.state);
    states.extend(words(&node.state_flags));
    if states.is_empty() {
        return Err(bad("the state"));
    }
    Ok(NodeRow {
        name: node.name.clone(),
        state: states.join("+").to_ascii_lowercase(),
        gpus: gpus_in(word(&node.gres)).ok_or_else(|| bad("the GPUs"))?,
        used: gpus_in(word(&node.gres_used)).ok_or_else(|| bad("the used GPUs"))?,
        address: word(&node.address).to_string(),
        reason: word(&node.reason).to_string(),
        by: word(&node.reason_set_by_user).to_string(),
    })
}

/// `N`, or `{"set": true, "infinite": false, "number": N}`; none: it is not set.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Object(fields) => {
            let is = |name: &str| fields.get(name).and_then(Value::as_bool);
            let is_set = is("set") != Some(false) && is("infinite") != Some(true);
            fields.get("number").filter(|_| is_set)?.as_u64()
        }
        plain => plain.as_u64(),
    }
}

/// A word; nothing where there is none.
fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A word, or a list of words.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(word) if !word.is_empty() => vec![word.clone()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => Vec::new(),
    }
}

/// The state of a job: its first word is what it does, others are flags.
fn state(value: &Value) -> Option<String> {
    let words = words(value);
    // One that is ending has both words; it still holds its nodes.
    let is_ending = words.iter().any(|word| word == "COMPLETING");
    if is_ending { Some("COMPLETING".into()) } else { words.into_iter().next() }
}

/// The comment of the job's owner; accounting has those of others beside it.
fn comment(value: &Value) -> &str {
    value.as_str().or_else(|| value.get("job")?.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One job and one node as each version prints them, cut down to what is read and its neighbours.
    const CASES: [(&str, &str, &str); 5] = [
        (
            "22.05",
            include_str!("recorded/jobs-22.05.json"),
            include_str!("recorded/nodes-22.05.json"),
        ),
        (
            "23.02",
            include_str!("recorded/jobs-23.02.json"),
            include_str!("recorded/nodes-23.02.json"),
        ),
        (
            "23.11",
            include_str!("recorded/jobs-23.11.json"),
            include_str!("recorded/nodes-23.11.json"),
        ),
        (
            "24.05",
            include_str!("recorded/jobs-24.05.json"),
            include_str!("recorded/nodes-24.05.json"),
        ),
        (
            "25.05",
            include_str!("recorded/jobs-25.05.json"),
            include_str!("recorded/nodes-25.05.json"),
        ),
    ];

    #[test]
    fn every_version_says_the_same() {
        for (version, jobs_text, nodes_text) in CASES {
            let rows = jobs(jobs_text, None).expect(version);
            let first = &rows[0];
            assert_eq!((first.id, first.uid, first.gpus), (4, 1000, Some(2)), "{version}");
            assert_eq!(
                (&first.state, first.nodes.as_slice()),
                (&JobState::Running, &["n5".to_string(), "n6".into()][..]),
                "{version}"
            );
            assert_eq!(
                (first.name.as_str(), first.comment.as_str()),
                ("oef-ab-7", "oef:ab:7:3"),
                "{version}"
            );
            assert_eq!(
                (&rows[1].state, rows[1].reason.as_str()),
                (&JobState::Pending, "Resources"),
                "{version}"
            );
            assert_eq!(jobs(jobs_text, Some("oef-ab-7")).expect(version).len(), 1, "{version}");
            let others = others(jobs_text, Some("gpu")).expect(version);
            assert_eq!(
                (others[0].shown.as_str(), others[0].submitted.as_str()),
                ("2_1", "1794822645"),
                "{version}"
            );
            assert_eq!(
                (others[0].account.as_str(), others[0].user.as_str()),
                ("vision", "ada"),
                "{version}"
            );
            assert_eq!(
                others[0].gpus,
                [("".to_string(), 4), ("rtx3090".to_string(), 4)],
                "{version}"
            );
            assert_eq!(others[1].gpus, [("".to_string(), 1)], "{version}: what it asks for");
            let rows = nodes(nodes_text, Some("gpu"), None).expect(version);
            let shown: Vec<(&str, &str)> =
                rows.iter().map(|row| (row.name.as_str(), row.state.as_str())).collect();
            assert_eq!(shown, [("n4", "idle+drain"), ("n5", "mixed")], "{version}");
            assert_eq!(
                (rows[0].reason.as_str(), rows[0].by.as_str()),
                ("a fan", "root"),
                "{version}"
            );
            assert_eq!(
                (&rows[1].gpus, &rows[1].used),
                (&vec![("rtx3090".into(), 4)], &vec![("rtx3090".into(), 2)]),
                "{version}"
            );
            assert_eq!(
                nodes(nodes_text, None, Some("n[5-6]")).expect(version).len(),
                1,
                "{version}"
            );
        }
    }

    #[test]
    fn what_has_another_shape_is_an_error_and_not_an_empty_cluster() {
        let texts = [
            "",
            "{}",
            "not JSON",
            r#"{"jobs": {}, "nodes": {}}"#,
            r#"{"jobs": [{"job_id": "x", "job_state": ["RUNNING"]}], "nodes": [{"name": "n1", "state": 7}]}"#,
            r#"{"jobs": [{"job_id": 7, "job_state": {}}], "nodes": [{"name": "n1", "state": "idle", "gres": "gpu:a:many"}]}"#,
        ];
        for text in texts {
            assert!(jobs(text, None).is_err(), "{text}");
            assert!(others(text, None).is_err(), "{text}");
            assert!(nodes(text, None, None).is_err(), "{text}");
        }
        assert!(is_grouped(r#"{"meta": {}, "sinfo": [{"node": {"state": ["IDLE"]}}]}"#));
        assert!(!is_grouped(r#"{"nodes": []}"#));
    }
}
