//! The same in sentences.

use super::{Explanation, Holding, TenantReason, TypeReason};
use crate::audit::is_held;
use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::mechanism::Mechanism;
use crate::problem::Problem;

impl Explanation {
    /// The explanation in sentences; with a tenant, only what concerns it.
    pub fn sentences(&self, problem: &Problem, tenant: Option<TenantId>) -> Vec<String> {
        let writer = Writer { explanation: self, problem };
        let mut all = Vec::new();
        if tenant.is_none() {
            all.push(writer.total());
            all.extend(self.types.iter().map(|t| writer.gpu_type(t)));
        }
        for reason in self.tenants.iter().filter(|r| tenant.is_none_or(|t| t == r.tenant)) {
            writer.tenant(reason, tenant.is_some(), &mut all);
        }
        all.extend(writer.trades(tenant));
        all
    }
}

struct Writer<'a> {
    explanation: &'a Explanation,
    problem: &'a Problem,
}

impl Writer<'_> {
    fn total(&self) -> String {
        let reference = &self.problem.types()[self.problem.reference().0].name;
        let mechanism = self.explanation.outcome.mechanism;
        let total = figure(self.explanation.total);
        format!("Under {mechanism} the cluster does {total}, where one {reference} counts 1.")
    }

    fn gpu_type(&self, reason: &TypeReason) -> String {
        let name = &self.problem.types()[reason.gpu.0].name;
        let mut text = match (reason.capacity > 0.0, reason.exhausted) {
            (false, _) => format!("There is no {name}"),
            (true, true) => format!("All {} {name} are handed out", figure(reason.capacity)),
            (true, false) => {
                let idle = figure(reason.capacity - reason.used);
                let all = figure(reason.capacity);
                let any_limit = self.problem.tenants().iter().any(|t| !t.limit.is_empty());
                let why = match (any_limit, self.is_useful(reason.gpu)) {
                    (true, _) => ": nobody can use more of them within its limit",
                    (false, false) => ": nobody can use more of them",
                    // A cap on everybody, or a solver that was stopped on its way.
                    (false, true) => "",
                };
                format!("{idle} of {all} {name} are idle{why}")
            }
        };
        if let Some(price) = reason.price {
            text += &format!("; the price is {}", figure(price));
        }
        if let Some(more) = &reason.one_more {
            text += &format!("; one more would change the total by {}", signed(more.total));
            let most = (more.tenants.iter().enumerate())
                .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
            if let Some((t, &gain)) = most
                && gain > SMALL * self.explanation.total
            {
                text += &format!(", most of all {} ({})", self.name(TenantId(t)), signed(gain));
            }
        }
        text + "."
    }

    /// Whether somebody who runs on a type could use more GPUs than it has.
    fn is_useful(&self, gpu: TypeId) -> bool {
        self.problem.workloads().iter().enumerate().any(|(l, of)| {
            let used: f64 = self.explanation.outcome.shares.of_workload(WorkloadId(l)).iter().sum();
            of.speedup[gpu.0] > 0.0 && of.demand.is_none_or(|d| used < d * (1.0 - SMALL))
        })
    }

    fn tenant(&self, reason: &TenantReason, alone: bool, all: &mut Vec<String>) {
        let name = self.name(reason.tenant);
        all.push(self.level(reason));
        all.extend(self.promises(reason.tenant));
        let workloads: Vec<WorkloadId> = self.problem.workload_ids_of(reason.tenant).collect();
        for &workload in &workloads {
            let who = match workloads.len() {
                1 => name.to_string(),
                _ => format!("{name}'s {}", self.problem.workloads()[workload.0].name),
            };
            let seen: Vec<&Holding> =
                reason.holdings.iter().filter(|h| h.workload == workload).collect();
            all.push(self.holding(&who, workload, &seen, &reason.envied_by));
        }
        if reason.at_demand {
            all.push(format!("{name} holds all the GPUs that it can use: its demand binds."));
        }
        if !reason.would_envy.is_empty() && !reason.at_demand {
            let others = self.names(&reason.would_envy);
            all.push(format!("{name} would envy {others} if a little were moved there."));
        }
        if alone {
            all.extend(self.no_more(reason));
            for gpu in &self.explanation.types {
                if let Some(more) = &gpu.one_more {
                    let gain = signed(more.tenants[reason.tenant.0]);
                    let gpu = &self.problem.types()[gpu.gpu.0].name;
                    all.push(format!(
                        "One more {gpu} would change the throughput of {name} by {gain}."
                    ));
                }
            }
        }
    }

    /// Why a tenant that could use more gets no more.
    fn no_more(&self, reason: &TenantReason) -> Option<String> {
        let (name, outcome) = (self.name(reason.tenant), &self.explanation.outcome);
        if reason.at_demand {
            return None;
        }
        if outcome.mechanism == Mechanism::Nash && outcome.first.is_none() {
            let priced =
                |h: &Holding| h.gpus * self.explanation.types[h.gpu.0].price.unwrap_or(0.0);
            let cost: f64 = reason.holdings.iter().map(priced).sum();
            let cost = (cost > 0.0).then(|| figure(cost))?;
            return Some(format!(
                "{name} cannot buy more: its GPUs cost {cost}, all the income that its weight gives it."
            ));
        }
        let others = (!reason.envied_by.is_empty()).then(|| self.names(&reason.envied_by))?;
        Some(format!("{name} cannot be given more: {others} would envy it."))
    }

    /// What guarantees and limits do to a tenant.
    fn promises(&self, tenant: TenantId) -> Vec<String> {
        let (name, of) = (self.name(tenant), &self.problem.tenants()[tenant.0]);
        let Some(first) = &self.explanation.outcome.first else { return Vec::new() };
        let has = self.explanation.outcome.shares.of_tenant(self.problem, tenant);
        let first = first.of_tenant(self.problem, tenant);
        let mut all = Vec::new();
        for (j, gpu) in self.problem.types().iter().enumerate() {
            let guarantee = of.guarantee_on(TypeId(j));
            if guarantee > 0.0 {
                let used = figure(first[j].min(guarantee));
                let promised = figure(guarantee);
                all.push(format!(
                    "{name} is guaranteed {promised} {}, and has {used} of them before anybody's share; they count in its share.",
                    gpu.name
                ));
            }
            if let Some(limit) = of.limit_on(TypeId(j)).filter(|l| has[j] >= l * (1.0 - SMALL)) {
                all.push(format!("{name} is at its limit of {} {}.", figure(limit), gpu.name));
            }
        }
        all
    }

    fn level(&self, reason: &TenantReason) -> String {
        let name = self.name(reason.tenant);
        let (has, split) = (figure(reason.throughput), figure(reason.equal_split));
        if reason.equal_split <= 0.0 {
            return match reason.at_demand {
                true => format!("{name} does {has}; it has no use for a GPU."),
                false => format!("{name} does {has}; it can run on no gpu type that is there."),
            };
        }
        let ratio = reason.throughput / reason.equal_split;
        if ratio < 1.0 - SMALL {
            format!(
                "{name} does {has}, less than its equal split of {split} ({} of it).",
                figure(ratio)
            )
        } else if reason.at_floor {
            let binds = !reason.at_demand
                && self.explanation.outcome.first.is_none()
                && self.explanation.outcome.mechanism == Mechanism::Incentive;
            let why = if binds { ": the sharing incentive binds" } else { "" };
            format!("{name} does {has}, exactly its equal split{why}.")
        } else {
            format!("{name} does {has}, {} times its equal split of {split}.", figure(ratio))
        }
    }

    fn holding(
        &self,
        who: &str,
        workload: WorkloadId,
        seen: &[&Holding],
        envied_by: &[TenantId],
    ) -> String {
        let speedup = &self.problem.workloads()[workload.0].speedup;
        let share = self.explanation.outcome.shares.of_workload(workload);
        let held: Vec<&&Holding> = seen.iter().filter(|h| is_held(speedup, share, h.gpu)).collect();
        if held.is_empty() {
            return format!("{who} holds nothing.");
        }
        let list: Vec<String> = held.iter().map(|h| self.amount(h)).collect();
        let mut text = format!("{who} holds {}", list.join(", "));
        let priced = seen.iter().any(|h| h.value_for_money.is_some());
        let used: f64 = share.iter().sum();
        let demand = self.problem.workloads()[workload.0].demand;
        if demand.is_some_and(|demand| used >= demand * (1.0 - SMALL)) {
            // It pays for speed, not for value: more GPUs would be of no use to it.
            text += ": as many GPUs as it can use";
        } else if priced && held.iter().all(|h| h.best) {
            text += if held.len() == 1 {
                ": its best value for money"
            } else {
                ": all its best value for money"
            };
        } else if let Some(best) = seen.iter().find(|h| h.best && priced) {
            let gpu = &self.problem.types()[best.gpu.0].name;
            let value = best.value_for_money.map_or_else(String::new, figure);
            let of = &self.problem.tenants()[self.problem.workloads()[workload.0].tenant.0];
            let limit = match envied_by {
                _ if !of.guarantee.is_empty() || !of.limit.is_empty() => {
                    "its guarantees and limits come first".into()
                }
                [] => "the mechanism allows it no more".into(),
                others => format!("{} would envy it for more", self.names(others)),
            };
            text += &format!(
                "; its best value for money is {gpu} ({value} per unit of price), but {limit}"
            );
        }
        text + "."
    }

    fn amount(&self, holding: &Holding) -> String {
        let gpu = &self.problem.types()[holding.gpu.0].name;
        let value = holding.value_for_money;
        let value =
            value.map_or_else(String::new, |v| format!(", {} per unit of price", figure(v)));
        format!("{} {gpu} (speedup {}{value})", figure(holding.gpus), figure(holding.speedup))
    }

    fn trades(&self, tenant: Option<TenantId>) -> Vec<String> {
        let owner = |w: WorkloadId| self.problem.workloads()[w.0].tenant;
        let concerns = |w: WorkloadId| tenant.is_none_or(|t| t == owner(w));
        let trades = &self.explanation.outcome.trades;
        (trades.iter().filter(|t| concerns(t.buyer) || concerns(t.seller)))
            .map(|t| {
                format!(
                    "{} buys {} {} from {} at {} {} each.",
                    self.name(owner(t.buyer)),
                    figure(t.amount),
                    self.problem.types()[t.fast.0].name,
                    self.name(owner(t.seller)),
                    figure(t.price),
                    self.problem.types()[t.slow.0].name,
                )
            })
            .collect()
    }

    fn name(&self, tenant: TenantId) -> &str {
        &self.problem.tenants()[tenant.0].name
    }

    /// A few names, and how many more there are.
    fn names(&self, tenants: &[TenantId]) -> String {
        let named: Vec<&str> = tenants.iter().take(NAMED_MAX).map(|&t| self.name(t)).collect();
        match tenants.len().saturating_sub(named.len()) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

/// Names in one sentence; nobody reads a longer list.
const NAMED_MAX: usize = 5;
/// A gain below this part is not worth a clause.
const SMALL: f64 = 1e-7;

/// A number with at most four significant digits, without an exponent where it is of a usual size.
fn figure(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { format!("{value}") };
    }
    if !(1e-4..1e7).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - magnitude.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn signed(value: f64) -> String {
    // Differences of two solutions carry their rounding.
    if value.abs() < 1e-9 {
        "nothing".into()
    } else if value > 0.0 {
        format!("+{}", figure(value))
    } else {
        figure(value)
    }
}
