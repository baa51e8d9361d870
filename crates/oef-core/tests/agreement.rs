//! Every mechanism against an oracle that shares no code with it.
//!
//! The plain run takes a few hundred problems per mechanism. `OEF_LONG=1 cargo test --release
//! --test agreement -- --nocapture` takes more than 10,000 and tells how far it is; with
//! `OEF_FAILURES=DIR` every problem that failed is left there as a problem file.

mod common;

use common::valid;
use oef_core::{Mechanism, Options, Problem, ProblemSpec, Shares, solve};
use oef_oracle::families::{self, Family, Size};
use oef_oracle::verdict::{self, Verdict};
use oef_oracle::{problem_file, shrink};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One part of the run: problems of a size from some families, who judges them, and how many there are.
struct Part {
    size: Size,
    families: &'static [Family],
    judge: Judge,
    short: usize,
    long: usize,
    /// The oracle may be without an opinion so seldom, and twice more.
    skipped_one_in: usize,
}

/// The parts for a mechanism. The solvers go other ways beyond some sizes (8 profiles for cooperative,
/// 40 for the others), so the exact oracle is asked on both sides of them.
fn parts(mechanism: Mechanism) -> Vec<Part> {
    let exact = |rows: usize, types: usize, short: usize, long: usize| Part {
        size: Size { rows, types },
        families: &Family::ALL,
        judge: verdict::exactly,
        short,
        long,
        skipped_one_in: 20,
    };
    let plain = |rows: usize, types: usize, short: usize, long: usize| Part {
        size: Size { rows, types },
        families: &Family::ALL,
        judge: verdict::plainly,
        short,
        long,
        skipped_one_in: 20,
    };
    match mechanism {
        Mechanism::Cooperative => vec![
            exact(6, 4, 320, 10_000),
            exact(13, 4, 36, 1_500),
            plain(40, 10, 24, 400),
            plain(60, 8, 2, 40),
        ],
        Mechanism::MaxMin => vec![exact(6, 4, 320, 10_000), exact(40, 4, 72, 1_000)],
        // The rule does not say who trades first among equals, and some trade for too long.
        Mechanism::GandivaFair => vec![
            Part { skipped_one_in: 4, ..exact(6, 4, 320, 10_000) },
            // Of larger ones it answers two of three; with some seeds a little fewer.
            Part { skipped_one_in: 1, ..exact(40, 4, 72, 1_000) },
        ],
        _ => vec![
            exact(6, 4, 320, 10_000),
            exact(60, 4, 9, 400),
            plain(40, 10, 24, 400),
            plain(150, 10, 3, 90),
        ],
    }
}

/// Failures shown in full; one is enough to start with, a few show the pattern.
const SHOWN: usize = 3;
/// Failures of a family made smaller before they are shown or kept; each takes many solves.
const SHRUNK: usize = 10;

type Judge = fn(&Problem, Mechanism, Option<f64>, &Shares) -> Verdict;

#[test]
fn noncooperative_agrees() {
    agrees(Mechanism::Noncooperative);
}

#[test]
fn cooperative_agrees() {
    agrees(Mechanism::Cooperative);
}

#[test]
fn nash_agrees() {
    agrees(Mechanism::Nash);
}

#[test]
fn incentive_agrees() {
    agrees(Mechanism::Incentive);
}

#[test]
fn max_min_agrees() {
    agrees(Mechanism::MaxMin);
}

#[test]
fn efficiency_agrees() {
    agrees(Mechanism::Efficiency);
}

#[test]
fn gavel_agrees() {
    agrees(Mechanism::Gavel);
}

#[test]
fn gandiva_fair_agrees() {
    agrees(Mechanism::GandivaFair);
}

fn agrees(mechanism: Mechanism) {
    let is_long = std::env::var_os("OEF_LONG").is_some();
    let mut tally =
        Tally { mechanism, is_long, judged: 0, skipped: 0, as_good: 0, failures: Vec::new() };
    for part in parts(mechanism) {
        tally.compare(&part);
    }
    tally.close();
}

struct Tally {
    mechanism: Mechanism,
    is_long: bool,
    judged: usize,
    /// Problems that the oracle could not answer itself.
    skipped: usize,
    as_good: usize,
    failures: Vec<Failure>,
}

struct Failure {
    family: Family,
    title: String,
    spec: ProblemSpec,
}

impl Tally {
    /// Goes through the families seed by seed until as many problems as wanted were judged.
    fn compare(&mut self, part: &Part) {
        let wanted = if self.is_long { part.long } else { part.short };
        let before = (self.judged, self.skipped);
        let families = |seed: u64| part.families.iter().map(move |&family| (family, seed));
        let mut cases = (families::first_seed()..).flat_map(families);
        let (mut judged, mut skipped) = (0, 0);
        // An oracle that is silent more often than that is no oracle.
        while judged < wanted && skipped <= 2 + wanted / part.skipped_one_in {
            let Some((family, seed)) = cases.next() else { break };
            self.judge(families::problem(family, part.size, seed), family, seed, part.judge);
            (judged, skipped) = (self.judged - before.0, self.skipped - before.1);
            if self.judged.is_multiple_of(1000) {
                self.tell(&format!("{} judged", self.judged));
            }
        }
        assert!(judged >= wanted, "{}: {judged} judged, {skipped} not judged", self.mechanism);
    }

    fn judge(&mut self, spec: ProblemSpec, family: Family, seed: u64, judge: Judge) {
        let is_gavel = self.mechanism == Mechanism::Gavel;
        let gavel_cap = (is_gavel && seed % 4 == 1).then_some(0.5 + (seed % 7) as f64 / 2.0);
        let options = Options { gavel_cap, ..Options::default() };
        let verdict = |spec: &ProblemSpec| {
            let problem = valid(spec);
            // A panic is a wrong answer like any other, to be made smaller and shown.
            let found = AssertUnwindSafe(|| solve(&problem, self.mechanism, &options));
            match catch_unwind(found) {
                Ok(Ok(outcome)) => judge(&problem, self.mechanism, gavel_cap, &outcome.shares),
                Ok(Err(error)) => Verdict::Wrong(error.to_string()),
                Err(_) => Verdict::Wrong("a panic".into()),
            }
        };
        let found = verdict(&spec);
        self.judged += usize::from(found != Verdict::NoOpinion);
        self.skipped += usize::from(found == Verdict::NoOpinion);
        if found == Verdict::NoOpinion {
            self.tell(&format!("no opinion on {family:?} {seed}"));
        }
        self.as_good += usize::from(found == Verdict::AsGood);
        if let Verdict::Wrong(fault) = found {
            let cap = gavel_cap.map_or(String::new(), |cap| format!(" with a cap of {cap}"));
            let title = format!("{} {family:?} {seed}{cap}: {fault}", self.mechanism);
            let known = self.failures.iter().filter(|f| f.family == family).count();
            let smallest = if known < SHRUNK {
                shrink(&spec, |spec| matches!(verdict(spec), Verdict::Wrong(_)))
            } else {
                spec
            };
            let now = verdict(&smallest);
            let title = format!("{title}\n# here: {now:?}");
            self.keep(&title, &smallest, &format!("{family:?}-{seed}"));
            self.failures.push(Failure { family, title, spec: smallest });
        }
    }

    /// Leaves the problem as a file where the caller asked for one.
    #[allow(clippy::disallowed_methods, reason = "a failure is to be a file")]
    fn keep(&self, title: &str, spec: &ProblemSpec, name: &str) {
        if let Some(folder) = std::env::var_os("OEF_FAILURES") {
            let path =
                std::path::Path::new(&folder).join(format!("{}-{name}.toml", self.mechanism));
            let text = format!("# {title}\n{}", problem_file(spec));
            std::fs::write(&path, text).expect("OEF_FAILURES names a folder to write to");
        }
    }

    fn close(self) {
        let (judged, skipped) = (self.judged, self.skipped);
        let (as_good, wrong) = (self.as_good, self.failures.len());
        self.tell(&format!(
            "done: {judged} judged, {skipped} skipped, {wrong} wrong, {as_good} as good within 1e-9"
        ));
        let shown: Vec<String> = (self.failures.iter().take(SHOWN))
            .map(|f| format!("# {}\n{}", f.title, problem_file(&f.spec)))
            .collect();
        assert!(wrong == 0, "{wrong} of {judged} are wrong:\n{}", shown.join("\n"));
    }

    #[expect(clippy::print_stderr, reason = "a long run tells how far it is")]
    fn tell(&self, what: &str) {
        if self.is_long {
            eprintln!("{}: {what}", self.mechanism);
        }
    }
}
