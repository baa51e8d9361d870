//! What goes wrong on a cluster, on a real Slurm: no job is lost, none runs twice at the same time, and whoever asks is
//! told why.

mod common;
mod slurm_lab;

use common::{PROGRAM, with_variable};
use oef_executor::checkpoints::CheckpointConfig;
use oef_executor::slurm::{Rules, Slurm, SlurmConfig, SlurmExecutor, Submit};
use oef_executor::{
    Checkpoints, Cursor, DeviceId, Ending, Event, Executor, Known, Launch, LeaseEvent, NodeEvent,
    Order, Program, RunAs, StopSignal,
};
use oef_sched::{Generation, JobId, Span, Time};
use slurm_lab::Lab;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(90);

/// One cluster for all, and one test at a time: what is done to it is felt by everybody.
fn lab() -> (MutexGuard<'static, ()>, &'static Lab) {
    static LAB: OnceLock<Lab> = OnceLock::new();
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = [("LAB_ACCOUNTING", "0"), ("LAB_SLURMD_TIMEOUT", "6"), ("LAB_KILL_WAIT", "5")];
    (alone, LAB.get_or_init(|| Lab::up(&settings)))
}

struct World {
    lab: &'static Lab,
    folder: PathBuf,
    executor: SlurmExecutor,
    cursor: Cursor,
    heard: Vec<Event>,
    _alone: MutexGuard<'static, ()>,
}

impl World {
    fn new() -> World {
        let (alone, lab) = lab();
        let folder = tempfile::Builder::new().prefix("world-").tempdir_in(&lab.dir);
        let folder = folder.expect("a folder").keep();
        let executor = SlurmExecutor::open(SlurmConfig {
            dir: folder.join("state"),
            runner: vec![PROGRAM.into(), "runner".into()],
            checkpoints: CheckpointConfig::default(),
            slurm: Slurm { conf: Some(lab.conf()), bin_dir: None, limit: Duration::from_secs(30) },
            partition: Some("gpu".into()),
            nodes: None,
            poll: Duration::from_millis(250),
            rules: Rules {
                plain: Submit { partition: Some("gpu".into()), ..Submit::default() },
                ..Rules::default()
            },
        });
        let executor = executor.expect("an executor");
        executor.resume(Known::default()).expect("resumed");
        let (cursor, heard) = (Cursor(0), Vec::new());
        let mut world = World { lab, folder, executor, cursor, heard, _alone: alone };
        world.until("nodes", |world| world.heard.contains(&Event::NodesListed).then_some(()));
        world
    }

    /// Runs until it is told to stop, and says then that it saved its work.
    fn job(&self, id: u64, devices: &[&str]) -> Launch {
        let runs = self.folder.join("runs");
        let script = format!(
            "trap 'exit 75' TERM; [ $RANK = 0 ] && echo $OEF_GENERATION >> {}-$OEF_JOB_ID; \
             while [ ! -e {}/finish-$OEF_JOB_ID ]; do sleep 0.05; done",
            runs.display(),
            self.folder.display()
        );
        Launch {
            job: JobId(id),
            generation: Generation(1),
            tenant: "vision".into(),
            workload: "vgg16".into(),
            name: format!("job {id}"),
            program: Program::Script(script.into_bytes()),
            run_as: RunAs::Daemon,
            env: BTreeMap::new(),
            workdir: None,
            checkpoints: Checkpoints::default(),
            devices: devices.iter().map(|device| DeviceId(device.to_string())).collect(),
            restart: 0,
            finished: BTreeSet::new(),
            stop_signal: StopSignal::Term,
            grace: Span(20_000),
            max_run: None,
            until: Time(0),
            log_limit_bytes: 1 << 20,
            warm: Vec::new(),
            probe: None,
        }
    }

    fn start(&self, launch: &Launch) {
        self.executor.order(Order::Start(Box::new(launch.clone())));
    }

    fn stop(&self, launch: &Launch) {
        let (job, generation) = (launch.job, launch.generation);
        self.executor.order(Order::Stop { job, generation, why: "others are owed more".into() });
    }

    fn until<T>(&mut self, what: &str, find: impl Fn(&World) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = find(self) {
                return found;
            }
            assert!(began.elapsed() < DEADLINE, "no {what}; heard: {:#?}", self.heard);
            for (cursor, event) in self.executor.events(self.cursor, Duration::from_millis(20)) {
                self.cursor = cursor;
                self.heard.push(event);
            }
        }
    }

    fn told(&self, launch: &Launch) -> Vec<LeaseEvent> {
        let about = (launch.job, launch.generation);
        let of = |event: &Event| match event {
            Event::Lease { job, generation, event } if (*job, *generation) == about => {
                Some(event.clone())
            }
            _ => None,
        };
        self.heard.iter().filter_map(of).collect()
    }

    fn runs(&mut self, launch: &Launch, count: usize) {
        self.until("run", |world| (world.starts(launch.job) >= count).then_some(()));
    }

    /// How often its first worker was started.
    fn starts(&self, job: JobId) -> usize {
        let lines = fs::read_to_string(self.folder.join(format!("runs-{job}"))).unwrap_or_default();
        lines.lines().count()
    }

    fn ending(&mut self, launch: &Launch) -> Ending {
        let ending = self.until("ending", |world| {
            world.told(launch).into_iter().find_map(|event| match event {
                LeaseEvent::Ended { ending, .. } => Some(ending),
                _ => None,
            })
        });
        self.executor.order(Order::Acknowledge(self.cursor));
        ending
    }

    fn finish(&mut self, launch: &Launch) -> Ending {
        fs::write(self.folder.join(format!("finish-{}", launch.job)), "").expect("written");
        self.ending(launch)
    }

    fn is_running(&self, launch: &Launch) -> bool {
        let path = self.folder.join(format!("state/runs/{}/{}", launch.job, launch.generation));
        !with_variable(&format!("OEF_RUN_DIR={}", path.display())).is_empty()
    }

    fn node_word(&mut self, node: &str, is_meant: impl Fn(&NodeEvent) -> bool) -> NodeEvent {
        self.until(&format!("word of {node}"), |world| {
            let of = world.heard.iter().filter_map(|event| match event {
                Event::Node(event) => Some(event),
                _ => None,
            });
            of.filter(|event| is_meant(event)).last().cloned()
        })
    }

    fn slurm_id(&self, launch: &Launch) -> String {
        let path =
            self.folder.join(format!("state/runs/{}/{}/slurm.json", launch.job, launch.generation));
        let text = fs::read_to_string(path).expect("submitted");
        text.split("\"id\":").nth(1).expect("an id").trim_end_matches(['}', '\n']).to_string()
    }
}

fn next(launch: &Launch) -> Launch {
    let generation = Generation(launch.generation.0 + 1);
    Launch { generation, restart: launch.restart + 1, ..launch.clone() }
}

#[test]
fn a_node_daemon_that_comes_back_in_time_changes_nothing() {
    let mut world = World::new();
    let job = world.job(1, &["n1:0"]);
    world.start(&job);
    world.runs(&job, 1);
    world.lab.part(&["stop", "slurmd-n1", "KILL"]);
    world.lab.part(&["start", "slurmd-n1"]);
    world.stop(&job);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    assert_eq!(world.starts(job.job), 1);
}

#[test]
fn a_job_on_a_node_that_slurm_has_lost_is_fenced_before_it_goes_on_elsewhere() {
    let mut world = World::new();
    let job = world.job(1, &["n2:0"]);
    world.start(&job);
    world.runs(&job, 1);
    world.lab.part(&["stop", "slurmd-n2", "KILL"]);
    let ending = world.ending(&job);
    // Its process was still there, and has heard that it is to stop.
    assert!(matches!(ending, Ending::Checkpointed | Ending::Vanished { .. }), "{ending:?}");
    assert!(!world.is_running(&job), "it would run twice");
    let left = world
        .node_word("n2", |event| matches!(event, NodeEvent::Left { node, .. } if node == "n2"));
    assert!(matches!(left, NodeEvent::Left { reason, .. } if reason.contains("Slurm")));
    let mut again = next(&job);
    again.devices = vec![DeviceId("n3:0".into())];
    world.start(&again);
    world.runs(&again, 2);
    assert_eq!(world.finish(&again), Ending::Finished);
    world.lab.part(&["start", "slurmd-n2"]);
    world.node_word("n2", |event| matches!(event, NodeEvent::Joined { node, .. } if node == "n2"));
    assert_eq!(world.starts(job.job), 2);
}

#[test]
fn a_controller_that_is_away_for_a_while_delays_starts_and_ends_nothing() {
    let mut world = World::new();
    let (before, meanwhile) = (world.job(1, &["n1:0"]), world.job(2, &["n1:1"]));
    let ends = world.job(3, &["n1:2"]);
    for job in [&before, &ends] {
        world.start(job);
        world.runs(job, 1);
    }
    world.lab.part(&["stop", "slurmctld"]);
    world.start(&meanwhile);
    // What ends is told at once: its runner says so, and not Slurm.
    assert_eq!(world.finish(&ends), Ending::Finished);
    let waits =
        |event: &LeaseEvent| matches!(event, LeaseEvent::Preparing(why) if why.contains("waits"));
    world.until("word of the wait", |world| world.told(&meanwhile).iter().any(waits).then_some(()));
    world.lab.part(&["start", "slurmctld"]);
    world.runs(&meanwhile, 1);
    assert_eq!(world.finish(&meanwhile), Ending::Finished);
    assert_eq!(world.finish(&before), Ending::Finished);
    for job in [&before, &meanwhile, &ends] {
        assert_eq!(world.starts(job.job), 1);
    }
}

#[test]
fn submissions_that_a_killed_controller_forgets_are_made_again() {
    let mut world = World::new();
    let devices = ["n1:0", "n1:1", "n2:0", "n2:1", "n3:0", "n3:1", "n4:0", "n5:0"];
    let jobs: Vec<Launch> =
        (1..).zip(devices).map(|(id, device)| world.job(id, &[device])).collect();
    for job in &jobs {
        world.start(job);
    }
    let first = jobs[0].clone();
    world.until("a submission", |world| {
        let file = format!("state/runs/{}/1/slurm.json", first.job);
        world.folder.join(file).exists().then_some(())
    });
    world.lab.part(&["stop", "slurmctld", "KILL"]);
    world.lab.part(&["start", "slurmctld"]);
    for job in &jobs {
        world.runs(job, 1);
    }
    for job in &jobs {
        assert_eq!(world.finish(job), Ending::Finished, "{}", job.job);
        assert_eq!(world.starts(job.job), 1, "{}", job.job);
    }
}

#[test]
fn a_job_that_its_user_cancels_in_slurm_saves_its_work_and_can_go_on() {
    let mut world = World::new();
    let job = world.job(1, &["n4:0"]);
    world.start(&job);
    world.runs(&job, 1);
    let id = world.slurm_id(&job);
    world.lab.call("scancel", &[&id]);
    let ending = world.ending(&job);
    assert!(matches!(ending, Ending::Checkpointed), "{ending:?}");
    // One that waits has nothing to save, and says what happened.
    let waiting = next(&job);
    world.lab.call("scontrol", &["update", "PartitionName=gpu", "State=DOWN"]);
    world.start(&waiting);
    let waits = |event: &LeaseEvent| matches!(event, LeaseEvent::Preparing(why) if why.contains("waits in Slurm"));
    world.until("word of the wait", |world| world.told(&waiting).iter().any(waits).then_some(()));
    let id = world.slurm_id(&waiting);
    world.lab.call("scancel", &[&id]);
    let ending = world.ending(&waiting);
    world.lab.call("scontrol", &["update", "PartitionName=gpu", "State=UP"]);
    assert!(matches!(&ending, Ending::Refused { why } if why.contains("scancel")), "{ending:?}");
    let last = next(&waiting);
    world.start(&last);
    world.runs(&last, 2);
    assert_eq!(world.finish(&last), Ending::Finished);
}

#[test]
fn a_shared_folder_that_goes_and_comes_back_ends_nothing() {
    let mut world = World::new();
    let mut job = world.job(1, &["n5:0", "n6:0"]);
    job.program = Program::Script(
        format!(
            "trap 'exit 75' TERM; echo x >> {}/runs-1; while :; do sleep 0.05; done",
            world.folder.display()
        )
        .into_bytes(),
    );
    world.start(&job);
    world.runs(&job, 2);
    let (state, away) = (world.folder.join("state"), world.folder.join("away"));
    fs::rename(&state, &away).expect("moved");
    sleep(Duration::from_secs(3));
    fs::rename(&away, &state).expect("moved back");
    world.stop(&job);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    assert_eq!(world.starts(job.job), 2, "once on each node");
}

#[test]
fn a_gang_over_uneven_nodes_and_several_types_starts_as_one_and_stops_as_one() {
    let mut world = World::new();
    let job = world.job(1, &["n5:0", "n5:1", "n6:0", "n3:0"]);
    world.start(&job);
    world.runs(&job, 1);
    world.stop(&job);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    let again = next(&job);
    world.start(&again);
    world.runs(&again, 2);
    assert_eq!(world.finish(&again), Ending::Finished);
}

#[test]
fn jobs_run_as_their_own_users_where_the_daemon_is_root() {
    if !rustix::process::getuid().is_root() {
        // Nobody else may submit for others; that this is refused is a case of the conformance suite.
        return;
    }
    let mut world = World::new();
    let mut job = world.job(1, &["n6:0"]);
    job.run_as = RunAs::User("games".into());
    job.program = Program::Script(b"id -un; echo $HOME; touch $OEF_CHECKPOINT_DIR/saved".to_vec());
    for folder in [
        world.folder.clone(),
        world.folder.join("state"),
        world.folder.join("state/runs"),
        world.folder.join("state/jobs"),
    ] {
        fs::create_dir_all(&folder).expect("made");
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711)).expect("opened");
    }
    world.start(&job);
    let ending = world.ending(&job);
    let query = oef_executor::LogQuery::start(oef_executor::Stream::Out);
    let text = world.executor.logs(job.job, query).map(|chunk| chunk.text);
    assert_eq!(ending, Ending::Finished, "{text:?}");
    assert_eq!(text.expect("output"), "games\n/usr/games\n");
}
