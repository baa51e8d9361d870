//! Daemons and runners killed at random moments: what the jobs' own traces say of it.

mod common;

use common::{World, checkpoint_dir, kill, next, with_variable};
use oef_executor::{Ending, Held, Launch};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// As many jobs as make two processors busy.
const JOBS: u64 = 4;

/// Steps of each job: some seconds of work, so that every job is hit several times.
const STEPS: u64 = 150;

/// What happens in a life is drawn from the seed of the property tests, or from this; when it happens is not.
const SEED: u64 = 7;

/// Never reached unless something hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a journal would hold: the lease of each job that is not finished.
struct Life {
    world: World,
    held: BTreeMap<u64, Held>,
    random: u64,
}

impl Life {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
        (self.random >> 33) % below
    }

    /// The daemon is gone, and another begins with what was journalled.
    fn restart(self) -> Life {
        let Life { world, held, random } = self;
        let world = world.restart();
        let leases: Vec<Held> = held.values().cloned().collect();
        world.resume(&leases);
        Life { world, held, random }
    }

    fn disturb(mut self) -> Life {
        let jobs: Vec<u64> = self.held.keys().copied().collect();
        let job = jobs[self.draw(jobs.len() as u64) as usize];
        let launch = self.held[&job].launch.clone();
        match self.draw(5) {
            0 => return self.restart(),
            1 => {
                let folder = self.world.run_dir(&launch).display().to_string();
                if let Some(pid) = with_variable(&format!("OEF_RUNNER_DIR={folder}")).first() {
                    kill(*pid, Signal::KILL);
                }
            }
            2 => {
                // Journalled, told, and perhaps the daemon is gone right after.
                if let Some(held) = self.held.get_mut(&job) {
                    held.stop = Some("others are owed more".into());
                }
                self.world.stop(&launch, "others are owed more");
                if self.draw(2) == 0 {
                    return self.restart();
                }
            }
            _ => {}
        }
        self
    }

    /// Journals what is seen; a job that is not finished starts again under its next lease.
    fn observe(mut self) -> Life {
        let mut is_killed = false;
        self.world.look();
        for seen in std::mem::take(&mut self.world.seen) {
            let (job, generation) = seen.about;
            let Some(ending) = seen.ending() else { continue };
            // One that was told before is told again after a restart, if nobody acknowledged it.
            let is_held = |held: &&mut Held| held.launch.generation == generation;
            if self.held.get_mut(&job.0).filter(is_held).is_none() {
                continue;
            }
            let Some(held) = self.held.remove(&job.0) else { continue };
            match ending {
                Ending::Finished => {}
                // A runner that came when its start had been given up is refused: on a machine with too much to do.
                Ending::Checkpointed
                | Ending::Vanished { .. }
                | Ending::Stopped { .. }
                | Ending::Refused { .. } => {
                    let launch = next(&held.launch);
                    let journalled = Held { launch: launch.clone(), stop: None };
                    self.held.insert(job.0, journalled);
                    // Every third time the daemon is killed between journal and start.
                    is_killed |= self.draw(3) == 0;
                    if !is_killed {
                        self.world.start(&launch);
                    }
                }
                other => panic!("job {job}: {other}"),
            }
        }
        self.world.acknowledge();
        if is_killed { self.restart() } else { self }
    }
}

#[test]
fn no_job_runs_twice_and_no_step_is_repeated_beyond_a_checkpoint() {
    let world = World::new();
    let mut life = Life { world, held: BTreeMap::new(), random: seed() };
    let options = format!("--steps {STEPS} --model vgg16 --step-ms 90 --checkpoint-every 20");
    let jobs: Vec<Launch> = (1..=JOBS).map(|id| life.world.demo(id, &options)).collect();
    for job in &jobs {
        life.held.insert(job.job.0, World::held(job));
        life.world.start(job);
    }
    let start = Instant::now();
    let mut rounds = 0;
    while !life.held.is_empty() {
        assert!(start.elapsed() < DEADLINE, "{:?} do not end", life.held.keys());
        life = life.observe();
        rounds += 1;
        if rounds % 5 == 0 && !life.held.is_empty() {
            life = life.disturb();
        }
        sleep(Duration::from_millis(20));
    }
    let starts: usize = jobs.iter().map(check_trace).sum();
    assert!(starts > jobs.len(), "nobody was disturbed");
}

fn seed() -> u64 {
    let given = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or(SEED)
}

/// Checks one job's trace; how often it was started.
fn check_trace(launch: &Launch) -> usize {
    let text = fs::read_to_string(checkpoint_dir(launch).join("trace.jsonl")).expect("a trace");
    let (mut alive, mut saved, mut reached, mut starts) = (None, 0, 0, 0);
    let mut generations = Vec::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).expect("a whole line");
        let pid = event["pid"].as_u64().expect("a pid");
        let step = event["step"].as_u64().expect("a step");
        match event["event"].as_str().expect("a word") {
            "start" => {
                starts += 1;
                let generation: u64 =
                    event["generation"].as_str().and_then(|g| g.parse().ok()).expect("a number");
                assert!(generations.last().is_none_or(|last| *last < generation), "{line}");
                generations.push(generation);
                // Its work goes on at a checkpoint: the last, or one written just before a kill.
                assert!(step >= saved && step <= reached, "{line}");
                (alive, reached) = (Some(pid), step);
            }
            "step" => {
                assert_eq!(alive, Some(pid), "{line}");
                assert_eq!(step, reached + 1, "{line}");
                reached = step;
            }
            "checkpoint" => {
                assert_eq!((alive, step), (Some(pid), reached), "{line}");
                saved = step;
            }
            "end" => assert_eq!((alive.take(), step), (Some(pid), reached), "{line}"),
            other => panic!("{other}"),
        }
    }
    assert_eq!((alive, saved, reached), (None, STEPS, STEPS), "job {}", launch.job);
    starts
}
