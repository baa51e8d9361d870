//! The shares of a moment as a question that can be answered aside.
//!
//! A question has everything that the shares depend on, so that answering it needs no state: a driver that
//! must not wait asks for it, lets it be answered elsewhere, and brings the answer in as an event. Replaying
//! the event solves nothing.
//!
//! What is asked is one [`ProblemSpec`]: gpu types with the GPUs that are up, tenants with what they count in the
//! tree of groups and with their limits, workloads with their profiles and with the GPUs that their live jobs can
//! use. The answer is that of `oef_core` to exactly this problem. Without one (the solver failed or was stopped
//! early) the last shares are kept ([`fallback`](crate::fallback)).

use crate::answer::{Answer, Asked, WarmStart};
use crate::fallback::without_mechanism;
use crate::ids::{TenantKey, WorkloadKey};
use oef_core::problem::MAX_COOPERATIVE_PROFILES;
use oef_core::{
    Field, InvalidProblem, Mechanism, Options, Outcome, Problem, ProblemSpec, SolveError, Solver,
    Status, TypeId, solve,
};

/// A solve that was stopped this far from the optimum is worth less than the last shares.
const GAP_MAX: f64 = 0.05;

/// Rounding within which shares are within the GPUs that there are.
const SLACK: f64 = 1e-6;

/// What the shares of a moment depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub(crate) asked: Asked,
    pub(crate) mechanism: Mechanism,
    pub(crate) spec: ProblemSpec,
    pub(crate) left_out: Vec<(WorkloadKey, String)>,
    /// The last share of each workload of the problem; `None`: it had no part in the last problem.
    pub(crate) last: Vec<Option<Vec<f64>>>,
    pub(crate) warm: WarmStart,
}

impl Question {
    /// The tenants that it is about.
    pub fn tenants(&self) -> &[TenantKey] {
        &self.asked.tenants
    }

    /// The problem to be solved.
    pub fn problem(&self) -> &ProblemSpec {
        &self.spec
    }

    /// Solves it. This may take long: `options.stop` ends it early with the best that there is. Without
    /// an answer of the mechanism the last shares are kept, and [`Answer::trouble`] says why.
    pub fn answer(mut self, options: &Options<'_>) -> Answer {
        let mut solves = 0;
        loop {
            let problem = match self.valid() {
                Ok(Some(problem)) => problem,
                Ok(None) => return self.close(None, None, solves),
                Err(invalid) => return self.close(None, Some(invalid.to_string()), solves),
            };
            solves += 1;
            let found = self.solve(problem.clone(), options).and_then(|outcome| {
                let fault = self.fault(&problem, &outcome);
                fault.map_or(Ok(outcome), |fault| Err(Trouble::Other(fault)))
            });
            match found {
                Ok(outcome) => return self.close(Some((problem, outcome)), None, solves),
                Err(Trouble::TooLarge { limit }) if self.leave_out_beyond(limit) => {}
                Err(trouble) => return self.without_mechanism(problem, &trouble.text(), solves),
            }
        }
    }

    /// Answers without solving: the last shares, cut to what there is and what can be used.
    pub fn keep_last(mut self, cause: &str) -> Answer {
        match self.valid() {
            Ok(Some(problem)) => self.without_mechanism(problem, cause, 0),
            Ok(None) => self.close(None, None, 0),
            Err(invalid) => self.close(None, Some(invalid.to_string()), 0),
        }
    }

    fn without_mechanism(self, problem: Problem, cause: &str, solves: u64) -> Answer {
        let outcome = without_mechanism(&problem, self.mechanism, &self.last);
        let instead = match self.last.iter().any(Option::is_some) {
            true => "using last round's",
            false => "divided by weight",
        };
        let trouble = format!("shares could not be computed; {instead} ({cause})");
        self.close(Some((problem, outcome)), Some(trouble), solves)
    }

    fn close(
        self,
        solved: Option<(Problem, Outcome)>,
        trouble: Option<String>,
        solves: u64,
    ) -> Answer {
        let Question { asked, left_out, warm, .. } = self;
        Answer { asked, solved, trouble, left_out, solves, warm }
    }

    /// The problem, without what cannot be part of one; `Ok(None)`: nobody is left.
    fn valid(&mut self) -> Result<Option<Problem>, InvalidProblem> {
        while !self.asked.workloads.is_empty() {
            match self.spec.validate() {
                Ok(problem) => return Ok(Some(problem)),
                Err(invalid) if self.leave_out(&invalid) => {}
                Err(invalid) => return Err(invalid),
            }
        }
        Ok(None)
    }

    /// Leaves out every workload that an error is about, or whose tenant one is about. False: there is none.
    fn leave_out(&mut self, invalid: &InvalidProblem) -> bool {
        let reason = |t: usize, w: usize| {
            let about = |field: &Field| match *field {
                Field::TenantName(of) | Field::TenantWeight(of) | Field::TenantDemand(of) => {
                    t == of
                }
                Field::TenantGuarantee(of) | Field::TenantLimit(of) => t == of,
                Field::TenantWorkloads(of) => t == of,
                Field::WorkloadName(of, own)
                | Field::WorkloadWeight(of, own)
                | Field::WorkloadDemand(of, own)
                | Field::WorkloadThroughput(of, own)
                | Field::WorkloadSingle(of, own)
                | Field::WorkloadThroughputEntry(of, own, _) => (t, w) == (of, own),
                Field::Whole | Field::Reference | Field::GpuName(_) | Field::GpuCount(_) => false,
            };
            invalid.0.iter().find(|error| about(&error.field)).map(|error| error.message.clone())
        };
        self.keep_only(reason)
    }

    /// Leaves out the last workloads of the tenants with the most, so that no more than `limit` are left. False:
    /// there are more tenants than that.
    fn leave_out_beyond(&mut self, limit: usize) -> bool {
        let counts: Vec<usize> = self.spec.tenants.iter().map(|t| t.workloads.len()).collect();
        let within = |most: usize| counts.iter().map(|&n| n.min(most)).sum::<usize>() <= limit;
        let Some(most) = (1..limit).take_while(|&most| within(most)).last() else { return false };
        self.keep_only(|t, w| {
            let reason =
                || format!("its tenant has {} workloads, and {most} is the limit", counts[t]);
            (w >= most).then(reason)
        })
    }

    /// Leaves out the workloads (by tenant and position) for which there is a reason. False: there is none.
    fn keep_only(&mut self, reason: impl Fn(usize, usize) -> Option<String>) -> bool {
        let places = self.spec.tenants.iter().enumerate();
        let places = places.flat_map(|(t, of)| (0..of.workloads.len()).map(move |w| (t, w)));
        let reasons: Vec<Option<String>> = places.map(|(t, w)| reason(t, w)).collect();
        let kept: Vec<bool> = reasons.iter().map(Option::is_none).collect();
        let out = self.asked.workloads.iter().copied().zip(reasons);
        self.left_out.extend(out.filter_map(|(key, reason)| Some((key, reason?))));
        let mut at = kept.iter();
        for tenant in &mut self.spec.tenants {
            tenant.workloads.retain(|_| *at.next().unwrap_or(&true));
        }
        retain(&mut self.asked.workloads, &kept);
        retain(&mut self.last, &kept);
        let with_some: Vec<bool> =
            self.spec.tenants.iter().map(|tenant| !tenant.workloads.is_empty()).collect();
        retain(&mut self.spec.tenants, &with_some);
        retain(&mut self.asked.tenants, &with_some);
        retain(&mut self.asked.weights, &with_some);
        kept.contains(&false)
    }

    /// Asks the mechanism. Only `cooperative` starts from the last answer: the others are as fast without, and give
    /// the same shares to the last digit.
    fn solve(&mut self, problem: Problem, options: &Options<'_>) -> Result<Outcome, Trouble> {
        let mechanism = self.mechanism;
        let found = if mechanism == Mechanism::Cooperative {
            let solver = match self.warm.0.take() {
                Some(mut solver) if solver.mechanism() == mechanism => {
                    solver.replace(problem);
                    self.warm.0.insert(solver)
                }
                _ => self.warm.0.insert(Solver::new(problem, mechanism)),
            };
            solver.solve(options)
        } else {
            solve(&problem, mechanism, options)
        };
        found.map_err(|error| match error {
            SolveError::TooLarge { .. } => Trouble::TooLarge { limit: MAX_COOPERATIVE_PROFILES },
            other => Trouble::Other(other.to_string()),
        })
    }

    /// What is wrong with an answer, if anything is.
    fn fault(&self, problem: &Problem, outcome: &Outcome) -> Option<String> {
        let Outcome { shares, solver, .. } = outcome;
        let within = |(j, gpu): (usize, &oef_core::problem::GpuType)| {
            shares.used(TypeId(j)) <= gpu.capacity * (1.0 + SLACK) + SLACK
        };
        let sound = shares.is_for(problem) && problem.types().iter().enumerate().all(within);
        if !sound || shares.total(problem) <= 0.0 {
            return Some("the solver's answer is not within the GPUs that there are".into());
        }
        let has_last = self.last.iter().any(Option::is_some);
        let early = solver.status == Status::Feasible && solver.gap > GAP_MAX;
        (early && has_last).then(|| {
            format!("stopped {:.0} % from the optimum", 100.0 * solver.gap.clamp(0.0, 9.99))
        })
    }
}

/// Why there is no answer of the mechanism.
enum Trouble {
    TooLarge { limit: usize },
    Other(String),
}

impl Trouble {
    fn text(&self) -> String {
        match self {
            Trouble::TooLarge { limit } => format!("more than {limit} different profiles"),
            Trouble::Other(text) => text.clone(),
        }
    }
}

fn retain<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| *kept.next().unwrap_or(&true));
}
