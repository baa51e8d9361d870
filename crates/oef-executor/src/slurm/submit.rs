//! From a start to the arguments of sbatch, and the script that Slurm runs. Pure.

use super::hosts::join;
use super::settings::Submit;
use super::spec::{HostPart, Part, SlurmSpec};
use crate::processes::RUNNER_DIR;
use crate::records::{RunFolder, RunSpec};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Slurm ends jobs at their time limit. The runner is told so long before, beyond the job's grace time, so that the
/// work is saved and goes on under another lease.
const BEFORE_LIMIT_S: u64 = 30;

/// Where one worker of a start runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkerPlace {
    pub(super) node: String,
    pub(super) gpu_type: Option<String>,
    pub(super) host: String,
}

/// The parts of a start whose workers are there.
pub(super) fn parts(workers: &[WorkerPlace]) -> (Vec<Part>, BTreeMap<String, HostPart>) {
    let mut counts: Vec<(&WorkerPlace, u32)> = Vec::new();
    for worker in workers {
        match counts.iter_mut().find(|(known, _)| known.host == worker.host) {
            Some((_, count)) => *count += 1,
            None => counts.push((worker, 1)),
        }
    }
    let (mut parts, mut places): (Vec<Part>, BTreeMap<String, HostPart>) = Default::default();
    for (WorkerPlace { node, gpu_type, host }, gpus) in counts {
        let is_same = |part: &Part| {
            part.gpu_type == *gpu_type && part.gpus == gpus && !part.nodes.contains(node)
        };
        let at = parts.iter().position(is_same).unwrap_or_else(|| {
            parts.push(Part { nodes: Vec::new(), gpu_type: gpu_type.clone(), gpus });
            parts.len() - 1
        });
        parts[at].nodes.push(node.clone());
        let part = u32::try_from(at).unwrap_or(u32::MAX);
        places.insert(host.clone(), HostPart { node: node.clone(), part });
    }
    (parts, places)
}

/// The options of sbatch that settings ask for.
pub(super) fn options(submit: &Submit) -> Vec<String> {
    let mut options = Vec::new();
    for (name, value) in
        [("partition", &submit.partition), ("qos", &submit.qos), ("account", &submit.account)]
    {
        options.extend(value.as_ref().map(|value| format!("--{name}={value}")));
    }
    options.extend(submit.options.iter().cloned());
    options
}

/// The lines of shell that settings ask for.
pub(super) fn lines(submit: &Submit) -> Vec<String> {
    let mut lines = Vec::new();
    if !submit.modules.is_empty() {
        // A batch script is no login shell: the function may not be there yet.
        lines.push(
            "command -v module >/dev/null || for f in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh; do [ ! -r $f ] || . $f; done"
                .to_string(),
        );
    }
    lines.extend(submit.modules.iter().map(|module| format!("module load {}", quote(module))));
    lines.extend(submit.prolog.iter().cloned());
    lines
}

/// The arguments of sbatch.
pub(super) fn arguments(spec: &RunSpec, slurm: &SlurmSpec, run: &RunFolder) -> Vec<OsString> {
    let signal = format!("--signal=B:TERM@{}", spec.grace.0.div_ceil(1000) + BEFORE_LIMIT_S);
    let mut words: Vec<OsString> = vec!["--parsable".into()];
    let mut add = |word: String| words.push(word.into());
    for (at, part) in slurm.parts.iter().enumerate() {
        if at > 0 {
            add(":".to_string());
        }
        add(format!("--job-name={}", slurm.name));
        add(format!("--comment={}", slurm.comment));
        add("--no-requeue".to_string());
        add(format!("--nodes={}", part.nodes.len()));
        add(format!("--nodelist={}", join(&part.nodes)));
        add(format!("--ntasks-per-node={}", part.gpus));
        let gpu_type = part.gpu_type.as_ref().map(|name| format!("{name}:")).unwrap_or_default();
        add(format!("--gres=gpu:{gpu_type}{}", part.gpus));
        // In a job of several parts each part would wait for the others.
        if slurm.parts.len() == 1 {
            add("--dependency=singleton".to_string());
        }
        add(signal.clone());
        slurm.options.iter().for_each(|option| add(option.clone()));
        if at == 0 {
            add("--chdir=/".to_string());
            add("--export=ALL".to_string());
            add("--open-mode=append".to_string());
            add(format!("--output={}", pattern(&run.runner_log())));
            slurm.user.iter().for_each(|user| add(format!("--uid={user}")));
        }
    }
    words.push(script_file(run).into());
    words
}

/// The arguments of sbatch for a job that removes folders on a node, as the user whose they are.
pub(super) fn cleaning(
    tag: &str,
    slurm: &SlurmSpec,
    node: &str,
    folders: &[PathBuf],
) -> Vec<String> {
    let kept = ["--partition=", "--qos=", "--account="];
    let is_kept = |option: &&String| kept.iter().any(|name| option.starts_with(name));
    let mut words = vec![format!("--job-name=oef-{tag}-clean"), format!("--nodelist={node}")];
    words.extend(["--nodes=1", "--ntasks=1", "--no-requeue", "--time=30"].map(String::from));
    words.extend(["--chdir=/", "--output=/dev/null"].map(String::from));
    words.extend(slurm.options.iter().filter(is_kept).cloned());
    words.extend(slurm.user.iter().map(|user| format!("--uid={user}")));
    let quoted = folders.iter().map(|folder| quote(&folder.display().to_string()));
    words.push(format!("--wrap=rm -rf -- {}", quoted.collect::<Vec<_>>().join(" ")));
    words
}

/// A path for sbatch, which replaces `%` and what follows.
fn pattern(path: &Path) -> String {
    path.display().to_string().replace('%', "%%")
}

/// Where the script of a start lies.
pub(super) fn script_file(run: &RunFolder) -> PathBuf {
    run.path().join("batch.sh")
}

/// The script that Slurm runs on the first node: it becomes the runner.
pub(super) fn script(
    spec: &RunSpec,
    slurm: &SlurmSpec,
    run: &RunFolder,
    runner: &[OsString],
) -> String {
    let shell = if slurm.lines.is_empty() { "#!/bin/sh" } else { "#!/bin/bash" };
    let mut text = format!("{shell}\n# OEF job {}, lease {}\n", spec.job, spec.generation);
    // Those of the daemon came with sbatch.
    text += "export USER=$(id -un) LOGNAME=$(id -un)\n";
    text += "export HOME=$(getent passwd \"$USER\" | cut -d: -f6)\n";
    for line in &slurm.lines {
        text += line;
        text.push('\n');
    }
    let folder = quote(&run.path().display().to_string());
    text += &format!("export {RUNNER_DIR}={folder}\n");
    let words: Vec<String> = runner.iter().map(|word| quote(&word.to_string_lossy())).collect();
    // The runner and not a shell gets the signals.
    text += &format!("exec {} --session {folder}\n", words.join(" "));
    text
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(node: &str, gpu_type: &str) -> WorkerPlace {
        WorkerPlace { node: node.into(), gpu_type: Some(gpu_type.into()), host: node.into() }
    }

    #[test]
    fn even_gangs_are_one_part_and_uneven_ones_several() {
        let (parts_of, places) =
            parts(&[worker("n1", "a"), worker("n2", "a"), worker("n1", "a"), worker("n2", "a")]);
        assert_eq!(parts_of.len(), 1);
        assert_eq!(
            (parts_of[0].nodes.clone(), parts_of[0].gpus),
            (vec!["n1".into(), "n2".into()], 2)
        );
        assert_eq!(places["n2"].part, 0);
        let (parts_of, places) =
            parts(&[worker("n1", "a"), worker("n1", "a"), worker("n2", "a"), worker("n3", "b")]);
        let shown: Vec<(usize, u32)> =
            parts_of.iter().map(|part| (part.nodes.len(), part.gpus)).collect();
        assert_eq!(shown, [(1, 2), (1, 1), (1, 1)]);
        assert_eq!((places["n1"].part, places["n3"].part), (0, 2));
    }

    #[test]
    fn copies_are_removed_where_they_are_by_whose_they_are() {
        let slurm = SlurmSpec {
            user: Some("ada".into()),
            options: ["--partition=gpu", "--mem-per-gpu=16G", "--account=vision"]
                .map(String::from)
                .to_vec(),
            ..SlurmSpec::default()
        };
        let words = cleaning("ab", &slurm, "n3", &["/local/7".into(), "/local/it's".into()]);
        assert!(
            ["--nodelist=n3", "--partition=gpu", "--account=vision", "--uid=ada"]
                .iter()
                .all(|word| words.contains(&word.to_string()))
        );
        assert!(!words.iter().any(|word| word.contains("gpu=16G")), "it asks for no GPU");
        assert_eq!(
            words.last().map(String::as_str),
            Some("--wrap=rm -rf -- '/local/7' '/local/it'\\''s'")
        );
    }

    #[test]
    fn words_are_quoted() {
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(pattern(Path::new("/a%b")), "/a%%b");
    }
}
