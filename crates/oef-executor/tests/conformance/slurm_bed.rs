//! A real Slurm: two of its nodes.

use crate::bed::{Bed, Does, NodeFault, Seen};
use crate::common::{PROGRAM, kill, with_variable, write_program};
use crate::slurm_lab::{Pair, pairs};
use oef_executor::slurm::{Slurm, SlurmConfig, SlurmExecutor};
use oef_executor::{DeviceId, Executor, Launch, Program};
use oef_sched::{Generation, JobId};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct SlurmBed {
    pair: Pair,
    folder: PathBuf,
}

impl SlurmBed {
    pub fn new() -> SlurmBed {
        let pair = pairs().take();
        let folder = tempfile::Builder::new().prefix("bed-").tempdir_in(&pair.lab.dir);
        SlurmBed { pair, folder: folder.expect("a folder").keep() }
    }

    fn config(&self) -> SlurmConfig {
        let slurm = Slurm {
            conf: Some(self.pair.lab.conf()),
            bin_dir: Some(programs_that_may_hang(&self.folder)),
            limit: Duration::from_secs(20),
            ..Slurm::default()
        };
        let (dir, runner) = (self.folder.join("state"), vec![PROGRAM.into(), "runner".into()]);
        let plain = SlurmConfig::new(dir, runner, slurm, Some("gpu".into()));
        let nodes = Some(self.pair.nodes().join(","));
        SlurmConfig { nodes, poll: Duration::from_millis(200), ..plain }
    }

    fn slurm(&self, program: &str, args: &[&str]) -> String {
        self.pair.lab.call(program, args)
    }
}

impl Bed for SlurmBed {
    fn open(&mut self) -> Box<dyn Executor> {
        Box::new(SlurmExecutor::open(self.config()).expect("an executor"))
    }

    fn nodes(&self) -> Vec<(String, Vec<DeviceId>)> {
        let ids = |node: &str| (0..2).map(|index| DeviceId(format!("{node}:{index}"))).collect();
        let mut nodes: Vec<_> = self.pair.nodes().map(|node| (node.clone(), ids(&node))).to_vec();
        nodes.sort();
        nodes
    }

    fn program(&self, does: Does) -> Program {
        let ends = match does {
            Does::Finish => "exit 0".to_string(),
            Does::Fail(code) => format!("exit {code}"),
            Does::Run => "while :; do sleep 0.02; done".to_string(),
        };
        let folder = self.folder.display();
        let script = format!(
            "trap 'exit 75' TERM; [ $RANK = 0 ] && echo x >> {folder}/runs-$OEF_JOB_ID; \
             echo $RANK $SLURMD_NODENAME $MASTER_ADDR >> {folder}/seen-$OEF_JOB_ID; {ends}"
        );
        Program::Script(script.into_bytes())
    }

    fn hang(&self, launch: &mut Launch) {
        fs::write(self.folder.join(format!("hang-{}", launch.job)), "").expect("written");
    }

    fn runs(&self, job: JobId) -> u32 {
        let lines = fs::read_to_string(self.folder.join(format!("runs-{job}"))).unwrap_or_default();
        u32::try_from(lines.lines().count()).expect("few")
    }

    fn seen(&self, job: JobId) -> BTreeMap<u32, Seen> {
        let text = fs::read_to_string(self.folder.join(format!("seen-{job}"))).expect("they ran");
        let seen = text.lines().map(|line| {
            let [rank, node, master_addr] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("a worker knows all three: {line}");
            };
            let seen = Seen { node: node.into(), master_addr: master_addr.into() };
            (rank.parse().expect("a rank"), seen)
        });
        seen.collect()
    }

    fn address(&self, node: &str) -> String {
        let shown = self.slurm("scontrol", &["--oneliner", "show", "node", node]);
        let address = shown.split(' ').find_map(|word| word.strip_prefix("NodeAddr="));
        address.unwrap_or_else(|| panic!("an address: {shown}")).into()
    }

    fn is_running(&self, job: JobId) -> bool {
        let folder = self.folder.join("state/runs").join(job.to_string());
        let starts = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut variables = starts.map(|start| format!("OEF_RUN_DIR={}", start.path().display()));
        variables.any(|variable| !with_variable(&variable).is_empty())
    }

    fn kill(&self, job: JobId, generation: Generation) {
        let folder = self.folder.join(format!("state/runs/{job}/{generation}"));
        let found = with_variable(&format!("OEF_RUNNER_DIR={}", folder.display()));
        found.iter().for_each(|pid| kill(*pid, Signal::KILL));
    }

    fn disturb(&self, fault: &NodeFault) {
        let update = |node: &str, words: &[&str]| {
            let node = format!("NodeName={node}");
            self.slurm("scontrol", &[&["update", &node][..], words].concat());
        };
        match fault {
            NodeFault::Leaves(node) => {
                let all = with_variable(&format!("SLURMD_NODENAME={node}"));
                let conf = format!("SLURM_CONF={}", self.pair.lab.conf().display());
                let here = with_variable(&conf);
                let meant = all.iter().filter(|pid| here.contains(pid));
                meant.for_each(|pid| kill(*pid, Signal::KILL));
                update(node, &["State=DOWN", "Reason=unplugged"]);
            }
            NodeFault::Joins(node) => update(node, &["State=RESUME"]),
            NodeFault::Used(node, devices) => {
                let count = format!("--gres=gpu:{}", devices.len());
                let options =
                    ["-p", "gpu", "-w", node, &count, "-o", "/dev/null", "--wrap", "sleep 600"];
                self.slurm("sbatch", &options);
            }
            NodeFault::Drained(node) => update(node, &["State=DRAIN", "Reason=a fan is broken"]),
        }
    }
}

/// A wrapper of sbatch that hangs for jobs whose file `hang-NUMBER` lies in a folder; other programs as they are.
fn programs_that_may_hang(folder: &Path) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("made");
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do case $word in --job-name=*) job=${{word##*-}}; \
         [ ! -e {0}/hang-$job ] || exec sleep 1000;; esac; done\nexec sbatch \"$@\"\n",
        folder.display()
    );
    write_program(&bin.join("sbatch"), &script);
    for program in ["squeue", "sinfo", "scancel", "srun", "scontrol", "sacct", "sacctmgr"] {
        write_program(&bin.join(program), &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
    }
    bin
}
