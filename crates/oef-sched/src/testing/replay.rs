//! The same events give the same state; impossible ones are refused and change nothing; none panics.

use super::dice::Dice;
use super::scenario::{WILD, live_on, settings, world};
use super::world::{Answers, Solving, World};
use crate::state::invariants::broken;
use crate::*;
use proptest::prelude::*;

/// Any event, sense or nonsense.
fn any_event(dice: &mut Dice, world: &World) -> EventKind {
    let job = JobId(dice.below(60) as u64);
    let generation = Generation(dice.below(4) as u64);
    let number = dice.one_of(&[0.0, 1.0, -1.0, 1e300, f64::NAN, f64::INFINITY, 0.3]);
    let name = dice.one_of(&["k80-0", "p100-0", "v100-1", "none", ""]).to_string();
    match dice.below(21) {
        0 | 1 => EventKind::Submitted(JobSpec {
            id: JobId(dice.one_of(&[0, 5, world.log.len() as u64 + 1, u64::MAX - 7])),
            tenant: TenantKey(dice.below(6)),
            workload: WorkloadKey(dice.below(8)),
            workers: dice.one_of(&[0, 1, 2, 5, 100_000, u32::MAX]),
            priority: dice.one_of(&[0, i32::MIN, i32::MAX]),
            now: number > 0.5,
            types: dice.chance(0.2).then(|| vec![name]),
            min_run: dice.chance(0.2).then(|| Span(dice.next() % 1_000_000)),
            one_type: dice.chance(0.3),
            memory: (number == 0.3).then_some(12_000),
            steps: dice.chance(0.5).then_some(number),
            max_run: (number == 1.0).then_some(Span(90_000)),
            gate: Gate { held: dice.chance(0.1), ..Gate::OPEN },
            sweep: dice
                .chance(0.2)
                .then(|| SweepLimit { sweep: JobId(1), jobs: dice.one_of(&[0, 1, 3]) }),
        }),
        2 => EventKind::Cancelled { job },
        3 => EventKind::Progress { job, generation, steps: number },
        4 => EventKind::Finished { job, generation },
        5 => EventKind::Failed { job, generation, retry: dice.chance(0.5) },
        6 => EventKind::Preempted { job, generation },
        7 => EventKind::NodeUp(NodeSpec {
            name,
            gpu_type: dice.one_of(&["k80", "odd", ""]).into(),
            gpus: dice.one_of(&[0, 2, 4, 2000, u32::MAX]),
        }),
        8 if number > 1.0 => EventKind::NodeClosing { node: name },
        8 if number == 1.0 => {
            let window = NodeWindow { from: world.now + Span(60_000), lead: Span(30_000) };
            EventKind::NodePlannedOut { node: name, window: Some(window) }
        }
        8 => EventKind::NodeDown { node: name },
        9 => EventKind::Weight { tenant: TenantKey(dice.below(6)), weight: number },
        14 => EventKind::GroupWeight { group: GroupKey(dice.below(3)), weight: number },
        15 => {
            let parent = dice.chance(0.8).then(|| GroupKey(dice.below(3)));
            EventKind::GroupParent { group: GroupKey(dice.below(3)), parent }
        }
        16 => {
            let group = dice.chance(0.8).then(|| GroupKey(dice.below(3)));
            EventKind::TenantGroup { tenant: TenantKey(dice.below(6)), group }
        }
        17 => {
            let gpus = dice.chance(0.7).then(|| dice.one_of(&[0, 1, 3, u32::MAX]));
            EventKind::Limit { tenant: TenantKey(dice.below(6)), gpus }
        }
        18 => EventKind::WorkloadWeight { workload: WorkloadKey(dice.below(8)), weight: number },
        19 => {
            let types = dice.chance(0.5).then(|| dice.chance(0.5).then(|| vec!["k80".into()]));
            let priority = Some(dice.one_of(&[0, i32::MIN, i32::MAX]));
            EventKind::Changed {
                job,
                change: JobChange { priority, types, ..JobChange::default() },
            }
        }
        10 => EventKind::Lost { job, generation },
        11 => {
            let gate = Gate {
                held: dice.chance(0.5),
                not_before: dice.chance(0.2).then_some(Time(5)),
                after: if dice.chance(0.2) { vec![JobId(1)] } else { Vec::new() },
            };
            EventKind::Changed {
                job,
                change: JobChange { gate: Some(gate), ..JobChange::default() },
            }
        }
        12 => EventKind::Release { job },
        13 => {
            let tenant = TenantKey(dice.below(6));
            EventKind::Suspend { tenant, suspended: dice.chance(0.5) }
        }
        _ => EventKind::Profiled {
            workload: WorkloadKey(dice.below(8)),
            profile: Profile {
                gangs: Vec::new(),
                throughput: vec![number, dice.one_of(&[0.0, 2.0])],
                provenance: Provenance::Measured,
            },
        },
    }
}

/// A scheduler that decides otherwise: the first free GPUs, without stickiness or protection, and nothing twice the
/// same way in a row.
fn otherwise(state: &State, scope: Scope) -> Plan {
    let mut other = state.clone();
    other.set_settings(Settings {
        placement: PlacementRule::FirstFree,
        stickiness: (state.round().0 % 3) as f64,
        min_run: Span(0),
        waste_budget: 10.0,
        ..state.settings().clone()
    });
    plan(&other, scope)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_same_events_give_the_same_state(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        (world.answers, world.solving) = (Answers::Late, Solving::Aside);
        let mut again = world.state.clone();
        for _ in 0..80 {
            live_on(&mut world, dice, WILD);
        }
        let mut copy = again.clone();
        for event in &world.log {
            let _ = apply(&mut again, event.clone());
            // Deciding again comes to the same.
            if !matches!(event.kind, EventKind::Planned(_)) {
                let _ = step(&mut copy, event.clone());
            }
        }
        prop_assert_eq!(format!("{again:?}"), format!("{copy:?}"));
        prop_assert_eq!(format!("{:?}", world.state), format!("{again:?}"));
    }

    #[test]
    fn planning_changes_nothing(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        world.answers = Answers::Late;
        for _ in 0..40 {
            live_on(&mut world, dice, WILD);
            let before = format!("{:?}", world.state);
            let (round, fill) = (plan(&world.state, Scope::Round), plan(&world.state, Scope::Fill));
            prop_assert_eq!(&round, &plan(&world.state, Scope::Round));
            prop_assert_eq!(&fill, &plan(&world.state, Scope::Fill));
            prop_assert_eq!(before, format!("{:?}", world.state));
        }
    }

    #[test]
    fn what_another_scheduler_decided_is_replayed_as_it_was(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        (world.answers, world.solving, world.planner) = (Answers::Late, Solving::Late, otherwise);
        let mut again = world.state.clone();
        for _ in 0..80 {
            live_on(&mut world, dice, WILD);
        }
        for event in &world.log {
            let _ = apply(&mut again, event.clone());
        }
        prop_assert_eq!(format!("{:?}", world.state), format!("{again:?}"));
    }

    #[test]
    fn a_plan_for_another_state_is_refused_or_breaks_nothing(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        world.answers = Answers::Late;
        let mut old: Vec<Plan> = Vec::new();
        for _ in 0..60 {
            live_on(&mut world, dice, WILD);
            old.push(plan(&world.state, dice.one_of(&[Scope::Round, Scope::Fill])));
            let mut late = old[dice.below(old.len())].clone();
            late.round = world.state.round();
            let (before, mut state) = (format!("{:?}", world.state), world.state.clone());
            let event = Event { at: world.now, kind: EventKind::Planned(Box::new(late)) };
            match apply(&mut state, event) {
                Ok(_) => {
                    let wrong = broken(&state);
                    prop_assert!(wrong.is_empty(), "{wrong:#?}");
                }
                Err(_) => prop_assert_eq!(before, format!("{state:?}")),
            }
        }
    }

    #[test]
    fn nonsense_is_refused_and_changes_nothing(seed: u64) {
        let dice = &mut Dice(seed);
        let settings = settings(dice);
        let mut world = world(dice, settings, 4);
        world.answers = Answers::Late;
        for _ in 0..150 {
            if dice.chance(0.5) {
                live_on(&mut world, dice, WILD);
                continue;
            }
            let at = if dice.chance(0.05) { Time(world.now.0 / 2) } else { world.now };
            let kind = any_event(dice, &world);
            // A number near the end would make every later one a used one.
            if matches!(&kind, EventKind::Submitted(spec) if spec.id.0 > 1 << 60 && dice.chance(0.95)) {
                continue;
            }
            let before = format!("{:?}", world.state);
            let mut state = world.state.clone();
            let event = Event { at, kind };
            let actions = step(&mut state, event.clone());
            if let Err(refusal) = &actions {
                prop_assert_eq!(before, format!("{state:?}"), "{:?} {}", event, refusal);
            }
            let wrong = broken(&state);
            prop_assert!(wrong.is_empty(), "after {:?}: {:#?}", event, wrong);
        }
    }
}

#[test]
fn impossible_events_are_refused_with_a_reason() {
    let mut world = World::new(Settings::default(), &[("k80", 1, 2)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let tenant = TenantKey(0);
    world.wait(Span(1000));
    world.tick();
    let (runs, waits) = (world.submit(workload, 2), world.submit(workload, 1));
    let lease = |generation| Generation(generation);
    let (old, now) = (lease(0), lease(1));
    let profile = Profile::new(vec![-1.0], Provenance::Measured);
    let spec = |id, tenant, workload, workers| {
        EventKind::Submitted(JobSpec::new(id, tenant, workload, workers))
    };
    let node = |gpus| NodeSpec { name: "k80-0".into(), gpu_type: "k80".into(), gpus };
    let far = JobId(99);
    let cases = [
        (EventKind::Finished { job: runs, generation: old }, "job 1 runs under lease 1, not 0"),
        (EventKind::Preempted { job: runs, generation: now }, "job 1 is running and was not told"),
        (EventKind::Finished { job: waits, generation: now }, "job 2 is waiting"),
        (EventKind::Progress { job: runs, generation: now, steps: -1.0 }, "steps are a number"),
        (EventKind::Cancelled { job: far }, "there is no live job 99"),
        (spec(runs, tenant, workload, 1), "job 1 was submitted before"),
        (spec(far, TenantKey(7), workload, 1), "there is no such tenant"),
        (spec(far, tenant, WorkloadKey(7), 1), "there is no such workload"),
        (spec(far, tenant, workload, 0), "a job has at least one worker"),
        (spec(far, tenant, workload, u32::MAX), "a job has at most"),
        (EventKind::Release { job: waits }, "job 2 is not waiting for another try"),
        (EventKind::Lost { job: waits, generation: now }, "job 2 is waiting"),
        (EventKind::Lost { job: runs, generation: old }, "job 1 runs under lease 1, not 0"),
        (EventKind::Suspend { tenant: TenantKey(7), suspended: true }, "there is no such tenant"),
        (EventKind::GroupWeight { group: GroupKey(0), weight: 1.0 }, "there is no such group"),
        (EventKind::TenantGroup { tenant, group: Some(GroupKey(0)) }, "there is no such group"),
        (EventKind::WorkloadWeight { workload, weight: -1.0 }, "a weight is a finite number"),
        (EventKind::Limit { tenant: TenantKey(7), gpus: None }, "there is no such tenant"),
        (EventKind::Changed { job: far, change: JobChange::default() }, "there is no live job 99"),
        (
            EventKind::Changed {
                job: runs,
                change: JobChange { types: Some(None), ..JobChange::default() },
            },
            "job 1 is on its GPUs",
        ),
        (EventKind::NodeDown { node: "x".into() }, "there is no node `x`"),
        (EventKind::NodeUp(node(3)), "node `k80-0` is known with other GPUs"),
        (EventKind::Weight { tenant, weight: 0.0 }, "a weight is a finite number"),
        (EventKind::Weight { tenant: TenantKey(7), weight: 1.0 }, "there is no such tenant"),
        (EventKind::Profiled { workload, profile }, "throughputs are finite numbers"),
    ];
    for (kind, reason) in cases {
        let before = format!("{:?}", world.state);
        let actions = world.happen(kind.clone());
        let Some(refusal) = &world.refused else { panic!("{kind:?}: {actions:?}") };
        assert!(refusal.to_string().starts_with(reason), "{refusal}");
        assert_eq!(before, format!("{:?}", world.state));
    }
    world.now = Time(1);
    let actions = world.happen(EventKind::Tick);
    assert_eq!((actions, world.refused), (vec![], Some(Refusal::TimeWentBack(999))));
}
