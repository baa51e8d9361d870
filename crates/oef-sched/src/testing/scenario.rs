//! Random clusters, tenants and lives.

use super::dice::Dice;
use super::world::{Answers, Solving, World};
use crate::*;
use oef_core::Mechanism;

/// What may happen in a life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turmoil {
    pub faults: bool,
    pub changes: bool,
    pub gangs: &'static [u32],
    pub restricted: bool,
}

pub(crate) const CALM: Turmoil =
    Turmoil { faults: false, changes: false, gangs: &[1], restricted: false };
pub(crate) const WILD: Turmoil =
    Turmoil { faults: true, changes: true, gangs: &[1, 1, 2, 3, 4, 8], restricted: true };

const NAMES: [&str; 4] = ["k80", "p100", "v100", "a100"];

pub(crate) fn settings(dice: &mut Dice) -> Settings {
    let round = Span::from_seconds(300.0);
    let mechanisms =
        [Mechanism::MaxMin, Mechanism::MaxMin, Mechanism::Noncooperative, Mechanism::Cooperative];
    Settings {
        mechanism: dice.one_of(&mechanisms),
        round,
        min_run: dice.one_of(&[Span(0), round, round.times(3), Span(round.0 / 2)]),
        turn: dice.one_of(&[Span(0), round, round.times(4)]),
        free_restarts: dice.one_of(&[0, 1, 3, 1000]),
        waste_budget: dice.one_of(&[0.0, 0.1, 1.0]),
        stickiness: dice.one_of(&[0.0, 0.5, 1.0]),
        restart_cost: dice.one_of(&[Span(0), Span::from_seconds(14.0), Span::from_seconds(300.0)]),
        placement: dice.one_of(&[
            PlacementRule::Room,
            PlacementRule::Room,
            PlacementRule::Packed,
            PlacementRule::FirstFree,
        ]),
        gangs: dice.one_of(&[GangRule::Rows, GangRule::Rows, GangRule::Blind]),
        restart_part: dice.one_of(&[0.0, 0.03, 0.3]),
        ..Settings::default()
    }
}

/// A cluster of one to three types, and tenants with profiles.
pub(crate) fn world(dice: &mut Dice, settings: Settings, tenants: usize) -> World {
    let types = dice.between(1, 3) as usize;
    let nodes: Vec<(&str, u32, u32)> = NAMES[..types]
        .iter()
        .map(|name| (*name, dice.between(1, 3), dice.one_of(&[1, 2, 4, 8])))
        .collect();
    let mut world = World::new(settings, &nodes);
    let outer = world.state.group("outer", 2.0, None);
    world.state.group("inner", 1.0, outer);
    for t in 0..tenants {
        let weight = dice.one_of(&[1.0, 1.0, 2.0, 0.5]);
        let tenant = world.state.tenant(&format!("t{t}"), weight);
        for w in 0..dice.one_of(&[1, 1, 1, 2, 3]) {
            let profile = profile(dice, types);
            world.workload(tenant, &format!("w{w}"), dice.one_of(&[1.0, 2.0]), &profile);
        }
    }
    world
}

pub(crate) fn profile(dice: &mut Dice, types: usize) -> Vec<f64> {
    let mut speed = 1.0;
    let mut profile: Vec<f64> = (0..types)
        .map(|_| {
            let here = if dice.chance(0.1) { 0.0 } else { speed };
            speed *= 1.0 + dice.real() * 1.5;
            here
        })
        .collect();
    if profile.iter().all(|&p| p == 0.0) {
        profile[0] = 1.0;
    }
    profile
}

pub(crate) fn submit(world: &mut World, dice: &mut Dice, turmoil: Turmoil) -> JobId {
    let workload = WorkloadKey(dice.below(world.state.workloads().len()));
    let mut spec = world.spec(workload, dice.one_of(turmoil.gangs));
    spec.priority = dice.one_of(&[0, 0, 0, 1, -1]);
    spec.now = turmoil.changes && spec.id.0.is_multiple_of(4);
    spec.memory = (turmoil.restricted && spec.id.0.is_multiple_of(11)).then_some(13_000);
    spec.one_type = turmoil.restricted && spec.id.0.is_multiple_of(5);
    if turmoil.changes && spec.id.0.is_multiple_of(3) {
        let sweep = JobId(spec.id.0 / 24);
        spec.sweep = Some(SweepLimit { sweep, jobs: 2 });
    }
    if turmoil.changes && dice.chance(0.1) {
        spec.min_run = Some(Span::from_seconds(f64::from(dice.between(0, 2000))));
    }
    if turmoil.restricted && dice.chance(0.15) {
        let types = NAMES.iter().filter(|_| dice.chance(0.5)).map(|t| (*t).into()).collect();
        spec.types = Some(types);
    }
    world.submit_spec(spec)
}

/// An owner, an operator or the machines have their say.
fn interfere(world: &mut World, dice: &mut Dice) {
    let ids: Vec<JobId> = world.state.jobs().map(|job| job.spec().id).collect();
    let tenant = TenantKey(dice.below(world.state.tenants().len()));
    let (group, other) =
        (GroupKey(dice.below(2)), dice.chance(0.6).then(|| GroupKey(dice.below(2))));
    match dice.below(12) {
        9 | 10 => {
            let gpus = dice.chance(0.6).then(|| dice.between(0, 6));
            world.happen(EventKind::Limit { tenant, gpus });
        }
        11 if !ids.is_empty() => {
            let (job, priority) = (ids[dice.below(ids.len())], dice.one_of(&[-1, 0, 1, 2]));
            world.change(job, JobChange { priority: Some(priority), ..JobChange::default() });
            let workload = WorkloadKey(dice.below(world.state.workloads().len()));
            world.happen(EventKind::WorkloadWeight { workload, weight: 0.5 + dice.real() });
        }
        6 => {
            world.happen(EventKind::TenantGroup { tenant, group: other });
        }
        7 => {
            world.happen(EventKind::GroupParent { group, parent: other });
        }
        8 => {
            world.happen(EventKind::GroupWeight { group, weight: 0.5 + dice.real() });
            let workload = WorkloadKey(dice.below(world.state.workloads().len()));
            let cost = Some(Span::from_seconds(1000.0 * dice.real()));
            world.happen(EventKind::RestartCost { workload, cost });
        }
        0 | 1 if !ids.is_empty() => {
            let job = ids[dice.below(ids.len())];
            world.hold(job, true);
        }
        2 => {
            for job in ids {
                world.hold(job, false);
                world.happen(EventKind::Release { job });
            }
        }
        3 => {
            // Most of the time nobody is suspended.
            let suspended = dice.chance(0.3);
            world.happen(EventKind::Suspend { tenant, suspended });
        }
        _ => {
            let Some(job) = world.any_running(dice) else { return };
            let generation = world.generation(job);
            let kind = match dice.below(3) {
                0 => EventKind::Failed { job, generation, retry: dice.chance(0.7) },
                _ => EventKind::Lost { job, generation },
            };
            world.happen(kind);
        }
    }
}

/// One random event; ticks come at their time.
pub(crate) fn live_on(world: &mut World, dice: &mut Dice, turmoil: Turmoil) {
    let round = world.state.settings().round;
    let due = world.state.plan().began + round;
    if world.answers == Answers::Late && !world.stopping.is_empty() && dice.chance(0.4) {
        let which = dice.below(world.stopping.len());
        world.answer(which);
        return;
    }
    if world.solving == Solving::Late && dice.chance(0.15) {
        world.answer_question();
        return;
    }
    if turmoil.changes && dice.chance(0.2) {
        interfere(world, dice);
        return;
    }
    match dice.below(20) {
        0..=5 => {
            submit(world, dice, turmoil);
        }
        6..=8 => {
            if let Some(job) = world.any_running(dice) {
                world.finish(job);
            }
        }
        9 => {
            let ids: Vec<JobId> = world.state.jobs().map(|job| job.spec().id).collect();
            if !ids.is_empty() {
                let job = ids[dice.below(ids.len())];
                world.happen(EventKind::Cancelled { job });
            }
        }
        10 if turmoil.faults => {
            let nodes = world.state.cluster().nodes();
            let node = nodes[dice.below(nodes.len())].name().to_string();
            // By the clock and not by the dice, so that lives that are kept by their seed stay what they were.
            let lets_finish = world.now.0.is_multiple_of(3);
            world.happen(match lets_finish {
                true => EventKind::NodeClosing { node },
                false => EventKind::NodeDown { node },
            });
        }
        11 | 12 if turmoil.faults => {
            let nodes = world.state.cluster().nodes();
            let node = &nodes[dice.below(nodes.len())];
            let gpu_type = world.state.cluster().types()[node.gpu_type().0].clone();
            let (name, gpus) = (node.name().to_string(), node.gpus() as u32);
            world.happen(EventKind::NodeUp(NodeSpec { name, gpu_type, gpus }));
        }
        13 if turmoil.changes => {
            let tenant = TenantKey(dice.below(world.state.tenants().len()));
            world.happen(EventKind::Weight { tenant, weight: 0.5 + dice.real() });
        }
        14 if turmoil.changes => {
            let workload = WorkloadKey(dice.below(world.state.workloads().len()));
            let throughput = profile(dice, world.state.cluster().types().len());
            let profile = Profile::new(throughput, Provenance::Measured);
            world.happen(EventKind::Profiled { workload, profile });
        }
        15 if turmoil.faults && dice.chance(0.1) => {
            let name = format!("new-{}", world.now.0);
            let gpu_type = dice.one_of(&NAMES).into();
            world.happen(EventKind::NodeUp(NodeSpec { name, gpu_type, gpus: 4 }));
        }
        _ => {
            world.wait(Span(dice.next() % round.0));
            if world.now >= due || world.state.round().0 == 0 {
                world.begin_round();
            }
        }
    }
}
