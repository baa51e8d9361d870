//! Notices: which there are, in which order, how many wait and for how long.

use super::life::{created, empty, train};
use crate::world::{Change, NewJob, NotificationSpec, Receiver, World};
use oef_api::types::{JobState, JobSubmit};
use oef_sched::Time;

const MINUTE: u64 = 60_000;

/// A tenant with a notification on submissions, and no GPUs: nothing else happens.
struct Scene {
    world: World,
    at: u64,
    jobs: u64,
}

impl Scene {
    fn new() -> Scene {
        let mut scene = Scene { world: empty(), at: 1_000, jobs: 0 };
        for name in ["ada", "bob"] {
            scene.then(created(name, 1.0));
        }
        let spec = Box::new(NotificationSpec {
            tenant: Some("ada".into()),
            receiver: Receiver::Command("mail".into()),
            on: vec![JobState::Queued],
            any_address: false,
            with_output: true,
        });
        scene.then(Change::NotificationAdded { id: 1, spec });
        scene
    }

    fn then(&mut self, change: Change) {
        self.at += 1;
        self.world.happen(Time(self.at), change).expect("taken");
    }

    fn submit(&mut self, tenant: &str) {
        self.jobs += 1;
        let spec = JobSubmit { tenant: tenant.parse().ok(), ..train() };
        let jobs = vec![NewJob { id: self.jobs, spec }];
        self.then(Change::Submitted { jobs, key: None, sweep: None });
    }

    /// Tries to deliver the first notice that waits.
    fn tried(&mut self, delivered: bool) {
        let notice = self.world.notifications.all[&1].waiting[0].id.clone();
        let detail = "so".into();
        self.then(Change::Notified { id: 1, notice, delivered, detail });
    }

    fn jobs_that_wait(&self) -> Vec<u64> {
        self.world.notifications.all[&1].waiting.iter().filter_map(|notice| notice.job).collect()
    }

    fn dropped(&self) -> (u64, u64) {
        (self.world.notifications.all[&1].dropped, self.world.totals.notices_dropped)
    }

    fn said(&self, what: &str) -> usize {
        self.world.events.iter().filter(|event| event.message.contains(what)).count()
    }
}

#[test]
fn notices_wait_in_order_until_they_are_taken() {
    let mut scene = Scene::new();
    for tenant in ["ada", "bob", "ada", "ada"] {
        scene.submit(tenant);
    }
    assert_eq!(scene.jobs_that_wait(), [1, 3, 4]);
    scene.tried(false);
    assert_eq!(scene.jobs_that_wait(), [1, 3, 4]);
    scene.tried(true);
    assert_eq!(scene.jobs_that_wait(), [3, 4]);
    let entry = &scene.world.notifications.all[&1];
    assert_eq!((entry.delivered, entry.tries, entry.failing_since), (1, 0, None));
    // A snapshot has them, too.
    let text = scene.world.to_snapshot().expect("written");
    let read = World::from_snapshot(&text).expect("read");
    assert_eq!(read.notifications, scene.world.notifications);
    // What came of a notice that waits no more, or of a notification that is gone, breaks nothing.
    let late = |notice: &str| Change::Notified {
        id: 1,
        notice: notice.into(),
        delivered: true,
        detail: String::new(),
    };
    scene.then(late("gone"));
    assert_eq!(scene.jobs_that_wait(), [3, 4]);
    scene.then(Change::TenantRemoved { name: "ada".into() });
    assert!(scene.world.notifications.all.is_empty());
    assert!(scene.world.happen(Time(scene.at + 1), late("gone")).is_err());
}

#[test]
fn what_waits_is_bounded_in_number_and_time() {
    let mut scene = Scene::new();
    for _ in 0..1003 {
        scene.submit("ada");
    }
    assert_eq!((scene.jobs_that_wait().len(), scene.jobs_that_wait()[0]), (1000, 4));
    assert_eq!(scene.dropped(), (3, 3));
    scene.at += 23 * 60 * MINUTE;
    scene.submit("ada");
    scene.at += 60 * MINUTE + 10_000;
    scene.tried(false);
    assert_eq!(scene.jobs_that_wait(), [1004], "a day is enough");
    assert_eq!(scene.dropped(), (1003, 1003));
}

#[test]
fn a_long_failure_is_told_once_and_so_is_its_end() {
    let mut scene = Scene::new();
    scene.submit("ada");
    for _ in 0..30 {
        scene.tried(false);
        scene.at += MINUTE;
    }
    assert_eq!(scene.said("notification 1 could not be delivered for 10 minutes: so"), 1);
    scene.submit("ada");
    scene.tried(true);
    scene.tried(true);
    assert_eq!(scene.said("notification 1 is delivered again"), 1);
}

#[test]
fn a_test_goes_first_and_once() {
    let mut scene = Scene::new();
    scene.submit("ada");
    scene.then(Change::NotificationTested { id: 1, notice: "t".into() });
    assert!(scene.world.notifications.all[&1].waiting[0].test);
    scene.tried(false);
    assert_eq!(scene.jobs_that_wait(), [1]);
    assert_eq!(scene.world.notifications.all[&1].failing_since, None, "nothing failed but a test");
    assert_eq!(scene.said("notification 1 failed its test: so"), 1);
}
