//! Looking at a cluster: what works for OEF, what is missing, and the lines to add. Nothing is touched.

use super::cluster::{GpuNode, NodeState, nodes_of};
use super::command::{Slurm, SlurmError};
use super::survey::rows;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was looked at, and what came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it stands.
    pub verdict: CheckStatus,
    /// In words.
    pub what: String,
    /// Lines to add, each with its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Advice,
    /// Something does not work without it.
    Missing,
}

/// The grace time of jobs where nobody says otherwise.
const GRACE_S: u64 = 30;

/// Looks at everything, as far as it answers.
pub fn examine(slurm: &Slurm, partition: Option<&str>) -> Vec<Check> {
    let mut checks = vec![programs(slurm)];
    if checks[0].verdict == CheckStatus::Missing {
        return checks;
    }
    let config = match slurm.show_config() {
        Ok(text) => settings(&text),
        Err(error) => {
            checks.push(missing("controller", error.to_string(), &[]));
            return checks;
        }
    };
    let version = config.get("SLURM_VERSION").cloned().unwrap_or_default();
    checks.push(good("controller", format!("answers, version {version}")));
    checks.push(versions(slurm, &version));
    checks.extend(nodes(slurm, partition));
    checks.push(match slurm.jobs(None) {
        Ok(jobs) => good("jobs", format!("{} are listed", jobs.len())),
        Err(error) => missing("jobs", error.to_string(), &[]),
    });
    checks.push(submitting(slurm, partition));
    checks.extend(configured(&config));
    checks.push(as_whom(&config));
    checks
}

fn check(name: &'static str, verdict: CheckStatus, what: String, lines: &[String]) -> Check {
    Check { name, verdict, what, lines: lines.to_vec() }
}

fn good(name: &'static str, what: impl Into<String>) -> Check {
    check(name, CheckStatus::Good, what.into(), &[])
}

fn advice(name: &'static str, what: impl Into<String>, lines: &[String]) -> Check {
    check(name, CheckStatus::Advice, what.into(), lines)
}

fn missing(name: &'static str, what: impl Into<String>, lines: &[String]) -> Check {
    check(name, CheckStatus::Missing, what.into(), lines)
}

fn programs(slurm: &Slurm) -> Check {
    let needed = ["sinfo", "squeue", "sbatch", "scancel", "srun", "scontrol"];
    let is_missing = |program: &&&str| {
        matches!(slurm.call(program, &["--version"]), Err(SlurmError::Missing { .. }))
    };
    let gone: Vec<&str> = needed.iter().filter(is_missing).copied().collect();
    match gone[..] {
        [] => good("commands", "Slurm's commands are here"),
        _ => missing(
            "commands",
            format!(
                "not here: {}; install Slurm's client commands, or set [slurm] bin_dir",
                gone.join(", ")
            ),
            &[],
        ),
    }
}

/// The versions of commands, controller and nodes. Slurm's parts understand each other across two major versions.
fn versions(slurm: &Slurm, controller: &str) -> Check {
    let commands = slurm.call("sinfo", &["--version"]).unwrap_or_default();
    let commands = commands.split_whitespace().last().unwrap_or_default();
    let on_nodes = slurm.call("sinfo", &["--noheader", "--Node", "--format=%v %N"]);
    let on_nodes = on_nodes.unwrap_or_default();
    let mut parts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    parts.entry(controller).or_default().insert("slurmctld");
    parts.entry(commands).or_default().insert("commands here");
    for (version, node) in on_nodes.lines().filter_map(|line| line.trim().split_once(' ')) {
        parts.entry(version).or_default().insert(node.trim());
    }
    // A node that is away has none.
    parts.retain(|version, _| version.starts_with(|first: char| first.is_ascii_digit()));
    let major = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    let majors: BTreeSet<String> = parts.keys().map(|version| major(version)).collect();
    if majors.len() < 2 {
        return good("versions", majors.into_iter().next().unwrap_or_else(|| "unknown".into()));
    }
    let name = |(version, of): (&&str, &BTreeSet<&str>)| {
        let shown: Vec<&str> = of.iter().copied().take(3).collect();
        let more = if of.len() > 3 { ", ..." } else { "" };
        format!("{version} ({}{more})", shown.join(", "))
    };
    let shown: Vec<String> = parts.iter().map(name).collect();
    let what = format!(
        "mixed: {}; Slurm supports parts that are at most two major versions apart, so upgrade the older ones",
        shown.join(", ")
    );
    advice("versions", what, &[])
}

fn nodes(slurm: &Slurm, partition: Option<&str>) -> Vec<Check> {
    let rows = match rows(slurm, partition, None) {
        Ok(rows) => rows,
        Err(error) => return vec![missing("nodes", error.to_string(), &[])],
    };
    if let Some(name) = partition.filter(|_| rows.is_empty()) {
        let what =
            format!("there is no partition `{name}`, or it has no nodes; `sinfo -o %P` lists them");
        return vec![missing("partition", what, &[])];
    }
    let nodes: Vec<GpuNode> = nodes_of(&rows).into_values().collect();
    if nodes.is_empty() {
        let lines = [
            "slurm.conf: GresTypes=gpu".to_string(),
            "slurm.conf: NodeName=... Gres=gpu:TYPE:COUNT".to_string(),
            "gres.conf: AutoDetect=nvml".to_string(),
        ];
        return vec![missing("gpus", "no node has GPUs that Slurm knows", &lines)];
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for node in &nodes {
        *counts.entry(node.gpu_type()).or_default() += node.gpus;
    }
    let shown: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let mut checks = vec![good("gpus", format!("{} on {} nodes", shown.join(", "), nodes.len()))];
    let untyped: BTreeSet<&str> = nodes
        .iter()
        .filter(|node| node.slurm_type.is_none())
        .map(|node| node.node.as_str())
        .collect();
    if !untyped.is_empty() {
        let names = untyped.iter().copied().collect::<Vec<_>>().join(",");
        let line = format!("slurm.conf: NodeName={names} Gres=gpu:TYPE:COUNT");
        checks.push(advice(
            "gpu types",
            "some GPUs have no type, and all count as one kind",
            &[line],
        ));
    }
    let off: Vec<String> = nodes
        .iter()
        .filter_map(|node| match &node.state {
            NodeState::Up => None,
            NodeState::Drained(why) | NodeState::Silent(why) | NodeState::Down(why) => {
                Some(format!("{} ({why})", node.node))
            }
        })
        .collect();
    if !off.is_empty() {
        checks.push(advice("health", format!("no capacity now: {}", off.join(", ")), &[]));
    }
    checks
}

fn submitting(slurm: &Slurm, partition: Option<&str>) -> Check {
    let mut args: Vec<String> =
        ["--test-only", "--wrap=true", "--nodes=1"].map(String::from).to_vec();
    args.extend(partition.map(|name| format!("--partition={name}")));
    match slurm.call("sbatch", &args) {
        Ok(_) => good("submitting", "this user may submit"),
        Err(error) => missing("submitting", error.to_string(), &[]),
    }
}

fn configured(config: &BTreeMap<String, String>) -> Vec<Check> {
    let get = |name: &str| config.get(name).map_or("", String::as_str);
    let seconds = |name: &str| -> u64 {
        get(name).split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    let mut checks = Vec::new();
    match seconds("KillWait") {
        wait if wait < GRACE_S => checks.push(advice(
            "KillWait",
            format!("{wait} s: a job that is cancelled in Slurm has less than its {GRACE_S} s of grace; OEF's own preemption is not bound by it"),
            &[format!("slurm.conf: KillWait={GRACE_S}")],
        )),
        wait => checks.push(good("KillWait", format!("{wait} s"))),
    }
    let tracking = get("ProctrackType");
    checks.push(match tracking.ends_with("cgroup") {
        true => good("processes", tracking),
        false => advice(
            "processes",
            format!("{tracking} loses processes that leave their parents"),
            &["slurm.conf: ProctrackType=proctrack/cgroup".to_string()],
        ),
    });
    let scheduler = get("SchedulerType");
    checks.push(match scheduler.ends_with("backfill") {
        true => good("scheduler", scheduler),
        false => advice(
            "scheduler",
            format!("{scheduler} does not start gangs with unequal numbers of GPUs on their nodes"),
            &["slurm.conf: SchedulerType=sched/backfill".to_string()],
        ),
    });
    checks.push(accounting(get("AccountingStorageType"), get("AccountingStorageTRES")));
    checks
}

fn accounting(kind: &str, tres: &str) -> Check {
    if !kind.ends_with("slurmdbd") {
        let lines = ["slurm.conf: AccountingStorageType=accounting_storage/slurmdbd".to_string()];
        return advice(
            "accounting",
            "there is none: `oef slurm import`, `report` and `advise` need it; driving does not",
            &lines,
        );
    }
    match tres.contains("gres/gpu") {
        true => good("accounting", format!("slurmdbd counts {tres}")),
        false => advice(
            "accounting",
            "slurmdbd does not count GPUs: past jobs have none",
            &["slurm.conf: AccountingStorageTRES=gres/gpu,gres/gpu:TYPE,...".to_string()],
        ),
    }
}

fn as_whom(config: &BTreeMap<String, String>) -> Check {
    let uid = rustix::process::getuid();
    let own = super::users::user_name(uid.as_raw()).unwrap_or_else(|| uid.as_raw().to_string());
    let slurm_user = config.get("SlurmUser").map_or("", String::as_str);
    if uid.is_root() || slurm_user.starts_with(&format!("{own}(")) {
        return good(
            "users",
            format!("as `{own}`, jobs can run as their own users ([slurm] user_of)"),
        );
    }
    advice(
        "users",
        format!(
            "as `{own}`, all jobs would run as `{own}`; run the daemon as root to give tenants users of their own"
        ),
        &[],
    )
}

/// Lines of `NAME = VALUE`.
fn settings(text: &str) -> BTreeMap<String, String> {
    let pair = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_string(), value.trim().to_string()))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    /// A Slurm of scripts: what each program prints, with `@@` for the word of the call.
    fn scripted(folder: &Path, programs: &[(&str, &str)]) -> Slurm {
        for program in ["sinfo", "squeue", "sbatch", "scancel", "srun", "scontrol"] {
            let body =
                programs.iter().find(|(name, _)| *name == program).map_or("", |(_, body)| body);
            let text = format!(
                "#!/bin/sh\nfor word in \"$@\"; do case $word in *@*@*) mark=${{word#*@}}; mark=@${{mark%%@*}}@;; esac; done\n\
                 case \"$*\" in --version) echo slurm-wlm 22.05.8; exit;; esac\nsay() {{ printf '%s\\n' \"$1\" | sed \"s/@@/$mark/g\"; }}\n{body}\n"
            );
            std::fs::write(folder.join(program), text).expect("written");
        }
        let mut chmod = Command::new("sh");
        chmod.arg("-c").arg(format!("chmod 755 '{}'/*", folder.display()));
        assert!(chmod.status().expect("sh").success());
        Slurm {
            bin_dir: Some(folder.into()),
            limit: Duration::from_secs(20),
            keep: Some(folder.into()),
            ..Slurm::default()
        }
    }

    const CONTROLLER: (&str, &str) =
        ("scontrol", "echo 'SLURM_VERSION = 22.05.8'; echo 'SlurmUser = slurm(64030)'");
    const NODES: &str = "case \"$*\" in *%v*) echo '22.05.8 n1';; *) say 'n1@@idle@@gpu:a:4@@gpu:a:0@@n1@@none@@Unknown@@';; esac";

    fn found(programs: &[(&str, &str)], name: &str) -> Check {
        let folder = tempfile::tempdir().expect("a folder");
        let mut all = vec![CONTROLLER];
        all.extend(programs);
        let checks = examine(&scripted(folder.path(), &all), Some("gpu"));
        checks
            .iter()
            .find(|check| check.name == name)
            .unwrap_or_else(|| panic!("{checks:?}"))
            .clone()
    }

    #[test]
    fn bad_luck_is_named_with_the_way_out() {
        let sound = found(&[("sinfo", NODES)], "gpus");
        assert_eq!((sound.verdict, sound.what.as_str()), (CheckStatus::Good, "4 a on 1 nodes"));
        assert_eq!(found(&[("sinfo", NODES)], "versions").verdict, CheckStatus::Good);
        let untyped = "say 'n1@@idle@@gpu:4@@gpu:0@@n1@@none@@Unknown@@'";
        let check = found(&[("sinfo", untyped)], "gpu types");
        assert_eq!(check.lines, ["slurm.conf: NodeName=n1 Gres=gpu:TYPE:COUNT"]);
        let none =
            found(&[("sinfo", "say 'n1@@idle@@(null)@@(null)@@n1@@none@@Unknown@@'")], "gpus");
        assert_eq!((none.verdict, none.lines.len()), (CheckStatus::Missing, 3));
        let unknown = found(&[], "partition");
        assert!(unknown.what.contains("there is no partition `gpu`"), "{}", unknown.what);
        let denied = "echo 'sbatch: error: Batch job submission failed: User'\\''s group not permitted to use this partition' >&2; exit 1";
        let check = found(&[("sinfo", NODES), ("sbatch", denied)], "submitting");
        assert!(
            check.verdict == CheckStatus::Missing && check.what.contains("AllowGroups"),
            "{}",
            check.what
        );
        let mixed = NODES.replace("22.05.8 n1", "20.11.9 n1");
        let check = found(&[("sinfo", &mixed)], "versions");
        assert_eq!(check.verdict, CheckStatus::Advice);
        assert!(
            check.what.contains("20.11.9 (n1)") && check.what.contains("slurmctld"),
            "{}",
            check.what
        );
    }

    #[test]
    fn replies_that_nobody_can_read_are_kept_and_nothing_follows_from_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let strange = [CONTROLLER, ("sinfo", NODES), ("squeue", "say '@@|seventeen|RUNNING'")];
        let slurm = scripted(folder.path(), &strange);
        let error = slurm.jobs(None).expect_err("unreadable");
        assert!(error.to_string().contains("nothing was decided from it"), "{error}");
        let kept = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("kept");
        assert!(kept("unreadable-squeue.txt").contains("seventeen"));
        assert!(kept("unreadable-squeue-json.txt").contains("seventeen"), "both forms were tried");
        // Where the other form can be read, that is enough; whichever comes first.
        let json = include_str!("recorded/jobs-24.05.json").replace('\'', "'\\''");
        let body =
            format!("case \"$*\" in *--json*) printf '%s' '{json}';; *) echo 'a new form';; esac");
        let slurm = scripted(folder.path(), &[("squeue", &body)]);
        assert_eq!(slurm.jobs(None).map(|jobs| jobs.len()), Ok(2));
        let text = "case \"$*\" in *--json*) echo \"squeue: unrecognized option '--json'\" >&2; exit 1;; esac\nsay '@@|4|RUNNING|0|n1|gres:gpu:1|None|a|b'";
        let slurm = Slurm {
            form: super::super::Form::Json,
            ..scripted(folder.path(), &[("squeue", text)])
        };
        assert_eq!(slurm.jobs(None).map(|jobs| jobs.len()), Ok(1));
    }

    #[test]
    fn settings_give_advice_with_lines() {
        let text = "KillWait                = 5 sec\nProctrackType           = proctrack/pgid\n\
                    SchedulerType           = sched/builtin\nAccountingStorageType   = accounting_storage/none\n";
        let checks = configured(&settings(text));
        assert!(checks.iter().all(|check| check.verdict == CheckStatus::Advice), "{checks:?}");
        assert_eq!(checks[0].lines, ["slurm.conf: KillWait=30"]);
        let text = "KillWait = 60 sec\nProctrackType = proctrack/cgroup\nSchedulerType = sched/backfill\n\
                    AccountingStorageType = accounting_storage/slurmdbd\nAccountingStorageTRES = cpu,gres/gpu\n";
        let checks = configured(&settings(text));
        assert!(checks.iter().all(|check| check.verdict == CheckStatus::Good), "{checks:?}");
    }
}
