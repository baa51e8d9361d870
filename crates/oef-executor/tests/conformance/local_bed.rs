//! Processes on this machine.

use crate::bed::{Bed, Does};
use crate::common::{config_in, gpus, kill, with_variable, write_program};
use oef_executor::local::{LocalConfig, LocalExecutor};
use oef_executor::{Device, DeviceId, Executor, Launch, Program};
use oef_sched::{Generation, JobId};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub struct LocalBed {
    folder: TempDir,
}

impl LocalBed {
    pub fn new() -> LocalBed {
        LocalBed { folder: tempfile::tempdir().expect("a folder") }
    }

    fn devices(&self) -> Vec<Device> {
        [gpus("a-0", 2), gpus("b-0", 2)].concat()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("there").join(name)
    }
}

impl Bed for LocalBed {
    fn open(&mut self) -> Box<dyn Executor> {
        let config = LocalConfig { devices: self.devices(), ..config_in(&self.path(".")) };
        Box::new(LocalExecutor::open(config).expect("an executor"))
    }

    fn nodes(&self) -> Vec<(String, Vec<DeviceId>)> {
        let ids = |host: &str| gpus(host, 2).iter().map(Device::id).collect();
        ["a-0", "b-0"].map(|host| (host.to_string(), ids(host))).to_vec()
    }

    fn program(&self, does: Does) -> Program {
        let ends = match does {
            Does::Finish => "exit 0".to_string(),
            Does::Fail(code) => format!("exit {code}"),
            Does::Run => "while :; do sleep 0.02; done".to_string(),
        };
        let runs = self.path("runs");
        let script = format!(
            "trap 'exit 75' TERM; [ $RANK = 0 ] && echo x >> {}-$OEF_JOB_ID; {ends}",
            runs.display()
        );
        Program::Script(script.into_bytes())
    }

    fn hang(&self, launch: &mut Launch) {
        let python = self.path("python3");
        let text = "#!/bin/sh\ncase \"$*\" in *oef.launcher*) exec sleep 1000;; esac\n";
        write_program(&python, text);
        launch.program = crate::common::command_of(&[python.display().to_string(), "x.py".into()]);
        launch.warm = vec!["torch".into()];
    }

    fn runs(&self, job: JobId) -> u32 {
        let lines = fs::read_to_string(self.path(&format!("runs-{job}"))).unwrap_or_default();
        u32::try_from(lines.lines().count()).expect("few")
    }

    fn is_running(&self, job: JobId) -> bool {
        !with_variable(&format!("OEF_JOB_ID={job}")).is_empty() && {
            let folder = self.path("state/runs").join(job.to_string());
            let starts = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut variables =
                starts.map(|start| format!("OEF_RUN_DIR={}", start.path().display()));
            variables.any(|variable| !with_variable(&variable).is_empty())
        }
    }

    fn kill(&self, job: JobId, generation: Generation) {
        let folder = self.path(&format!("state/runs/{job}/{generation}"));
        let found = with_variable(&format!("OEF_RUNNER_DIR={}", folder.display()));
        found.iter().for_each(|pid| kill(*pid, Signal::KILL));
    }
}
