//! The shares of a moment as a question that can be answered aside, and its answer.
//!
//! A question has everything that the shares depend on, so that answering it needs no state: a driver that
//! must not wait asks for it, lets it be answered elsewhere, and brings the answer in as an event. Replaying
//! the event solves nothing.

use crate::action::Refusal;
use crate::give_back::{equal_division, give_back};
use crate::ids::{TenantKey, WorkloadKey};
use crate::state::State;
use oef_core::{Mechanism, Options, Outcome, Problem, ProblemSpec, Solver, TenantId};
use std::fmt;

/// What the shares of a moment depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub(crate) asked: Asked,
    pub(crate) mechanism: Mechanism,
    pub(crate) spec: ProblemSpec,
    /// GPUs that each workload of the problem can use.
    pub(crate) usable: Vec<f64>,
    pub(crate) warm: WarmStart,
}

/// About whom a question was asked, and when.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Asked {
    /// How many changes there had been that call for new shares.
    pub version: u64,
    /// The tenants of the problem, in its order.
    pub tenants: Vec<TenantKey>,
    /// The workloads of the problem, in its order.
    pub workloads: Vec<WorkloadKey>,
    /// The workloads that had live jobs.
    pub active: Vec<WorkloadKey>,
    /// GPUs that each tenant of the problem could use.
    pub wanted: Vec<u64>,
    /// What each tenant of the problem counted.
    pub weights: Vec<f64>,
}

/// The answer to a [`Question`]: shares, for whom they are, and what went wrong if anything did.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Answer {
    pub(crate) asked: Asked,
    /// The GPUs of each tenant's share.
    pub(crate) given: Vec<f64>,
    solved: Option<(Problem, Outcome)>,
    trouble: Option<String>,
    solves: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) warm: WarmStart,
}

/// What the last solve learned. It makes the next one faster and changes no answer, so that it is neither
/// compared nor written down.
#[derive(Clone, Default)]
pub(crate) struct WarmStart(pub Option<Solver>);

impl fmt::Debug for WarmStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl PartialEq for WarmStart {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Question {
    /// The tenants that it is about.
    pub fn tenants(&self) -> &[TenantKey] {
        &self.asked.tenants
    }

    /// The problem to be solved, with what each tenant can use.
    pub fn problem(&self) -> &ProblemSpec {
        &self.spec
    }

    /// Solves it. This may take long: `options.stop` ends it early with the best that there is. Without
    /// any answer of the mechanism everything is divided by weight, and [`Answer::trouble`] says why.
    pub fn answer(self, options: &Options<'_>) -> Answer {
        let Question { asked, mechanism, spec, usable, warm } = self;
        let mut solving = Solving { mechanism, options, warm, trouble: None, solves: 0 };
        let solved = match spec.validate() {
            Err(_) if asked.tenants.is_empty() => None,
            Err(invalid) => {
                solving.trouble = Some(invalid.to_string());
                None
            }
            Ok(problem) => {
                let mut solve = |part: Problem| solving.run(part);
                let outcome = give_back(&problem, mechanism, &usable, &mut solve);
                Some((problem, outcome))
            }
        };
        let given = |t: usize| {
            let shares = solved.as_ref().map(|(p, o)| o.shares.of_tenant(p, TenantId(t)));
            shares.map_or(0.0, |shares| shares.iter().sum())
        };
        let given = (0..asked.tenants.len()).map(given).collect();
        let Solving { warm, trouble, solves, .. } = solving;
        Answer { asked, given, solved, trouble, solves, warm }
    }
}

struct Solving<'a> {
    mechanism: Mechanism,
    options: &'a Options<'a>,
    warm: WarmStart,
    trouble: Option<String>,
    solves: u64,
}

impl Solving<'_> {
    /// Solves with the memory of the last time; without an answer everything is divided by weight.
    fn run(&mut self, problem: Problem) -> Outcome {
        self.solves += 1;
        let mechanism = self.mechanism;
        let solver = match self.warm.0.take() {
            Some(mut solver) if solver.mechanism() == mechanism => {
                solver.replace(problem);
                self.warm.0.insert(solver)
            }
            _ => self.warm.0.insert(Solver::new(problem, mechanism)),
        };
        solver.solve(self.options).unwrap_or_else(|error| {
            self.trouble = Some(error.to_string());
            equal_division(solver.problem(), mechanism)
        })
    }
}

impl Answer {
    /// The problem (with demands) and its shares; `None` where there is nothing to share.
    pub fn solved(&self) -> Option<(&Problem, &Outcome)> {
        self.solved.as_ref().map(|(problem, outcome)| (problem, outcome))
    }

    /// The tenants of the problem, in its order.
    pub fn tenants(&self) -> &[TenantKey] {
        &self.asked.tenants
    }

    /// The workloads of the problem, in its order.
    pub fn workloads(&self) -> &[WorkloadKey] {
        &self.asked.workloads
    }

    /// What went wrong with the mechanism, if it did: the shares are then those of a division by weight.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// How often the mechanism was solved for it.
    pub fn solves(&self) -> u64 {
        self.solves
    }

    /// Whether it can be the answer to a question of this state, now or earlier.
    pub(crate) fn check(&self, state: &State) -> Result<(), Refusal> {
        let Asked { tenants, workloads, active, wanted, weights, version } = &self.asked;
        let known = tenants.iter().all(|t| t.0 < state.tenants.len())
            && workloads.iter().chain(active).all(|w| w.0 < state.workloads.len())
            && *version <= state.entitlement.version();
        let lengths = [wanted.len(), weights.len(), self.given.len()];
        let whole = lengths.iter().all(|&n| n == tenants.len());
        let fits = self.solved.as_ref().is_none_or(|(problem, outcome)| {
            problem.tenants().len() == tenants.len()
                && problem.workloads().len() == workloads.len()
                && problem.types().len() <= state.cluster.types().len()
                && outcome.shares.is_for(problem)
        });
        match known && whole && fits {
            true => Ok(()),
            false => Err(Refusal::BadValue("the shares are not for this cluster".into())),
        }
    }
}
