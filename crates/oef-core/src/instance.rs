//! A problem in canonical numeric form: what the solvers work on.
//!
//! Types come in the order of their names and rows in the order of their profiles, so nothing that a
//! solver does can depend on the order of the file. Types without GPUs, workloads that can run on
//! none of the others, and those with a demand of 0 are left out. Workloads with equal profiles and equal demands per weight
//! become one row with the sum of their weights: that is exact for every mechanism, and the reason why ten thousand tenants with a
//! hundred profiles are a small problem.

use crate::ids::{TypeId, WorkloadId};
use crate::problem::Problem;
use crate::shares::{Shares, usable_value};

/// Rows (classes of equal workloads) against gpu types.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The types that count, by position in the problem.
    pub types: Vec<TypeId>,
    /// Capacity per type, all positive.
    pub capacity: Vec<f64>,
    /// Weight per row.
    pub weight: Vec<f64>,
    /// Speedups, row after row; at least one positive entry each.
    pub speedup: Vec<f64>,
    /// The members of each row, in the order of their names.
    members: Vec<Member>,
    /// Where the members of each row begin.
    first_member: Vec<usize>,
    /// GPUs that each row can use; infinite where that could not bind.
    pub demand: Vec<f64>,
    /// The weight of everybody, also of workloads that are left out.
    pub total_weight: f64,
}

/// One workload of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Member {
    pub workload: WorkloadId,
    pub weight: f64,
}

/// Which workloads become one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alike {
    /// Those with equal profiles: exact for every mechanism.
    Equal,
    /// Of those without a demand also those with profiles that are multiples of each other, as those of a workload's gangs
    /// mostly are. Exact where a profile counts by its direction and adds to a total: the row's profile is the mean of
    /// its members'. In `cooperative` no two of them envy each other, so they have the same utility per weight in units of
    /// their own; then all of them may have the mean of their bundles, which nobody likes better than the best of these.
    InProportion,
}

/// How a row's share is divided among its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// Everybody gets the same mixture.
    Proportional,
    /// Member after member fills up its throughput type by type: equal throughput per weight with the
    /// fewest different types.
    Sequential,
}

impl Instance {
    /// The canonical form of a problem; `cap` is one more limit on every tenant's GPUs. It is found more quickly
    /// where the order of the workloads is nearly that of the `last` problem.
    pub fn new(problem: &Problem, cap: Option<f64>, alike: Alike, last: &mut LastOrder) -> Self {
        let demands = problem.demands_within(cap);
        let active = |l: &usize| demands[*l].is_none_or(|d| d > 0.0);
        let active: Vec<usize> = (0..problem.workloads().len()).filter(active).collect();
        let workload = |l: usize| &problem.workloads()[l];
        let mut types: Vec<TypeId> = (0..problem.types().len())
            .map(TypeId)
            .filter(|j| problem.types()[j.0].capacity > 0.0)
            .filter(|j| active.iter().any(|&l| workload(l).speedup[j.0] > 0.0))
            .collect();
        types.sort_by(|a, b| problem.types()[a.0].name.cmp(&problem.types()[b.0].name));
        let most = active.len();
        let mut instance = Instance {
            capacity: types.iter().map(|j| problem.types()[j.0].capacity).collect(),
            weight: Vec::with_capacity(most),
            speedup: Vec::with_capacity(most * types.len()),
            types,
            demand: Vec::with_capacity(most),
            members: Vec::with_capacity(most),
            first_member: vec![0],
            total_weight: problem.total_weight(),
        };
        let keys = Keys::new(problem, &instance, &demands, alike, &active, last);
        for class in keys.classes() {
            instance.add_row(&keys, class, &demands);
        }
        instance
    }

    /// Makes a row of workloads that are alike.
    fn add_row(&mut self, keys: &Keys<'_>, class: &[(u64, usize)], demands: &[Option<f64>]) {
        let first = class[0].1;
        let members = || class.iter().map(|&(_, i)| keys.members[i]);
        let weight: f64 = members().map(|m| m.weight).sum();
        // More of the members than of the first: nothing where all are equal, to the last digit, or one is alone.
        let mut scale = 1.0;
        if class.len() > 1 {
            let fastest = |i: usize| keys.speeds(i).iter().copied().fold(0.0, f64::max);
            let unit = fastest(first);
            let more = |&(_, i): &(u64, usize)| keys.members[i].weight * (fastest(i) / unit - 1.0);
            scale += class.iter().map(more).sum::<f64>() / weight;
        }
        self.speedup.extend(keys.speeds(first).iter().map(|w| w * scale));
        self.demand.push(match keys.limited[first] {
            UNLIMITED => f64::INFINITY,
            _ => members().filter_map(|m| demands[m.workload.0]).sum(),
        });
        self.weight.push(weight);
        self.members.extend(members());
        self.first_member.push(self.members.len());
    }

    /// Whether some row can use only so many GPUs.
    pub fn has_demands(&self) -> bool {
        self.demand.iter().any(|demand| demand.is_finite())
    }

    /// The members of a row, in the order of their names.
    pub fn members(&self, row: usize) -> &[Member] {
        &self.members[self.first_member[row]..self.first_member[row + 1]]
    }

    /// Whether no row has more GPUs than it can use.
    pub fn is_within_demands(&self, x: &[f64]) -> bool {
        let bundles = x.chunks_exact(self.width().max(1)).zip(&self.demand);
        bundles.into_iter().all(|(own, demand)| own.iter().sum::<f64>() <= *demand)
    }

    /// Takes back what rounding has handed out above capacities and demands.
    pub fn fit(&self, x: &mut [f64]) {
        let k = self.width();
        x.iter_mut().for_each(|x| *x = x.max(0.0));
        for j in 0..k {
            let used: f64 = x.iter().skip(j).step_by(k).sum();
            if used > self.capacity[j] {
                let shrink = self.capacity[j] / used;
                x.iter_mut().skip(j).step_by(k).for_each(|x| *x *= shrink);
            }
        }
        for (own, &demand) in x.chunks_exact_mut(k.max(1)).zip(&self.demand) {
            let used: f64 = own.iter().sum();
            if used > demand {
                own.iter_mut().for_each(|x| *x *= demand / used);
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.weight.len()
    }

    /// Number of types.
    pub fn width(&self) -> usize {
        self.types.len()
    }

    /// The speedups of one row.
    pub fn profile(&self, row: usize) -> &[f64] {
        &self.speedup[row * self.width()..][..self.width()]
    }

    /// Throughput of a row's equal split `e = weight / total weight * capacity`.
    pub fn equal_split(&self, row: usize) -> f64 {
        let part = self.weight[row] / self.total_weight;
        self.profile(row).iter().zip(&self.capacity).map(|(w, m)| w * m * part).sum()
    }

    /// What a row can use of its equal split.
    pub fn usable_equal_split(&self, row: usize) -> f64 {
        let part = self.weight[row] / self.total_weight;
        let bundle: Vec<f64> = self.capacity.iter().map(|m| m * part).collect();
        usable_value(self.profile(row), &bundle, Some(self.demand[row]))
    }

    /// Throughput of the equal split of every row.
    pub fn equal_splits(&self) -> Vec<f64> {
        (0..self.rows()).map(|l| self.equal_split(l)).collect()
    }

    /// Shares of the problem's workloads from those of the rows (`x`, row after row).
    pub fn to_shares(&self, problem: &Problem, x: &[f64], division: Division) -> Shares {
        let mut shares = Shares::zero(problem);
        for row in 0..self.rows() {
            let bundle = &x[row * self.width()..][..self.width()];
            if self.members(row).len() > 1
                && division == Division::Sequential
                && self.demand[row].is_infinite()
            {
                self.divide_in_turn(row, bundle, &mut shares);
            } else {
                for member in self.members(row) {
                    let part = member.weight / self.weight[row];
                    for (j, &gpus) in bundle.iter().enumerate() {
                        shares.set(member.workload, self.types[j], gpus * part);
                    }
                }
            }
        }
        shares
    }

    /// Member after member takes its part, from the slowest type of the row to the fastest: types that
    /// are neighbours for the row are neighbours in what a member holds.
    fn divide_in_turn(&self, row: usize, bundle: &[f64], shares: &mut Shares) {
        let profile = self.profile(row);
        let total: f64 = profile.iter().zip(bundle).map(|(w, x)| w * x).sum();
        let mut left = bundle.to_vec();
        let mut order: Vec<usize> = (0..left.len()).filter(|&j| left[j] > 0.0).collect();
        // Types that are equally fast for this row go in the order of what they are to the others.
        let speed = |j: usize| (profile[j], self.mean_speed(j));
        order.sort_by(|&a, &b| {
            let (a, b) = (speed(a), speed(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let mut types = order.into_iter().peekable();
        let members = self.members(row);
        for (i, member) in members.iter().enumerate() {
            let mut due = total * member.weight / self.weight[row];
            let last = i + 1 == members.len();
            while let Some(&j) = types.peek() {
                let worth = profile[j] * left[j];
                if !last && worth > due * (1.0 + 1e-12) {
                    let take = due / profile[j];
                    shares.set(member.workload, self.types[j], take);
                    left[j] -= take;
                    break;
                }
                shares.set(member.workload, self.types[j], left[j]);
                due -= worth;
                types.next();
                if !last && due <= total * 1e-13 {
                    break;
                }
            }
        }
    }

    /// Speedup of a type, averaged over the rows by weight.
    fn mean_speed(&self, j: usize) -> f64 {
        (0..self.rows()).map(|l| self.weight[l] * self.profile(l)[j]).sum()
    }

    /// Prices in the order of the problem's types; a type that is left out is worth nothing.
    pub fn to_prices(&self, problem: &Problem, price: &[f64]) -> Vec<f64> {
        let mut prices = vec![0.0; problem.types().len()];
        for (j, &p) in self.types.iter().zip(price) {
            prices[j.0] = p;
        }
        prices
    }
}

/// A workload without a limit that could bind.
const UNLIMITED: u64 = 0;

/// The workloads of a problem in canonical order, for the next problem that differs little from it. Only a hint:
/// the order of an instance is the same with any.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastOrder(Vec<usize>);

impl LastOrder {
    /// These workloads are gone, and later ones have moved into their places.
    pub fn remove(&mut self, gone: &std::ops::Range<usize>) {
        self.0.retain(|l| !gone.contains(l));
        for l in self.0.iter_mut().filter(|l| **l >= gone.end) {
            *l -= gone.len();
        }
    }

    /// The positions of some workloads, given in the order of the problem, as they stood here; those that are
    /// new come last.
    fn positions(&self, members: &[Member]) -> Vec<usize> {
        const NOWHERE: usize = usize::MAX;
        let end = members.last().map_or(0, |last| last.workload.0 + 1);
        let mut position = vec![NOWHERE; end];
        for (i, member) in members.iter().enumerate() {
            position[member.workload.0] = i;
        }
        let mut take = |l: usize| {
            let found = position.get_mut(l).map(|i| std::mem::replace(i, NOWHERE));
            found.filter(|&i| i != NOWHERE)
        };
        let mut order: Vec<usize> = self.0.iter().filter_map(|&l| take(l)).collect();
        order.extend(members.iter().filter_map(|member| take(member.workload.0)));
        order
    }
}

/// What makes workloads alike, as integers, and an order of them.
struct Keys<'a> {
    problem: &'a Problem,
    width: usize,
    /// The workloads that take part, in the order of the problem.
    members: Vec<Member>,
    /// Their speedups, one after the other: those of the problem lie all over the memory.
    speedup: Vec<f64>,
    /// What each workload's speeds are divided by: its fastest where only the direction counts, else 1.
    unit: Vec<f64>,
    /// Demand per weight: equal tenants with equal demand per weight are one.
    limited: Vec<u64>,
    /// The profiles' bits, workload after workload; only where the order rests on more than its first number.
    profile: Vec<u64>,
    /// Positions in the order, each with the first number that its order rests on.
    order: Vec<(u64, usize)>,
}

impl<'a> Keys<'a> {
    fn new(
        problem: &'a Problem,
        instance: &Instance,
        demands: &[Option<f64>],
        alike: Alike,
        active: &[usize],
        last: &mut LastOrder,
    ) -> Self {
        let everything: f64 = instance.capacity.iter().sum();
        let (width, most) = (instance.width(), active.len());
        let mut members = Vec::with_capacity(most);
        let mut speedup = Vec::with_capacity(most * width);
        let mut unit = Vec::with_capacity(most);
        let mut limited = Vec::with_capacity(most);
        for &l in active {
            let workload = &problem.workloads()[l];
            let demand = demands[l].filter(|demand| *demand < everything);
            let speeds = instance.types.iter().map(|j| workload.speedup[j.0]);
            if !speeds.clone().any(|w| w > 0.0) {
                continue;
            }
            members.push(Member { workload: WorkloadId(l), weight: workload.weight });
            unit.push(match alike {
                Alike::InProportion if demand.is_none() => speeds.clone().fold(0.0, f64::max),
                _ => 1.0,
            });
            speedup.extend(speeds);
            // Zero is taken, and a demand here is positive.
            limited.push(demand.map_or(UNLIMITED, |d| quantise(d / workload.weight).max(1)));
        }
        let (profile, order) = (Vec::new(), Vec::new());
        let mut keys = Keys { problem, width, members, speedup, unit, limited, profile, order };
        keys.sort(last.positions(&keys.members));
        last.0 = keys.order.iter().map(|&(_, i)| keys.members[i].workload.0).collect();
        keys
    }

    /// Sorts by profile, then by limit, then by name, beginning with an order that is perhaps nearly right. The
    /// first type on which profiles differ decides nearly always, so it is kept beside the position.
    fn sort(&mut self, begin: Vec<usize>) {
        let n = self.members.len();
        let differs = |j: &usize| (1..n).any(|i| self.number(i, *j) != self.number(0, *j));
        let first = (0..self.width).find(differs).unwrap_or(0);
        let mut order: Vec<(u64, usize)> =
            begin.into_iter().map(|i| (self.number(i, first), i)).collect();
        // The stable sort makes use of runs that are in order already.
        order.sort_by_key(|&(number, _)| number);
        if order.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            let keys = &*self;
            let numbers = |i| (0..keys.width).map(move |j| keys.number(i, j));
            self.profile = (0..n).flat_map(numbers).collect();
            for tied in order.chunk_by_mut(|a, b| a.0 == b.0) {
                tied.sort_by(|a, b| {
                    (self.key(a.1).cmp(&self.key(b.1)))
                        .then_with(|| self.name(a.1).cmp(&self.name(b.1)))
                });
            }
        }
        self.order = order;
    }

    fn speeds(&self, i: usize) -> &[f64] {
        &self.speedup[i * self.width..][..self.width]
    }

    /// The bits of one entry of a profile.
    fn number(&self, i: usize, j: usize) -> u64 {
        quantise(self.speedup[i * self.width + j] / self.unit[i])
    }

    /// The whole profile's bits, with the limit.
    fn key(&self, i: usize) -> (&[u64], u64) {
        (&self.profile[i * self.width..][..self.width], self.limited[i])
    }

    fn name(&self, i: usize) -> (&str, &str) {
        let workload = &self.problem.workloads()[self.members[i].workload.0];
        (&self.problem.tenants()[workload.tenant.0].name, &workload.name)
    }

    /// Runs of workloads that are alike, in order.
    fn classes(&self) -> impl Iterator<Item = &[(u64, usize)]> {
        self.order.chunk_by(|a, b| a.0 == b.0 && self.key(a.1) == self.key(b.1))
    }
}

/// The bits of a non-negative number, rounded to 42 binary digits: profiles that differ only by the
/// rounding of their normalisation are the same profile. The order of the bits is that of the numbers.
fn quantise(x: f64) -> u64 {
    const DROPPED: u32 = 10;
    (x.to_bits() + (1 << (DROPPED - 1))) >> DROPPED
}

/// What profiles have in common that are multiples of each other.
pub(crate) fn direction(
    profile: impl Iterator<Item = f64> + Clone,
) -> impl Iterator<Item = u64> + Clone {
    let fastest = profile.clone().fold(0.0, f64::max);
    profile.map(move |w| quantise(w / fastest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProblemSpec;

    #[test]
    fn the_last_order_is_only_a_hint() {
        let rows: [&[f64]; 6] =
            [&[1.0, 3.0], &[1.0, 2.0], &[1.0, 5.0], &[1.0, 2.0], &[1.0, 4.0], &[1.0, 1.0]];
        let problem = ProblemSpec::from_matrix(&[2.0, 1.0], &rows).validate().unwrap();
        let mut last = LastOrder::default();
        let fresh = Instance::new(&problem, None, Alike::Equal, &mut last);
        assert_eq!(last.0, [5, 1, 3, 0, 4, 2]);
        let hints = [vec![], vec![5, 1, 3, 0, 4, 2], vec![2, 4, 0], vec![9, 1, 1, 70, 3, 5, 5]];
        for hint in hints {
            let mut hinted = LastOrder(hint.clone());
            let again = Instance::new(&problem, None, Alike::Equal, &mut hinted);
            assert_eq!(again.speedup, fresh.speedup, "{hint:?}");
            assert_eq!(again.members, fresh.members, "{hint:?}");
        }
        last.remove(&(1..3));
        assert_eq!(last.0, [3, 1, 0, 2]);
    }
}
