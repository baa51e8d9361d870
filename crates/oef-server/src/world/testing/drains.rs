//! Nodes that are taken out: with a reason, for a time, and planned ahead.

use super::check::check;
use super::life::{created, empty, train};
use crate::world::{Change, Drain, NewJob, RunningJobs, Window, World};
use oef_api::types::JobState;
use oef_sched::{Health, JobId, NodeSpec, Span, Time};

const NODE: &str = "n";
const JOB: JobId = JobId(1);

/// One node of two GPUs, and one job that runs there.
struct Scene {
    world: World,
    at: u64,
}

impl Scene {
    fn new() -> Scene {
        let mut scene = Scene { world: empty(), at: 1_000 };
        scene.then(Change::NodeUp(NodeSpec { name: NODE.into(), gpu_type: "g".into(), gpus: 2 }));
        scene.then(created("ada", 1.0));
        scene.then(Change::Round { kept: false });
        scene.then(Change::Submitted {
            jobs: vec![NewJob { id: JOB.0, spec: train() }],
            key: None,
            sweep: None,
        });
        let generation = scene.world.jobs[&JOB].run().expect("a run").generation;
        scene.then(Change::Started { job: JOB, generation, at_ms: None, host: None });
        scene
    }

    fn then(&mut self, change: Change) {
        self.at += 1_000;
        self.world.happen(Time(self.at), change).expect("taken");
        check(&self.world);
    }

    /// Lets the clock go on to an instant, as the engine does: what is due is done, and then nothing is due.
    fn wait_until(&mut self, at: u64) {
        while let Some(next) = self.world.next_drain(Time(self.at)).filter(|next| next.0 <= at) {
            self.at = next.0;
            for change in self.world.drains_due(next) {
                self.world.happen(next, change).expect("taken");
                check(&self.world);
            }
            assert_eq!(self.world.drains_due(next), [], "nothing is asked for twice");
        }
        self.at = at;
    }

    fn drain(&mut self, running: RunningJobs, until: Option<u64>) {
        let drain = drain(running, until);
        self.then(Change::NodeDrained { node: NODE.into(), drained: true, drain: Some(drain) });
    }

    fn health(&self) -> Health {
        self.world.sched.cluster().nodes()[0].health()
    }

    fn job(&self) -> JobState {
        self.world.jobs[&JOB].state
    }
}

fn drain(running: RunningJobs, until: Option<u64>) -> Drain {
    let (reason, by) = (Some("a fan".into()), "the operator".into());
    Drain { reason, by, running, until: until.map(Time) }
}

#[test]
fn jobs_may_end_on_a_node_that_takes_no_more() {
    let mut scene = Scene::new();
    scene.drain(RunningJobs::Finish, None);
    assert_eq!((scene.health(), scene.job()), (Health::Closing, JobState::Running));
    let last = scene.world.events.back().expect("an event").message.clone();
    assert_eq!(last, "node n takes no more jobs: a fan (the operator)");
    scene.then(Change::NodeDrained { node: NODE.into(), drained: false, drain: None });
    assert_eq!((scene.health(), scene.job()), (Health::Up, JobState::Running));
    assert!(scene.world.drains.is_empty() && scene.world.drained.is_empty());
}

#[test]
fn a_node_comes_back_by_itself_when_its_time_is_over() {
    let mut scene = Scene::new();
    scene.drain(RunningJobs::Stop, Some(600_000));
    assert_eq!((scene.health(), scene.job()), (Health::Down, JobState::Stopping));
    scene.wait_until(599_999);
    assert_eq!(scene.health(), Health::Down);
    scene.wait_until(600_000);
    assert_eq!(scene.health(), Health::Up);
}

#[test]
fn an_old_window_closes_its_node_first_then_stops_what_runs_then_gives_it_back() {
    let mut scene = Scene::new();
    let drain = drain(RunningJobs::Stop, Some(900_000));
    let window =
        Window { node: NODE.into(), from: Time(500_000), lead: Span(100_000), drain, ahead: false };
    scene.then(Change::WindowPlanned { id: 1, window });
    scene.wait_until(399_999);
    assert_eq!(scene.health(), Health::Up);
    // A restart in between forgets nothing.
    let written = scene.world.to_snapshot().expect("JSON");
    scene.world = World::from_snapshot(&written).expect("a world");
    scene.wait_until(400_000);
    assert_eq!((scene.health(), scene.job()), (Health::Closing, JobState::Running));
    scene.wait_until(500_000);
    assert_eq!((scene.health(), scene.job()), (Health::Down, JobState::Stopping));
    scene.wait_until(900_000);
    assert_eq!(scene.health(), Health::Up);
    assert!(scene.world.windows.is_empty());
}

#[test]
fn a_window_is_planned_for_stops_what_runs_and_gives_its_node_back() {
    let mut scene = Scene::new();
    let drain = drain(RunningJobs::Stop, Some(900_000));
    let (from, lead) = (Time(500_000), Span(100_000));
    let window = Window { node: NODE.into(), from, lead, drain, ahead: true };
    scene.then(Change::WindowPlanned { id: 1, window: window.clone() });
    let later = Window { from: Time(700_000), ..window };
    scene.then(Change::WindowPlanned { id: 2, window: later });
    let planned = |scene: &Scene| scene.world.sched.cluster().nodes()[0].window().map(|w| w.from);
    // A restart in between forgets nothing.
    let written = scene.world.to_snapshot().expect("JSON");
    scene.world = World::from_snapshot(&written).expect("a world");
    assert_eq!(planned(&scene), Some(from));
    scene.wait_until(499_999);
    assert_eq!((scene.health(), scene.job()), (Health::Up, JobState::Running));
    scene.wait_until(500_000);
    assert_eq!((scene.health(), scene.job()), (Health::Down, JobState::Stopping));
    assert_eq!(planned(&scene), Some(Time(700_000)));
    scene.then(Change::WindowDropped { id: 2 });
    assert_eq!(planned(&scene), None);
    scene.wait_until(900_000);
    assert_eq!(scene.health(), Health::Up);
    assert!(scene.world.windows.is_empty());
}

#[test]
fn a_window_that_was_dropped_or_overtaken_does_not_begin() {
    let mut scene = Scene::new();
    let window = |drain| Window {
        node: NODE.into(),
        from: Time(500_000),
        lead: Span(0),
        drain,
        ahead: true,
    };
    scene.then(Change::WindowPlanned {
        id: 1,
        window: window(drain(RunningJobs::Stop, Some(600_000))),
    });
    scene.then(Change::WindowDropped { id: 1 });
    scene.then(Change::WindowPlanned {
        id: 2,
        window: window(drain(RunningJobs::Stop, Some(600_000))),
    });
    scene.drain(RunningJobs::Finish, None);
    scene.wait_until(1_000_000);
    assert_eq!(scene.health(), Health::Closing, "who took it out brings it back");
    assert!(scene.world.windows.is_empty());
}
