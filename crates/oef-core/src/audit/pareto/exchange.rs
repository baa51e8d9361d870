//! The exchange: the traders, what they value and what they have.

use crate::ids::{TypeId, WorkloadId};
use crate::problem::{Problem, Workload};
use crate::shares::{Shares, dot};

/// The data of the exchange program. Types without GPUs or without
/// anybody to use them, and traders that can use nothing, are left out.
pub(super) struct Exchange {
    /// The types with GPUs, and how many there are.
    pub types: Vec<TypeId>,
    pub capacity: Vec<f64>,
    /// W: what each trader makes of one GPU of each type, trader after trader.
    pub value: Vec<f64>,
    /// The workload that each trader is.
    runner: Vec<WorkloadId>,
    /// What each trader holds now.
    pub held: Vec<f64>,
    /// u: what each trader has now.
    pub floor: Vec<f64>,
    /// GPUs that each trader can use at most.
    pub demand: Vec<Option<f64>>,
}

impl Exchange {
    pub fn new(problem: &Problem, shares: &Shares) -> Self {
        let takes_part = |w: &&Workload| w.demand.is_none_or(|d| d > 0.0);
        let mut usable = vec![false; problem.types().len()];
        for workload in problem.workloads().iter().filter(takes_part) {
            usable.iter_mut().zip(&workload.speedup).for_each(|(u, &w)| *u |= w > 0.0);
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
            demand: Vec::new(),
        };
        for (l, workload) in problem.workloads().iter().enumerate() {
            if takes_part(&workload) {
                exchange.add(workload, shares, WorkloadId(l));
            }
        }
        exchange
    }

    fn add(&mut self, workload: &Workload, shares: &Shares, id: WorkloadId) {
        if !self.types.iter().any(|j| workload.speedup[j.0] > 0.0) {
            return;
        }
        self.value.extend(self.types.iter().map(|j| workload.speedup[j.0]));
        self.held.extend(self.types.iter().map(|&j| shares.get(id, j)));
        self.runner.push(id);
        self.floor.push(dot(&workload.speedup, shares.of_workload(id)));
        self.demand.push(workload.demand);
    }

    pub fn traders(&self) -> usize {
        self.floor.len()
    }

    pub fn values_of(&self, trader: usize) -> &[f64] {
        &self.value[trader * self.types.len()..][..self.types.len()]
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

    /// Amounts per trader and type as shares.
    pub fn shares(&self, problem: &Problem, amounts: &[f64]) -> Shares {
        let mut shares = Shares::zero(problem);
        let types = self.types.len().max(1);
        for (at, &amount) in amounts.iter().enumerate() {
            let (gpu, workload) = (self.types[at % types], self.runner[at / types]);
            shares.set(workload, gpu, shares.get(workload, gpu) + amount);
        }
        shares
    }
}
