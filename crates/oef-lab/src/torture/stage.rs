//! Plays a story: the core, the disk, the clock and the cluster, step by step.

mod acts;

use super::cluster::Cluster;
use super::disk::{Damage, Dies, Disk};
use super::invariants::{Watch, replayed, replays, round};
use super::plants::Plant;
use super::story::Step;
use super::time::SimTime;
use oef_api::types::{JobState, SettingsPatch};
use oef_core::Mechanism;
use oef_server::core::{Budgets, Core, CoreOptions, Wish};
use oef_server::invariants::{Broken, Invariant};
use oef_server::store::Snapshot;
use oef_server::world::JobEntry;
use std::sync::Arc;

/// Tenants that take part.
const TENANTS: u8 = 4;
/// A daemon that could not start is started again after so long.
const STARTS_AGAIN_MS: u64 = 15_000;
/// Turns in one stretch of waiting; more is a core that never rests.
const TURNS_MAX: u64 = 200_000;
/// Rounds in which everything has to run once nothing breaks any more, beyond two for each job.
const ROUNDS_TO_RUN: u64 = 60;
/// Of so many rounds one has its certificate looked at: it takes longer than all the rest.
const CERTIFICATES_EVERY: u64 = 8;
/// A stop takes the grace time, and what a network needs.
const STOPS_WITHIN_MS: u64 = 300_000;

/// Everything that takes part in a story.
pub(super) struct Stage {
    time: SimTime,
    disk: Disk,
    cluster: Cluster,
    core: Option<Core>,
    watch: Watch,
    submissions: Vec<acts::Submission>,
    round_s: u64,
    /// Simulated turns so far, for reports.
    pub turns: u64,
}

type Played = Result<(), Broken>;

impl Stage {
    pub fn new(seed: u64, plant: Option<Plant>) -> Stage {
        let time = SimTime::with_still_clock(plant == Some(Plant::ClockStandsStill));
        Stage {
            disk: Disk::new(plant),
            cluster: Cluster::new(&time, seed, plant),
            time,
            core: None,
            watch: Watch::default(),
            submissions: Vec::new(),
            round_s: 60,
            turns: 0,
        }
    }

    /// Plays all of it, then lets everything heal and looks whether everything runs.
    pub fn play(&mut self, steps: &[Step]) -> Played {
        self.start()?;
        for tenant in 0..TENANTS {
            self.create(tenant)?;
        }
        for step in steps {
            self.step(*step)?;
            self.look()?;
        }
        self.heal()?;
        self.settle()
    }

    /// How many simulated hours have passed.
    pub fn hours(&self) -> f64 {
        self.time.now() as f64 / 3_600_000.0
    }

    fn step(&mut self, step: Step) -> Played {
        match step {
            Step::Wait { ms } => return self.wait(ms),
            Step::Node { node, up } => self.cluster.set_up(node, up),
            Step::Foreign { node, on } => self.cluster.set_foreign(node, on),
            Step::Closed { node, on } => self.cluster.set_closed(node, on),
            Step::Kill { nth } => self.cluster.kill(nth),
            Step::Crash => return self.restart(None),
            Step::Power { after } => {
                let dies = if after { Dies::After } else { Dies::Before };
                self.disk.state().dies = Some(dies);
            }
            Step::Restart => return self.stop_cleanly(),
            Step::Rot { nth } => return self.damage(Damage::Rot(usize::from(nth))),
            Step::Older { records, end } => {
                let older = if end { Damage::OlderWithEnd } else { Damage::Older };
                return self.damage(older(usize::from(records)));
            }
            Step::Moved { on } => self.disk.state().is_moved = on,
            Step::Full { on } => self.disk.state().is_full = on,
            Step::Slow { on } => self.cluster.set_slow(on),
            Step::Repeat => {
                if let Some(core) = &mut self.core {
                    core.hear_again();
                }
            }
            Step::Clock { minutes } => self.time.set_wall(i64::from(minutes) * 60_000),
            _ => return self.act(step),
        }
        self.turn()
    }

    /// The daemon is killed, its journal is damaged, and it is started: that has to be refused. Then the operator puts the
    /// right folder in place.
    fn damage(&mut self, damage: Damage) -> Played {
        if self.disk.state().is_moved {
            return Ok(());
        }
        self.core = None;
        self.disk.crash();
        if !self.disk.damage(damage) {
            return self.restart(None);
        }
        if matches!(damage, Damage::OlderWithEnd(_)) && !self.is_shorter()? {
            // Nothing that was started is missing: nobody could tell.
            self.disk.repair();
            return self.restart(None);
        }
        self.start()?;
        if self.core.is_some() {
            let what = format!("the daemon starts after {damage:?} as if nothing had happened");
            return Err(Broken { invariant: Invariant::DamageIsNoticed, what });
        }
        self.disk.repair();
        self.restart(None)
    }

    /// Whether the journal lacks something that was started.
    fn is_shorter(&self) -> Result<bool, Broken> {
        let loaded = self.disk.load().map_err(|error| error.to_string());
        let world = loaded.and_then(|(snapshot, records)| replayed(snapshot.as_ref(), &records));
        let world =
            world.map_err(|what| Broken { invariant: Invariant::ReplayIsIdentical, what })?;
        Ok(self.cluster.has_more_than(&world))
    }

    fn start(&mut self) -> Played {
        let (snapshot, records) = match self.disk.load() {
            Ok(loaded) => loaded,
            Err(error) => return self.refused(&error.to_string()),
        };
        let is_new = self.disk.state().durable.is_empty();
        let options = CoreOptions {
            ledger: Box::new(self.disk.clone()),
            snapshot,
            records,
            clock: Box::new(self.time.clone()),
            executor: Arc::new(self.cluster.connect()),
            first: oef_sched::Settings::default(),
            settings: SettingsPatch {
                round_s: is_new.then_some(60.0),
                min_run_s: is_new.then_some(30.0),
                ..SettingsPatch::default()
            },
            budgets: Budgets::default(),
        };
        match Core::start(options) {
            Ok(core) => self.core = Some(core),
            // It cannot start while the disk is full or dies: it is started again later.
            Err(oef_server::daemon::StartError::NotDurable) => self.core = None,
            Err(error) => return self.refused(&error.to_string()),
        }
        Ok(())
    }

    /// The daemon does not start. Where its folder is damaged or away, it must not.
    fn refused(&mut self, error: &str) -> Played {
        self.core = None;
        if self.disk.is_damaged() || self.disk.state().is_moved {
            return Ok(());
        }
        let what = format!("the daemon does not start: {error}");
        Err(Broken { invariant: Invariant::Recovers, what })
    }

    /// The daemon is gone; what is durable is looked at, and another starts.
    fn restart(&mut self, snapshot: Option<Snapshot>) -> Played {
        self.core = None;
        self.disk.crash();
        if snapshot.is_some() {
            self.disk.state().snapshot = snapshot;
        }
        self.start()?;
        self.look()
    }

    fn stop_cleanly(&mut self) -> Played {
        let Some(core) = &self.core else { return self.restart(None) };
        let world = core.world();
        self.compare()?;
        let last = self.disk.state().durable.last().map_or(0, |record| record.seq);
        let at_ms = world.sched.now().0;
        let kept = world.to_snapshot().ok().map(|body| Snapshot { seq: last, at_ms, body });
        self.restart(kept.filter(|kept| kept.seq > 0))
    }

    /// What the journal says is what the daemon says.
    fn compare(&self) -> Played {
        let Some(core) = &self.core else { return Ok(()) };
        let state = self.disk.state();
        if state.is_dead {
            // A transaction that the machine died in may be durable, and nobody was told.
            return Ok(());
        }
        replays(&core.world(), state.snapshot.as_ref(), &state.durable)
    }

    /// One turn of the core, and what follows from it.
    fn turn(&mut self) -> Played {
        self.turns += 1;
        if let Some(core) = &mut self.core {
            core.turn();
            core.documents(CERTIFICATES_EVERY).iter().try_for_each(round)?;
        }
        if let Some(broken) = self.cluster.broken() {
            return Err(broken);
        }
        if self.disk.state().is_dead {
            return self.restart(None);
        }
        Ok(())
    }

    fn wait(&mut self, ms: u64) -> Played {
        let until = self.time.now() + ms;
        let mut turns = 0;
        while self.time.now() < until {
            if self.core.is_none() {
                self.restart(None)?;
            }
            self.turn()?;
            turns += 1;
            if turns > TURNS_MAX {
                let what = format!("{turns} turns within {} s", ms / 1000);
                return Err(Broken { invariant: Invariant::RunnableJobsRun, what });
            }
            let now = self.time.now();
            let own = self.core.as_mut().map_or(STARTS_AGAIN_MS, Core::wait_ms);
            let theirs = self.cluster.next().map_or(u64::MAX, |next| next.saturating_sub(now));
            let step = own.min(theirs).clamp(20, 60_000).min(until - now);
            self.time.advance(step);
        }
        self.cluster.tick();
        self.turn()
    }

    fn look(&mut self) -> Played {
        let Some(core) = &self.core else { return Ok(()) };
        core.with_world(|world| self.watch.look(world))
    }

    /// Nothing breaks any more.
    fn heal(&mut self) -> Played {
        {
            let mut state = self.disk.state();
            (state.is_full, state.is_moved, state.dies) = (false, false, None);
        }
        self.cluster.set_slow(false);
        self.time.set_wall(0);
        self.wait(60_000)?;
        self.look_at_nodes()?;
        for node in 0..3 {
            self.cluster.set_foreign(node, false);
            self.cluster.set_closed(node, false);
            self.cluster.set_up(node, true);
        }
        if self.core.is_none() {
            self.restart(None)?;
        }
        self.wait(2_000)?;
        for node in 0..3 {
            self.step(Step::Drain { node, on: false })?;
        }
        for tenant in 0..TENANTS {
            self.step(Step::Suspend { tenant, on: false })?;
        }
        self.release_all()?;
        self.step(Step::Rounds { seconds: 60 })?;
        self.step(Step::Shares { by: Mechanism::Nash })?;
        self.compare()
    }

    /// Every job runs and comes to its end, within a number of rounds.
    fn settle(&mut self) -> Played {
        let live = |core: &Core| core.with_world(|w| w.jobs.len() - w.ended.len());
        let jobs = self.core.as_ref().map_or(0, live) as u64;
        // A job takes up to a quarter of an hour; those of one tenant may have to wait for one another.
        let limit = ROUNDS_TO_RUN + jobs * 20;
        for _ in 0..limit {
            if self.core.as_ref().is_some_and(|core| live(core) == 0) {
                return self.end();
            }
            self.wait(60_000)?;
            self.look()?;
            self.look_at_stops()?;
        }
        self.stuck(limit)
    }

    /// A node that is gone is known to be gone.
    fn look_at_nodes(&self) -> Played {
        let Some(core) = &self.core else { return Ok(()) };
        let gone = self.cluster.gone();
        let up = core.with_world(|world| gone.into_iter().find(|name| world.sched.is_up(name)));
        up.map_or(Ok(()), |name| {
            let what = format!("node {name} is gone, and the daemon counts on it");
            Err(Broken { invariant: Invariant::NodesAreKnown, what })
        })
    }

    /// Once nothing breaks, a job that is told to stop has ended soon.
    fn look_at_stops(&self) -> Played {
        let Some(core) = &self.core else { return Ok(()) };
        core.with_world(|world| {
            let now = world.sched.now().0;
            let since = |job: &JobEntry| job.history.last().map_or(now, |change| change.at_ms);
            let late = world.jobs.iter().find(|(_, job)| {
                job.state == JobState::Stopping && now - since(job) > STOPS_WITHIN_MS
            });
            late.map_or(Ok(()), |(id, job)| {
                let what = format!("job {id} is stopping for {} s", (now - since(job)) / 1000);
                Err(Broken { invariant: Invariant::StopsAreCarriedOut, what })
            })
        })
    }

    fn end(&mut self) -> Played {
        self.compare()?;
        self.restart(None)?;
        self.compare()
    }

    fn stuck(&self, rounds: u64) -> Played {
        let Some(core) = &self.core else { return Ok(()) };
        let what = core.with_world(|world| {
            let mut left = world.jobs.iter().filter(|(_, job)| !job.state.is_final());
            left.next().map(|(id, job)| {
                let runs = matches!(job.state, JobState::Running) && !self.cluster.is_running(*id);
                let ghost = if runs { ", and nothing of it runs" } else { "" };
                format!(
                    "job {id} is {} ({}) {rounds} rounds after the last fault{ghost}",
                    job.state.name(),
                    job.reason
                )
            })
        });
        let what = what.unwrap_or_default();
        Err(Broken { invariant: Invariant::RunnableJobsRun, what })
    }
}

/// A core takes these, goes on for some rounds, and is found again as it was.
pub(crate) fn take_wishes(wishes: Vec<Wish>) -> Played {
    let mut stage = Stage::new(1, None);
    stage.start()?;
    stage.create(0)?;
    for wish in wishes {
        stage.ask(wish)?;
        stage.look()?;
    }
    stage.wait(10_000)?;
    stage.look()?;
    stage.compare()?;
    stage.restart(None)?;
    stage.compare()
}

fn name(tenant: u8) -> String {
    format!("t{}", tenant % TENANTS)
}

#[cfg(test)]
mod tests {
    use super::super::story::Kind;
    use super::*;

    /// The list of nodes that a start begins with was heard after the first news, and brought the node back.
    #[test]
    fn a_node_that_leaves_right_after_a_start_is_known_to_be_gone() {
        let job = Step::Submit { tenant: 0, workers: 2, kind: Kind::Works, ms: 68_000 };
        let steps = [Step::Power { after: true }, job, Step::Node { node: 2, up: false }];
        for seed in [2_052_716, 2_055_320] {
            let played = Stage::new(seed, None).play(&steps);
            assert!(played.is_ok(), "{played:?}");
        }
    }

    /// When the time was over for which it was taken out, it counted as there, and jobs were sent to it.
    #[test]
    fn a_node_that_is_gone_does_not_come_back_by_a_plan() {
        let gone = Step::Node { node: 0, up: false };
        let plan = Step::Plan { node: 0, from_s: 65, length_s: 844 };
        let wait = |s: u64| Step::Wait { ms: s * 1_000 };
        for steps in [[plan, wait(586), gone, wait(470)], [gone, plan, wait(20), wait(1_000)]] {
            let played = Stage::new(1, None).play(&steps);
            assert!(played.is_ok(), "{played:?}");
        }
    }
}
