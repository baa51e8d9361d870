//! What is seen of gangs: learnt where there was an estimate, compared where somebody gave a figure.

use super::lab::WORKLOAD;
use crate::gang::{GangFigures, Stands};
use crate::guard::{Guard, Policy, RunPlace, SeenGang, Word};
use crate::ids::{Generation, JobId};
use crate::profile::{Profile, Provenance};
use crate::testing::dice::Dice;
use crate::time::{Span, Time};
use Stands::{Spread, Together};

/// Steps per second of a single worker, and of a gang of four on one host and over several.
#[derive(Clone, Copy)]
struct Truth {
    single: Option<f64>,
    together: Option<f64>,
    spread: Option<f64>,
}

const TRUTH: Truth = Truth { single: Some(10.0), together: Some(8.0), spread: Some(2.0) };

struct Gangs {
    guard: Guard,
    profile: Profile,
    truth: Truth,
    dice: Dice,
    at: Time,
    runs: u64,
    steps: f64,
}

impl Gangs {
    fn new(truth: Truth, said: &[(Stands, f64)], seed: u64) -> Gangs {
        let mut profile = Profile::new(vec![1.0], Provenance::Declared);
        let figure = |&(stands, on)| GangFigures { workers: 4, stands, throughput: vec![on] };
        profile.gangs = said.iter().map(figure).collect();
        let (guard, dice) = (Guard::default(), Dice(seed));
        Gangs { guard, profile, truth, dice, at: Time(0), runs: 0, steps: 0.0 }
    }

    /// One run of a single worker and of each gang, each up to 20 % off and so each of its windows.
    fn runs(&mut self, policy: Policy) -> Vec<SeenGang> {
        let kinds =
            [(1, 1, self.truth.single), (4, 1, self.truth.together), (4, 2, self.truth.spread)];
        for (workers, nodes, rate) in kinds {
            let Some(rate) = rate else { continue };
            self.runs += 1;
            let job = JobId(self.runs);
            let luck = 0.8 + 0.4 * self.dice.real();
            for _ in 0..14 {
                self.at = self.at + Span(30_000);
                self.steps += rate * luck * 30.0 * (0.8 + 0.4 * self.dice.real());
                let place = RunPlace { gpu_type: 0, workers, nodes, node: 0, kind: 7 };
                let word = Word {
                    job,
                    generation: Generation(1),
                    workload: WORKLOAD,
                    place,
                    steps: self.steps,
                    checkpoint: None,
                    wait: None,
                    clock_ms: Some(self.at.0),
                };
                self.guard.word(self.at, &word);
            }
            self.guard.ended(WORKLOAD, job);
        }
        let judged = self.guard.judgement(WORKLOAD, &self.profile, policy).expect("it was seen");
        self.guard.settle(&judged);
        for seen in judged.gangs.iter().filter(|seen| seen.counts) {
            let is_of = |g: &GangFigures| (g.workers, g.stands) == (seen.workers, seen.stands);
            self.profile.gangs.retain(|g| !is_of(g));
            let (workers, stands, throughput) = (seen.workers, seen.stands, vec![seen.kept]);
            self.profile.gangs.push(GangFigures { workers, stands, throughput });
        }
        judged.gangs
    }

    fn known(&self, stands: Stands) -> Option<f64> {
        self.profile.gang_figure(0, 4, stands)
    }
}

fn near(found: Option<f64>, expected: f64, within: f64) -> bool {
    found.is_some_and(|found| (found / expected).ln().abs() < within)
}

#[test]
fn what_was_an_estimate_is_learnt_and_gets_better() {
    for seed in 0..50 {
        let mut gangs = Gangs::new(TRUTH, &[], seed);
        let first = gangs.runs(Policy::Report);
        assert_eq!(first.len(), 2, "nothing was declared against it: {first:?}");
        assert!(near(gangs.known(Together), 0.8, 0.8) && near(gangs.known(Spread), 0.2, 1.2));
        let told: usize = (0..39).map(|_| gangs.runs(Policy::Report).len()).sum();
        assert!(told <= 14, "{seed}: told {told} times, each with twice the evidence");
        assert!(near(gangs.known(Together), 0.8, 0.15), "{:?}", gangs.known(Together));
        assert!(near(gangs.known(Spread), 0.2, 0.2), "{:?}", gangs.known(Spread));
    }
}

#[test]
fn a_true_figure_stays_and_a_false_one_is_replaced_where_the_operator_wants_it() {
    for seed in 0..200 {
        let mut honest = Gangs::new(TRUTH, &[(Together, 0.8), (Spread, 0.2)], seed);
        let told: usize = (0..30).map(|_| honest.runs(Policy::Replace).len()).sum();
        assert_eq!(told, 0, "{seed}");
    }
    // A gang that claims to lose nothing over hosts, and one that claims to lose nine tenths on one host.
    for (stands, said, truth) in [(Spread, 0.8, 0.2), (Together, 0.08, 0.8)] {
        let mut liar = Gangs::new(TRUTH, &[(stands, said)], 3);
        (0..12).for_each(|_| _ = liar.runs(Policy::Report));
        assert_eq!(liar.known(stands), Some(said), "it is only said");
        (0..12).for_each(|_| _ = liar.runs(Policy::Replace));
        assert!(near(liar.known(stands), truth, 0.3), "{:?}", liar.known(stands));
    }
    let mut liar = Gangs::new(TRUTH, &[(Spread, 0.8)], 3);
    let said: Vec<usize> = (0..30)
        .map(|_| liar.runs(Policy::Report).iter().filter(|s| s.stands == Spread).count())
        .collect();
    assert!((1..=5).contains(&said.iter().sum::<usize>()), "not in every round: {said:?}");
}

#[test]
fn nothing_is_seen_without_alike_runs_or_with_other_steps() {
    // A step of the gang is all that a single worker's is, done by four: no step of the same kind.
    let strong = Truth { together: Some(36.0), spread: None, ..TRUTH };
    let alone = Truth { single: None, spread: None, ..TRUTH };
    for truth in [strong, alone] {
        let mut gangs = Gangs::new(truth, &[], 1);
        assert!((0..9).all(|_| gangs.runs(Policy::Replace).is_empty()));
    }
    // A little more than a single worker counts as much.
    let mut gangs = Gangs::new(Truth { together: Some(10.8), ..TRUTH }, &[], 1);
    (0..20).for_each(|_| _ = gangs.runs(Policy::Replace));
    assert_eq!(gangs.known(Together), Some(1.0));
    // The guard is off.
    let mut gangs = Gangs::new(TRUTH, &[], 1);
    assert!(gangs.runs(Policy::Off).is_empty());
}

#[test]
fn a_gang_that_never_stands_together_is_compared_with_single_workers() {
    let mut gangs = Gangs::new(Truth { together: None, ..TRUTH }, &[], 1);
    (0..20).for_each(|_| _ = gangs.runs(Policy::Replace));
    assert_eq!(gangs.known(Together), None);
    assert!(near(gangs.known(Spread), 0.2, 0.2), "{:?}", gangs.known(Spread));
}
