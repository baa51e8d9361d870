//! `gandiva-fair` replayed in fractions, without demands.
//!
//! From the max-min shares, the pair of types with the greatest gap (the greatest speedup of somebody
//! who holds slow GPUs less the least of somebody who holds fast ones) trades until nothing is left to
//! trade in it, then the next. Workloads with equal profiles trade as one.

use crate::divide;
use crate::instance::{Instance, Matrix, fraction};
use crate::program::Q;
use num_traits::{Signed, Zero};

/// Turns after which a replay is given up; amounts that shrink from turn to turn grow long as fractions.
const MAX_TURNS: usize = 60;

/// The throughputs of all rows after all trades. `None` where the rule does not say who is first (equal
/// gaps, equal speedups of unlike traders, a pair that is as often faster one way as the other), or
/// where trading goes on for too long.
pub fn gandiva_fair(instance: &Instance) -> Option<Vec<Q>> {
    let (merged, class) = merge(instance);
    let mut floor = Floor { held: divide::max_min(&merged), instance: &merged };
    floor.trade_all()?;
    let value = |l: usize| {
        let whole = merged.value(class[l], &floor.held[class[l]]);
        whole * &instance.weight[l] / &merged.weight[class[l]]
    };
    Some((0..instance.rows()).map(value).collect())
}

/// One row for all rows with equal profiles, and the row each one went to.
fn merge(instance: &Instance) -> (Instance, Vec<usize>) {
    let mut merged =
        Instance { speedup: vec![], weight: vec![], tenant: vec![], ..instance.clone() };
    let mut class = Vec::new();
    for (row, weight) in instance.speedup.iter().zip(&instance.weight) {
        let known = merged.speedup.iter().position(|other| other == row);
        let c = known.unwrap_or_else(|| {
            merged.speedup.push(row.clone());
            merged.weight.push(Q::zero());
            merged.speedup.len() - 1
        });
        merged.weight[c] += weight;
        class.push(c);
    }
    merged.tenant = (0..merged.speedup.len()).collect();
    merged.demand = vec![None; merged.speedup.len()];
    (merged, class)
}

#[derive(Clone, Copy)]
struct Pair {
    slow: usize,
    fast: usize,
}

struct Floor<'a> {
    instance: &'a Instance,
    held: Matrix,
}

impl Floor<'_> {
    fn trade_all(&mut self) -> Option<()> {
        let pairs = self.pairs()?;
        let mut open = vec![true; pairs.len()];
        for _ in 0..MAX_TURNS {
            let gaps = (0..pairs.len()).filter(|&i| open[i]);
            let gaps: Vec<(Q, usize)> =
                gaps.filter_map(|i| Some((self.gap(pairs[i])?, i))).collect();
            let Some((widest, turn)) = gaps.iter().max().cloned() else {
                return Some(());
            };
            if gaps.iter().filter(|(gap, _)| *gap == widest).count() > 1 {
                return None;
            }
            if self.trade_pair(pairs[turn])? {
                open.fill(true);
            }
            open[turn] = false;
        }
        None
    }

    /// All pairs of types, the one that is faster for more weight as the fast one.
    fn pairs(&self) -> Option<Vec<Pair>> {
        let mut pairs = Vec::new();
        for a in 0..self.instance.types() {
            for b in a + 1..self.instance.types() {
                let (mut for_a, mut for_b) = (Q::zero(), Q::zero());
                for (row, weight) in self.instance.speedup.iter().zip(&self.instance.weight) {
                    if !row[a].is_zero() && row[b] > row[a] {
                        for_b += weight;
                    } else if !row[b].is_zero() && row[a] > row[b] {
                        for_a += weight;
                    }
                }
                // Weights of thirds are rounded, so a tie may show as a difference in the last bit.
                if (&for_a - &for_b).abs() <= (&for_a + &for_b) * fraction(1e-9) {
                    let unlike =
                        |row: &Vec<Q>| row[a] != row[b] && !row[a].is_zero() && !row[b].is_zero();
                    if self.instance.speedup.iter().any(unlike) {
                        return None;
                    }
                    continue;
                }
                let is_a = for_a > for_b;
                pairs.push(if is_a {
                    Pair { slow: b, fast: a }
                } else {
                    Pair { slow: a, fast: b }
                });
            }
        }
        Some(pairs)
    }

    /// The traders of a pair with their speedups; those who cannot use both types stay out.
    fn traders(&self, pair: Pair) -> Vec<(Q, usize)> {
        let rows = self.instance.speedup.iter().enumerate();
        rows.filter(|(_, w)| !w[pair.slow].is_zero() && !w[pair.fast].is_zero())
            .map(|(l, w)| (&w[pair.fast] / &w[pair.slow], l))
            .collect()
    }

    fn holders(&self, pair: Pair, gpu: usize) -> impl Iterator<Item = (Q, usize)> {
        let traders = self.traders(pair).into_iter();
        traders.filter(move |&(_, l)| !self.held[l][gpu].is_zero())
    }

    fn gap(&self, pair: Pair) -> Option<Q> {
        let (buyer, _) = self.holders(pair, pair.slow).max()?;
        let (seller, _) = self.holders(pair, pair.fast).min()?;
        (buyer > seller).then(|| buyer - seller)
    }

    fn trade_pair(&mut self, pair: Pair) -> Option<bool> {
        let mut traded = false;
        while self.gap(pair).is_some() {
            let (high, buyer) = self.holders(pair, pair.slow).max()?;
            let (low, seller) = self.holders(pair, pair.fast).min()?;
            let alike = |ratio: &Q| self.traders(pair).iter().filter(|(r, _)| r == ratio).count();
            if alike(&high) > 1 || alike(&low) > 1 {
                return None;
            }
            let between = self.holders(pair, pair.slow).filter(|(r, l)| *l != buyer && *r > low);
            let middle = (&high + &low) / Q::from_integer(2.into());
            let price = between.max().map_or(middle, |(ratio, _)| ratio);
            let affordable = &self.held[buyer][pair.slow] / &price;
            let amount = affordable.min(self.held[seller][pair.fast].clone());
            let paid = &amount * &price;
            self.held[buyer][pair.slow] -= &paid;
            self.held[seller][pair.slow] += &paid;
            self.held[buyer][pair.fast] += &amount;
            self.held[seller][pair.fast] -= &amount;
            traded = true;
        }
        Some(traded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::ProblemSpec;

    #[test]
    fn the_paper_s_trades() {
        let rows: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];
        let spec = ProblemSpec::from_matrix(&[1.0, 1.0], &rows);
        let instance = Instance::from(&spec.validate().unwrap());
        let q = |n: i64, d: i64| Q::new(n.into(), d.into());
        assert_eq!(gandiva_fair(&instance).unwrap(), [q(53, 45), q(7, 5), q(16, 9)]);
    }
}
