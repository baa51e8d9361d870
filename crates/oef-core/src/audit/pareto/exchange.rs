//! The exchange: the parties, what they value and what they have.

use crate::audit::ParetoLevel;
use crate::ids::{TypeId, WorkloadId};
use crate::problem::Problem;
use crate::shares::Shares;
use std::ops::Range;

/// The data of the exchange program. Types without GPUs or without
/// anybody to use them, and parties that can use nothing, are left out.
pub(super) struct Exchange {
    /// The types with GPUs, and how many there are.
    pub types: Vec<TypeId>,
    pub capacity: Vec<f64>,
    /// W: what each party makes of one GPU of each type, party after party.
    pub value: Vec<f64>,
    /// The workload that makes it.
    runner: Vec<WorkloadId>,
    /// What each party holds now.
    pub held: Vec<f64>,
    /// u: what each party has now.
    pub floor: Vec<f64>,
    /// Tenants with a demand or without, and their parties.
    pub groups: Vec<Group>,
}

/// The parties of one tenant.
pub(super) struct Group {
    pub parties: Range<usize>,
    pub demand: Option<f64>,
}

impl Exchange {
    pub fn new(problem: &Problem, shares: &Shares, level: ParetoLevel) -> Self {
        let mut usable = vec![false; problem.types().len()];
        for workload in problem.workloads() {
            if problem.tenants()[workload.tenant.0].demand.is_none_or(|d| d > 0.0) {
                usable.iter_mut().zip(&workload.speedup).for_each(|(u, &w)| *u |= w > 0.0);
            }
        }
        let present = |&j: &usize| problem.types()[j].capacity > 0.0 && usable[j];
        let types: Vec<TypeId> = (0..problem.types().len()).filter(present).map(TypeId).collect();
        let capacity = types.iter().map(|j| problem.types()[j.0].capacity).collect();
        let mut exchange = Exchange {
            types,
            capacity,
            value: Vec::new(),
            runner: Vec::new(),
            held: Vec::new(),
            floor: Vec::new(),
            groups: Vec::new(),
        };
        for tenant in problem.tenant_ids() {
            let demand = problem.tenants()[tenant.0].demand;
            let first = exchange.parties();
            let all: Vec<WorkloadId> = problem.workload_ids_of(tenant).collect();
            let chunk = if level == ParetoLevel::Tenants { all.len() } else { 1 };
            if demand.is_none_or(|d| d > 0.0) {
                for workloads in all.chunks(chunk.max(1)) {
                    exchange.add(problem, shares, workloads);
                }
            }
            exchange.groups.push(Group { parties: first..exchange.parties(), demand });
        }
        exchange
    }

    fn add(&mut self, problem: &Problem, shares: &Shares, workloads: &[WorkloadId]) {
        let first = self.value.len();
        for &gpu in &self.types {
            let speedup = |w: &WorkloadId| problem.workloads()[w.0].speedup[gpu.0];
            let mut best = workloads[0];
            for w in workloads {
                if speedup(w) > speedup(&best) {
                    best = *w;
                }
            }
            self.value.push(speedup(&best));
            self.runner.push(best);
            self.held.push(workloads.iter().map(|&w| shares.get(w, gpu)).sum());
        }
        if self.value[first..].iter().any(|&v| v > 0.0) {
            self.floor
                .push(workloads.iter().map(|&w| shares.workload_throughput(problem, w)).sum());
        } else {
            self.value.truncate(first);
            self.runner.truncate(first);
            self.held.truncate(first);
        }
    }

    pub fn parties(&self) -> usize {
        self.floor.len()
    }

    pub fn values_of(&self, party: usize) -> &[f64] {
        &self.value[party * self.types.len()..][..self.types.len()]
    }

    /// The throughput that all have now.
    pub fn total(&self) -> f64 {
        self.floor.iter().sum()
    }

    /// The most that the cluster could do, fair or not: the scale of gains where nobody has anything.
    pub fn ceiling(&self) -> f64 {
        self.greatest_values().iter().zip(&self.capacity).map(|(v, m)| v * m).sum()
    }

    /// The greatest value of each type.
    pub fn greatest_values(&self) -> Vec<f64> {
        let mut greatest = vec![0.0_f64; self.types.len()];
        for row in self.value.chunks_exact(self.types.len().max(1)) {
            for (g, v) in greatest.iter_mut().zip(row) {
                *g = g.max(*v);
            }
        }
        greatest
    }

    /// Amounts per party and type as shares: each type goes to the party's best workload for it.
    pub fn shares(&self, problem: &Problem, amounts: &[f64]) -> Shares {
        let mut shares = Shares::zero(problem);
        let types = self.types.len().max(1);
        for (at, &amount) in amounts.iter().enumerate() {
            let (gpu, workload) = (self.types[at % types], self.runner[at]);
            shares.set(workload, gpu, shares.get(workload, gpu) + amount);
        }
        shares
    }
}
