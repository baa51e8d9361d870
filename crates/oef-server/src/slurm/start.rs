//! What is looked at before a daemon starts on a Slurm cluster.

use super::settings::{Depth, SlurmSettings};
use crate::config::Config;
use crate::run_error::RunError;
use crate::serve::Talk;
use oef_executor::Executor;
use oef_executor::slurm::{
    GpuNode, ObserverConfig, SlurmConfig, SlurmExecutor, SlurmObserver, gpu_nodes, user_name,
};
use oef_report::format::counted;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Opens the executor; gives what to say of its GPUs.
pub(crate) fn executor(
    config: &Config,
    state_dir: &Path,
    runner: Vec<OsString>,
    talk: &Talk,
) -> Result<(Arc<dyn Executor>, String), RunError> {
    let settings = &config.slurm;
    let gpus = look(settings, talk)?;
    if settings.depth != Depth::Drive {
        talk(match settings.depth {
            Depth::Advise => {
                "OEF advises: it starts no jobs, and keeps GPU limits or weights of accounts at what it grants"
            }
            _ => "OEF observes: it reads what Slurm does, and touches nothing",
        });
        let observer = SlurmObserver::open(ObserverConfig {
            dir: state_dir.into(),
            slurm: settings.slurm(),
            partition: settings.partition.clone(),
            nodes: settings.nodes.clone(),
            poll: settings.poll.0,
            rules: settings.rules(),
        })?;
        return Ok((Arc::new(observer), gpus));
    }
    talk(&whose_jobs(settings));
    let executor = SlurmExecutor::open(SlurmConfig {
        dir: state_dir.into(),
        runner,
        checkpoints: config.checkpoints.clone(),
        slurm: settings.slurm(),
        partition: settings.partition.clone(),
        nodes: settings.nodes.clone(),
        poll: settings.poll.0,
        rules: settings.rules(),
    })?;
    Ok((Arc::new(executor), gpus))
}

/// The GPUs in words. A Slurm that does not answer now may do so later: then running jobs are found again.
fn look(settings: &SlurmSettings, talk: &Talk) -> Result<String, RunError> {
    let slurm = settings.slurm();
    let nodes = gpu_nodes(&slurm, settings.partition.as_deref(), settings.nodes.as_deref());
    match nodes {
        Ok(nodes) if nodes.is_empty() => {
            Err(RunError::SlurmWithoutGpus(settings.partition.clone()))
        }
        Ok(nodes) => {
            let nodes: Vec<&GpuNode> = nodes.values().collect();
            if nodes.iter().any(|node| node.slurm_type.is_none()) {
                talk(
                    "some nodes have GPUs without a type, which count as type `gpu`; write Gres=gpu:TYPE:COUNT into slurm.conf to tell them apart",
                );
            }
            Ok(in_words(&nodes))
        }
        Err(error) if error.is_outage() => {
            talk(&format!("{error}; going on, and waiting for it"));
            Ok("the GPUs of a Slurm that does not answer yet".to_string())
        }
        Err(error) => Err(RunError::Slurm(error)),
    }
}

/// `8 rtx3070, 8 rtx3080 on 4 nodes of Slurm`.
fn in_words(nodes: &[&GpuNode]) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for node in nodes {
        *counts.entry(node.gpu_type()).or_default() += node.gpus;
    }
    let shown: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    format!("{} on {} of Slurm", shown.join(", "), counted(nodes.len(), "node"))
}

/// The user that jobs run as, so that the welcome says it.
fn whose_jobs(settings: &SlurmSettings) -> String {
    let uid = rustix::process::getuid().as_raw();
    let own = user_name(uid).unwrap_or_else(|| format!("uid {uid}"));
    match (&settings.user_of, settings.users.is_empty(), uid) {
        (None, true, _) => format!(
            "all jobs run as `{own}`, the user of the daemon; [slurm] user_of gives tenants users of their own"
        ),
        (_, _, 0) => "jobs run as the Unix users of their tenants ([slurm] user_of)".to_string(),
        _ => format!(
            "[slurm] user_of needs a daemon that runs as root; as `{own}` it can start only jobs of `{own}`"
        ),
    }
}
