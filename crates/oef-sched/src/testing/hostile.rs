//! One tenant does its worst, and the others do not lose by it.

use super::dice::Dice;
use super::scenario::{profile, settings};
use super::world::World;
use crate::*;
use oef_core::{Mechanism, TenantId, WorkloadId, workload_equal_split};
use proptest::prelude::*;

/// The mechanisms that promise everybody its equal split.
const INCENTIVE: [Mechanism; 4] =
    [Mechanism::Cooperative, Mechanism::Nash, Mechanism::Incentive, Mechanism::MaxMin];
/// Those that promise less. (`efficiency` promises nothing: who is slower than others may get nothing at all.)
const OTHERS: [Mechanism; 3] =
    [Mechanism::Noncooperative, Mechanism::Gavel, Mechanism::GandivaFair];

/// Three lives that differ in what one tenant does.
struct Lives {
    /// It does its worst in the first, is only there in the second, and has no jobs in the third.
    worlds: [World; 3],
    /// Its workloads.
    own: Vec<WorkloadKey>,
    /// Those of the others, whose jobs have one worker each.
    others: Vec<WorkloadKey>,
    types: usize,
}

const HOSTILE: TenantKey = TenantKey(0);

impl Lives {
    fn new(dice: &mut Dice, mechanism: Mechanism) -> Self {
        let settings = Settings { mechanism, ..settings(dice) };
        let types = dice.between(2, 3) as usize;
        let nodes: Vec<(&str, u32, u32)> = ["k80", "p100", "v100"][..types]
            .iter()
            .map(|name| (*name, dice.between(1, 3), dice.one_of(&[1, 2, 4, 8])))
            .collect();
        let mut world = World::new(settings, &nodes);
        world.checked = false;
        let tenant = world.state.tenant("hostile", dice.one_of(&[1.0, 2.0]));
        let own = (0..3).map(|w| {
            let speeds = profile(dice, types);
            world.workload(tenant, &format!("h{w}"), 1.0, &speeds)
        });
        let own: Vec<WorkloadKey> = own.collect();
        let mut others = Vec::new();
        for t in 0..dice.between(1, 4) {
            let weight = dice.one_of(&[1.0, 1.0, 2.0, 0.5]);
            let speeds = profile(dice, types);
            let workload = world.tenant(&format!("t{t}"), weight, &speeds);
            world.submit_many(workload, 1, dice.between(1, 30));
            others.push(workload);
        }
        let absent = world.clone();
        world.submit_many(own[0], 1, 30);
        Lives { worlds: [world.clone(), world, absent], own, others, types }
    }

    /// What a tenant may do: profiles, weights among its own workloads, jobs of any size.
    fn strike(&mut self, dice: &mut Dice) {
        let workload = self.own[dice.below(self.own.len())];
        let world = &mut self.worlds[0];
        match dice.below(5) {
            0..=2 => {
                let odd = [0.0, 1e-300, 1e-12, 1e-9, 1.0, 1e9, 1e12, 1e100, 1e300, f64::NAN];
                let odd = [odd.as_slice(), &[f64::INFINITY, -1.0, 1.0, 3.0]].concat();
                let throughput = (0..self.types).map(|_| dice.one_of(&odd)).collect();
                let profile = Profile::new(throughput, Provenance::Declared);
                // What the command refuses may be there from an old journal.
                world.happen(EventKind::Profiled { workload, profile: profile.clone() });
                if world.refused.is_some() {
                    world.state.workloads_mut()[workload.0].profile = profile;
                    world.state.invalidate_shares();
                }
            }
            3 => {
                let weight = dice.one_of(&[1e-300, 1e-12, 1.0, 1e12, 1e300]);
                world.happen(EventKind::WorkloadWeight { workload, weight });
            }
            _ => {
                let workers = dice.one_of(&[1, 1, 2, 7, 100, 100_000]);
                world.submit_many(workload, workers, dice.between(1, 20));
            }
        }
    }

    /// What happens to the others happens in both lives.
    fn go_on(&mut self, dice: &mut Dice) {
        let workload = self.others[dice.below(self.others.len())];
        let jobs = dice.between(1, 10);
        let ends = dice.chance(0.4);
        for world in &mut self.worlds {
            world.submit_many(workload, 1, jobs);
            let own = world.state.jobs().filter(|j| j.spec().workload == workload);
            let first = own.map(|job| job.spec().id).next();
            if let Some(job) = first.filter(|_| ends) {
                world.happen(EventKind::Cancelled { job });
            }
            world.tick();
        }
    }

    /// What the other workloads have of what they may expect, in one of the lives.
    fn check(&self, which: usize, incentive: bool) -> Result<(), String> {
        let state = &self.worlds[which].state;
        let entitlement = state.entitlement();
        if let Some(trouble) = entitlement.trouble() {
            return Err(format!("{trouble}, {:?}", entitlement.answer()));
        }
        let (problem, outcome) = entitlement.answer().ok_or("there are no shares")?;
        let live = self.others.iter().filter(|w| state.active_workloads().contains(w));
        for &key in live {
            let l = entitlement.workloads().iter().position(|w| *w == key);
            let id = WorkloadId(l.ok_or("a workload was left out")?);
            let has = outcome.shares.workload_throughput(problem, id);
            let equal = workload_equal_split(problem, id);
            let least = if incentive { equal * (1.0 - 1e-6) } else { equal * 1e-6 };
            if has < least {
                return Err(format!("{key:?} has {has} of {equal} in {problem:?}"));
            }
        }
        let weight =
            problem.tenant_ids().filter(|TenantId(t)| entitlement.tenants()[*t] == HOSTILE);
        let weight: f64 = weight.map(|t| problem.tenants()[t.0].weight).sum();
        let most = state.tenants()[HOSTILE.0].weight;
        (weight <= most).then_some(()).ok_or(format!("it counts {weight}, not {most}"))
    }
}

/// What a workload has in one of the lives, in its own units.
#[derive(Clone, Copy, Debug)]
struct Worth {
    /// What its share is worth.
    share: f64,
    /// What an equal split by weight would be worth, as far as it can use it.
    equal: f64,
    weight: f64,
    /// It could not use more GPUs than it has.
    is_limited: bool,
}

impl Lives {
    fn worth(&self, which: usize, key: WorkloadKey) -> Option<Worth> {
        let state = &self.worlds[which].state;
        let entitlement = state.entitlement();
        let (problem, outcome) = entitlement.answer()?;
        let id = WorkloadId(entitlement.workloads().iter().position(|w| *w == key)?);
        let of = problem.workloads().get(id.0)?;
        // Speedups are counted against a reference type, which may be another one in another life.
        let profile = &state.workloads()[key.0].profile;
        let unit = problem.types().iter().zip(&of.speedup).find_map(|(t, speedup)| {
            let at = state.cluster().types().iter().position(|known| *known == t.name)?;
            (*speedup > 0.0).then(|| profile.on(at) / speedup)
        })?;
        let used: f64 = outcome.shares.of_workload(id).iter().sum();
        Some(Worth {
            share: outcome.shares.workload_throughput(problem, id) * unit,
            equal: workload_equal_split(problem, id) * unit,
            weight: of.weight,
            is_limited: of.demand.is_some_and(|demand| used >= demand * (1.0 - 1e-6)),
        })
    }

    /// What one tenant's acts cost the others, against lives in which it is only there and in which it is not.
    fn compare(&self, mechanism: Mechanism) -> Result<(), String> {
        let state = &self.worlds[0].state;
        let entitlement = state.entitlement();
        let counts =
            entitlement.workloads().iter().any(|w| state.workloads()[w.0].tenant == HOSTILE);
        let (mut cost, mut is_limited) = (0.0, false);
        for &key in self.others.iter().filter(|w| state.active_workloads().contains(w)) {
            let [Some(hostile), Some(present), Some(absent)] =
                [0, 1, 2].map(|which| self.worth(which, key))
            else {
                return Err(format!("{key:?} was left out"));
            };
            let told = || format!("{key:?}: {hostile:?}, {present:?}, {absent:?}");
            // Its presence counts with its weight, and nothing that it does makes that more.
            if hostile.equal < present.equal * (1.0 - 1e-9) {
                return Err(format!("its acts lower an equal split: {}", told()));
            }
            if hostile.share < present.equal * (1.0 - 1e-6) {
                return Err(format!("its acts cost more than trade had added: {}", told()));
            }
            // Where it is left out, it is as if it were not there.
            let gap = (hostile.share - absent.share).abs();
            if !counts && gap > 1e-6 * absent.share {
                return Err(format!("it is left out, and changes a share: {}", told()));
            }
            cost += absent.weight * (absent.share / hostile.share - 1.0);
            is_limited |= hostile.is_limited || absent.is_limited;
        }
        let weight = state.tenants()[HOSTILE.0].weight;
        if mechanism == Mechanism::Nash && !is_limited && cost > weight * (1.0 + 1e-6) {
            return Err(format!("it costs the others {cost}, and has the weight {weight}"));
        }
        Ok(())
    }
}

fn nobody_loses(seed: u64, mechanism: Mechanism, incentive: bool) -> Result<(), TestCaseError> {
    let dice = &mut Dice(seed);
    let mut lives = Lives::new(dice, mechanism);
    for _ in 0..12 {
        for _ in 0..dice.between(1, 3) {
            lives.strike(dice);
        }
        lives.go_on(dice);
        for which in [0, 1, 2] {
            let result = lives.check(which, incentive);
            prop_assert!(result.is_ok(), "{mechanism}, life {which}: {result:?}");
        }
        if incentive {
            let result = lives.compare(mechanism);
            prop_assert!(result.is_ok(), "{mechanism}: {result:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nobody_falls_below_its_equal_split_because_of_another(seed: u64) {
        for mechanism in INCENTIVE {
            nobody_loses(seed, mechanism, true)?;
        }
    }

    #[test]
    fn nobody_loses_all_because_of_another(seed: u64) {
        for mechanism in OTHERS {
            nobody_loses(seed, mechanism, false)?;
        }
    }
}

/// Gangs are counted in units of a single worker: one that is next to nothing beside it would have to get everything
/// where all are to have the same throughput.
#[test]
fn a_gang_that_is_next_to_nothing_beside_a_single_worker_is_left_out_alone() {
    let settings = Settings { mechanism: Mechanism::Noncooperative, ..Settings::default() };
    let mut world = World::new(settings, &[("slow", 1, 4), ("fast", 1, 8)]);
    let good = world.tenant("good", 1.0, &[1.0, 3.0]);
    let bad = world.tenant("bad", 1.0, &[1e9, 3.0]);
    world.submit_many(good, 1, 12);
    let types = Some(vec!["fast".to_string()]);
    let gang = JobSpec { types, ..world.spec(bad, 8) };
    let gang = world.submit_spec(gang);
    world.tick();
    let share: f64 = world.state.workloads()[good.0].share.iter().sum();
    assert!((share - 12.0).abs() < 1e-9, "{share}");
    let row = world.state.job(gang).map(Job::row).expect("a job");
    assert!(world.state.entitlement().why_left_out(row).is_some());
}

#[test]
fn a_profile_that_cannot_be_used_is_left_out_alone() {
    let mut world = World::new(Settings::default(), &[("slow", 1, 4), ("fast", 1, 4)]);
    let good = world.tenant("good", 1.0, &[1.0, 3.0]);
    let bad = world.tenant("bad", 1.0, &[1e-12, 1.0]);
    let also = world.workload(TenantKey(1), "fine", 1.0, &[1.0, 2.0]);
    world.submit_many(good, 1, 3);
    let job = world.submit(bad, 1);
    world.submit_many(bad, 1, 9);
    world.tick();
    let shares =
        |world: &World, w: WorkloadKey| -> f64 { world.state.workloads()[w.0].share.iter().sum() };
    assert!((shares(&world, good) - 3.0).abs() < 1e-9 && shares(&world, bad) == 0.0);
    let reason = "its profile cannot be used: its throughputs range from 1e-12 to 1e0; they may differ by a factor of 1e6 at most";
    assert_eq!(world.state.entitlement().left_out(), [(bad, reason.to_string())]);
    let told = why_tenant(&world.state, TenantKey(1)).map(|f| f.sentence).unwrap_or_default();
    assert!(told.starts_with("has no share for workload w: its profile cannot be used"), "{told}");
    // It runs on what nobody else can use.
    assert!(world.runs(job));
    let waits = world.state.jobs().find(|job| job.state() == JobState::Queued).expect("ten of it");
    let waits = why(&world.state, waits.spec().id).map(|f| f.sentence).unwrap_or_default();
    assert!(waits.ends_with("it runs on GPUs that nobody else can use"), "{waits}");
    // Its tenant's other workload has the tenant's part.
    world.submit_many(good, 1, 9);
    world.submit_many(also, 1, 9);
    world.tick();
    let given = [good, bad, also].map(|w| shares(&world, w));
    assert!(given[0] > 1.0 && given[1] == 0.0 && given[2] > 1.0, "{given:?}");
    assert_eq!(world.state.entitlement().left_out().len(), 1);
    let told = why_tenant(&world.state, TenantKey(1)).map(|f| f.sentence).unwrap_or_default();
    let both = ["is entitled to", "; has no share for workload w: its profile cannot be used"];
    assert!(both.iter().all(|said| told.contains(said)), "{told}");
}
