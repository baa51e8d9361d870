//! Envy: does a tenant value another's bundle, scaled by their weights, more than its own?
//!
//! Tenant t values the bundle B of tenant s, per unit of weight b = B / pi_s, at what it can use of
//! pi_t b, each of its workloads taking its weight's part of it. Without a demand this is v_t . b
//! with v_t = sum over its workloads of pi_l w_l; a workload with one takes the fastest GPUs of its part first.
//!
//! The worst pair is found without looking at all pairs: equal bundles are looked at once, of the
//! bundles of a single type only the largest, and the others stand in a tree of boxes that is left
//! out where even the corner of the box would not raise the worst.

use super::certificate::{AUDIT_TOLERANCE, EnvyWitness, Finding};
use super::checks::{Figures, finite};
use crate::ids::TenantId;
use crate::problem::{Problem, Workload};
use crate::shares::{Shares, dot, usable_value};
use std::cmp::Ordering;

/// Every pair of tenants: what one thinks of the other's bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvyMatrix {
    tenants: usize,
    ratios: Vec<f64>,
}

impl EnvyMatrix {
    /// The throughput that `envious` would have with the (scaled) bundle of `envied`, over its own:
    /// above 1 it envies. 1 on the diagonal. For a tenant without throughput, over its equal split.
    pub fn ratio(&self, envious: TenantId, envied: TenantId) -> f64 {
        self.ratios[envious.0 * self.tenants + envied.0]
    }

    /// What one tenant thinks of every tenant's bundle, in the problem's order.
    pub fn row(&self, envious: TenantId) -> &[f64] {
        &self.ratios[envious.0 * self.tenants..][..self.tenants]
    }
}

/// The whole envy matrix, exactly: n x n ratios, so mind its size.
pub fn envy_matrix(problem: &Problem, shares: &Shares) -> EnvyMatrix {
    let figures = Figures::new(problem, shares);
    let bundles = bundles_per_weight(problem, shares);
    let tenants = problem.tenants().len();
    let mut ratios = Vec::with_capacity(tenants * tenants);
    for t in problem.tenant_ids() {
        let judge = Judge::new(problem, t);
        let scale = scale(&figures, t);
        let row = bundles.iter().map(|bundle| finite(judge.value(bundle) / scale, f64::MAX));
        ratios.extend(row);
        ratios[t.0 * tenants + t.0] = 1.0;
    }
    EnvyMatrix { tenants, ratios }
}

/// The worst envy of all pairs.
pub(super) fn worst(problem: &Problem, shares: &Shares, figures: &Figures) -> Finding<EnvyWitness> {
    let tree = BoxTree::new(most_envied(bundles_per_weight(problem, shares)));
    let mut worst = 0.0;
    let mut witness = None;
    for envious in problem.tenant_ids() {
        let judge = Judge::new(problem, envious);
        let own = figures.throughput[envious.0];
        let scale = scale(figures, envious);
        let bar = own + worst * scale;
        if let Some((other, envied)) = tree.best(&judge, envious, bar) {
            let envy = finite((other - own) / scale, f64::MAX);
            if envy > worst {
                worst = envy;
                witness = Some(EnvyWitness { envious, envied, own, other });
            }
        }
    }
    let holds = worst <= AUDIT_TOLERANCE;
    Finding { holds, worst, witness: witness.filter(|_| !holds) }
}

/// The pairs (t, s) in which t values the bundle of s as its own within a relative tolerance, row after
/// row; looks at all pairs.
pub(crate) fn tied_pairs(
    problem: &Problem,
    shares: &Shares,
    tolerance: f64,
) -> Vec<(TenantId, TenantId)> {
    let bundles = bundles_per_weight(problem, shares);
    let mut pairs = Vec::new();
    for t in problem.tenant_ids() {
        let own = shares.throughput(problem, t);
        let judge = Judge::new(problem, t);
        for s in problem.tenant_ids().filter(|&s| s != t && own > 0.0) {
            if (judge.value(&bundles[s.0]) - own).abs() <= own * tolerance {
                pairs.push((t, s));
            }
        }
    }
    pairs
}

/// What envy is relative to: the own throughput, or, for a tenant with (next to) none, its equal
/// split, so that the figure stays finite.
fn scale(figures: &Figures, tenant: TenantId) -> f64 {
    let (own, split) = (figures.throughput[tenant.0], figures.equal_split[tenant.0]);
    match (own > NO_THROUGHPUT * split && own > 0.0, split > 0.0) {
        (true, _) => own,
        (false, true) => split,
        (false, false) => 1.0,
    }
}

/// A throughput below this part of the equal split is rounding.
const NO_THROUGHPUT: f64 = 1e-12;

fn bundles_per_weight(problem: &Problem, shares: &Shares) -> Vec<Vec<f64>> {
    let per_weight = |t: TenantId| {
        let mut bundle = shares.of_tenant(problem, t);
        bundle.iter_mut().for_each(|gpus| *gpus /= problem.tenants()[t.0].weight);
        bundle
    };
    problem.tenant_ids().map(per_weight).collect()
}

/// One tenant's eye on bundles.
struct Judge<'a> {
    /// Weight times speedups, summed over the workloads that can use any number of GPUs.
    linear: Vec<f64>,
    /// The others.
    limited: Vec<&'a Workload>,
}

impl<'a> Judge<'a> {
    fn new(problem: &'a Problem, tenant: TenantId) -> Self {
        let mut judge = Judge { linear: vec![0.0; problem.types().len()], limited: Vec::new() };
        for workload in problem.workloads_of(tenant) {
            if workload.demand.is_some() {
                judge.limited.push(workload);
                continue;
            }
            for (v, w) in judge.linear.iter_mut().zip(&workload.speedup) {
                *v += workload.weight * w;
            }
        }
        judge
    }

    /// The throughput with a bundle given per unit of weight; no less for a larger bundle.
    fn value(&self, bundle: &[f64]) -> f64 {
        let limited = self.limited.iter().map(|w| {
            let part: Vec<f64> = bundle.iter().map(|gpus| gpus * w.weight).collect();
            usable_value(&w.speedup, &part, w.demand)
        });
        dot(&self.linear, bundle) + limited.sum::<f64>()
    }
}

type Owned = (Vec<f64>, TenantId);

/// The bundles of which one is the most envied, whoever looks. Two of each kind are kept, since
/// nobody is compared with itself.
fn most_envied(bundles: Vec<Vec<f64>>) -> Vec<Owned> {
    let types = bundles.first().map_or(0, Vec::len);
    let mut single: Vec<Vec<Owned>> = vec![Vec::new(); types];
    let mut kept: Vec<Owned> = Vec::new();
    for (t, bundle) in bundles.into_iter().enumerate() {
        let mut held = (0..types).filter(|&j| bundle[j] != 0.0);
        match (held.next(), held.next()) {
            (None, _) => {}
            (Some(j), None) => {
                let largest = &mut single[j];
                largest.push((bundle, TenantId(t)));
                largest.sort_by(|a, b| b.0[j].total_cmp(&a.0[j]).then(a.1.cmp(&b.1)));
                largest.truncate(2);
            }
            _ => kept.push((bundle, TenantId(t))),
        }
    }
    kept.sort_by(|a, b| lexicographic(&a.0, &b.0).then(a.1.cmp(&b.1)));
    let mut copies = 0;
    let mut last: Vec<f64> = Vec::new();
    kept.retain(|(bundle, _)| {
        copies = if *bundle == last { copies + 1 } else { 1 };
        if copies == 1 {
            last.clone_from(bundle);
        }
        copies <= 2
    });
    kept.extend(single.into_iter().flatten());
    kept
}

fn lexicographic(a: &[f64], b: &[f64]) -> Ordering {
    let different = a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne());
    different.unwrap_or(Ordering::Equal)
}

/// Bundles in a binary tree; each node knows the largest amount of every type below it.
struct BoxTree {
    items: Vec<Owned>,
    nodes: Vec<Node>,
}

struct Node {
    corner: Vec<f64>,
    range: std::ops::Range<usize>,
    children: Option<(usize, usize)>,
}

/// Below this, looking at every bundle costs less than looking at boxes.
const LEAF: usize = 8;

impl BoxTree {
    fn new(mut items: Vec<Owned>) -> Self {
        let mut nodes = Vec::new();
        let count = items.len();
        Self::build(&mut items, 0..count, &mut nodes);
        BoxTree { items, nodes }
    }

    fn build(items: &mut [Owned], range: std::ops::Range<usize>, nodes: &mut Vec<Node>) -> usize {
        let part = &mut items[range.clone()];
        let types = part.first().map_or(0, |(bundle, _)| bundle.len());
        let mut corner = vec![f64::NEG_INFINITY; types];
        let mut floor = vec![f64::INFINITY; types];
        for (bundle, _) in part.iter() {
            for j in 0..types {
                corner[j] = corner[j].max(bundle[j]);
                floor[j] = floor[j].min(bundle[j]);
            }
        }
        let widest =
            (0..types).max_by(|&a, &b| (corner[a] - floor[a]).total_cmp(&(corner[b] - floor[b])));
        let node = nodes.len();
        nodes.push(Node { corner, range: range.clone(), children: None });
        if let (Some(j), true) = (widest, part.len() > LEAF) {
            part.sort_by(|a, b| a.0[j].total_cmp(&b.0[j]).then(a.1.cmp(&b.1)));
            let middle = range.start + range.len() / 2;
            let left = Self::build(items, range.start..middle, nodes);
            let right = Self::build(items, middle..range.end, nodes);
            nodes[node].children = Some((left, right));
        }
        node
    }

    /// The bundle that `who` values most of those of others, if it is worth more than `bar`.
    fn best(&self, judge: &Judge<'_>, who: TenantId, bar: f64) -> Option<(f64, TenantId)> {
        let mut best: Option<(f64, TenantId)> = None;
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            let node = &self.nodes[node];
            let bar = best.map_or(bar, |(value, _)| value);
            if node.range.is_empty() || judge.value(&node.corner) <= bar {
                continue;
            }
            if let Some((left, right)) = node.children {
                // The right child holds more of the widest type: more promising, so popped first.
                open.extend([left, right]);
                continue;
            }
            for (bundle, owner) in &self.items[node.range.clone()] {
                let value = judge.value(bundle);
                if *owner != who && value > best.map_or(bar, |(value, _)| value) {
                    best = Some((value, *owner));
                }
            }
        }
        best
    }
}
