//! A gain that needs no program: idle GPUs, or a ring of trades.
//!
//! A trader that holds type j would give one GPU of it for W_ij / W_ih of type h. Where the product of
//! the least such ratios around a ring of types is below 1, whoever stands at its edges can trade
//! around it with something left over. Without demands such a ring exists exactly where no prices
//! support the shares, so that this decides whether there is a gain, though not how large it can be.

use super::exchange::Exchange;

/// Amounts that are better for somebody and worse for nobody, if idle GPUs or a ring of trades show
/// some. Traders with a demand stay out of it: what they get would count against it.
pub(super) fn gain(exchange: &Exchange) -> Option<Vec<f64>> {
    let mut amounts = exchange.held.clone();
    let handed_out = hand_out_idle(exchange, &mut amounts);
    let traded = ring(exchange).is_some_and(|ring| trade(exchange, &ring, &mut amounts));
    (handed_out || traded).then_some(amounts)
}

/// A part of a type's capacity below which nothing counts as idle.
const IDLE: f64 = 1e-9;
/// A ring must gain this part of what goes around it; less is rounding.
const GAIN_MIN: f64 = 1e-9;

fn hand_out_idle(exchange: &Exchange, amounts: &mut [f64]) -> bool {
    let k = exchange.types.len();
    let mut some = false;
    for (j, &capacity) in exchange.capacity.iter().enumerate() {
        let idle = capacity - exchange.held.iter().skip(j).step_by(k).sum::<f64>();
        let value = |i: usize| exchange.values_of(i)[j];
        let keenest = unlimited(exchange).filter(|&i| value(i) > 0.0);
        let keenest = keenest.reduce(|best, i| if value(i) > value(best) { i } else { best });
        if let Some(i) = keenest.filter(|_| idle > IDLE * capacity) {
            amounts[i * k + j] += idle;
            some = true;
        }
    }
    some
}

fn unlimited(exchange: &Exchange) -> impl Iterator<Item = usize> {
    (0..exchange.traders()).filter(|&i| exchange.demand[i].is_none())
}

/// One edge of a ring: a trader that gives `from` for `to`.
#[derive(Clone, Copy, Debug)]
struct Edge {
    trader: usize,
    from: usize,
    to: usize,
    /// GPUs of `to` that make up for one of `from`.
    ratio: f64,
}

/// The cheapest trade from every type to every other, by somebody who holds a fair amount of it.
fn edges(exchange: &Exchange) -> Vec<Option<Edge>> {
    let k = exchange.types.len();
    let mut edges: Vec<Option<Edge>> = vec![None; k * k];
    for trader in unlimited(exchange) {
        let (w, x) = (exchange.values_of(trader), &exchange.held[trader * k..][..k]);
        for from in (0..k).filter(|&j| w[j] * x[j] > HELD * exchange.floor[trader]) {
            for to in (0..k).filter(|&h| h != from && w[h] > 0.0) {
                let edge = Edge { trader, from, to, ratio: w[from] / w[to] };
                let best = &mut edges[from * k + to];
                if best.is_none_or(|known| edge.ratio < known.ratio) {
                    *best = Some(edge);
                }
            }
        }
    }
    edges
}

/// A holding that makes less than this part of a trader's throughput is not worth a trade.
const HELD: f64 = 1e-6;

/// A ring of trades with something left over, by shortest paths in the logarithms of the ratios.
fn ring(exchange: &Exchange) -> Option<Vec<Edge>> {
    let k = exchange.types.len();
    let edges = edges(exchange);
    let (mut distance, mut came) = (vec![0.0_f64; k], vec![None::<Edge>; k]);
    let mut last = None;
    for _ in 0..k {
        last = None;
        for edge in edges.iter().flatten() {
            let length = edge.ratio.ln() + GAIN_MIN;
            if distance[edge.from] + length < distance[edge.to] {
                distance[edge.to] = distance[edge.from] + length;
                came[edge.to] = Some(*edge);
                last = Some(edge.to);
            }
        }
    }
    // Whatever still moves after k passes hangs on a ring; k steps back one is certainly on it.
    let mut at = last?;
    for _ in 0..k {
        at = came[at]?.from;
    }
    let mut ring = Vec::new();
    let first = at;
    loop {
        let edge = came[at]?;
        ring.push(edge);
        at = edge.from;
        if at == first || ring.len() > k {
            break;
        }
    }
    ring.reverse();
    (at == first).then_some(ring)
}

/// Trades around the ring as much as the scarcest holding allows; what is left over goes to the trader
/// of the last edge.
fn trade(exchange: &Exchange, ring: &[Edge], amounts: &mut [f64]) -> bool {
    let k = exchange.types.len();
    // What each trader gives when the first gives one GPU, and the most that the first can give then.
    let (mut given, mut most) = (1.0, f64::INFINITY);
    for edge in ring {
        most = most.min(exchange.held[edge.trader * k + edge.from] / given);
        given *= edge.ratio;
    }
    if !(given < 1.0 && most.is_finite() && most > 0.0) {
        return false;
    }
    let mut given = most;
    for (i, edge) in ring.iter().enumerate() {
        amounts[edge.trader * k + edge.from] -= given;
        given *= edge.ratio;
        let got = if i + 1 == ring.len() { most } else { given };
        amounts[edge.trader * k + edge.to] += got;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::exchange::Exchange;
    use crate::audit::pareto_efficiency;
    use crate::ids::WorkloadId;
    use crate::{Mechanism, Options, Problem, ProblemSpec, Shares, solve};
    use proptest::prelude::*;

    fn problem(seed: u64) -> Problem {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut speedup = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            1.0 + (state >> 33) as f64 % 6.0
        };
        let rows: Vec<[f64; 3]> = (0..4).map(|_| [speedup(), speedup(), speedup()]).collect();
        let rows: Vec<&[f64]> = rows.iter().map(|row| row.as_slice()).collect();
        ProblemSpec::from_matrix(&[1.0, 2.0, 1.0], &rows).validate().unwrap()
    }

    /// The better shares, after checking that nobody loses and nothing is handed out twice.
    fn better(problem: &Problem, shares: &Shares) -> Option<f64> {
        let exchange = Exchange::new(problem, shares);
        let amounts = super::gain(&exchange)?;
        let better = exchange.shares(problem, &amounts);
        for (j, gpu) in problem.types().iter().enumerate() {
            assert!(better.used(crate::TypeId(j)) <= gpu.capacity * (1.0 + 1e-12));
        }
        for w in (0..problem.workloads().len()).map(WorkloadId) {
            let (before, after) =
                (shares.workload_throughput(problem, w), better.workload_throughput(problem, w));
            assert!(after >= before * (1.0 - 1e-12), "{before} falls to {after}");
        }
        Some(better.total(problem) - shares.total(problem))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn a_ring_of_trades_is_found_exactly_where_there_is_a_gain(seed: u64) {
            let mechanisms =
                [Mechanism::MaxMin, Mechanism::GandivaFair, Mechanism::Cooperative, Mechanism::Nash];
            let problem = problem(seed);
            for mechanism in mechanisms {
                let shares = solve(&problem, mechanism, &Options::default()).unwrap().shares;
                let efficient = pareto_efficiency(&problem, &shares, &[]).holds;
                let gain = better(&problem, &shares);
                assert_eq!(gain.is_none(), efficient, "{mechanism} of {seed}: {gain:?}");
                assert!(gain.is_none_or(|gain| gain > 0.0), "{mechanism} of {seed}: {gain:?}");
            }
        }
    }

    #[test]
    fn idle_gpus_go_to_whoever_makes_most_of_them() {
        let rows: [&[f64]; 2] = [&[1.0, 2.0], &[1.0, 5.0]];
        let problem = ProblemSpec::from_matrix(&[1.0, 1.0], &rows).validate().unwrap();
        let mut shares = Shares::zero(&problem);
        shares.set(WorkloadId(0), crate::TypeId(0), 1.0);
        let gain = better(&problem, &shares).expect("a GPU is idle");
        assert!((gain - 5.0).abs() < 1e-12, "{gain}");
    }
}
