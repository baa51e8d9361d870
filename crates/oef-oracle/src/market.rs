//! The exact answer of `nash`: an equilibrium of the market with incomes by weight.
//!
//! With linear utilities its prices are fractions, and who buys what determines them: within a
//! connected part of the market the buyers' ratios fix all prices up to a factor, and incomes fix the
//! factor. So a guess at who buys what, however it came about, either proves itself or is refused.

use crate::instance::Instance;
use crate::program::{Program, Q, Stage};
use num_traits::{One, Zero};

/// The throughputs of all rows if some equilibrium has exactly these rows buying these types; `None`
/// if there is none. There is one answer at most, since all equilibria have the same throughputs.
pub fn equilibrium(instance: &Instance, buys: &[Vec<bool>]) -> Option<Vec<Q>> {
    let prices = prices(instance, buys)?;
    let bang: Vec<Option<Q>> =
        (0..instance.rows()).map(|l| best_bang(instance, &prices, l)).collect();
    if !clears(instance, &prices, &bang) {
        return None;
    }
    let value = |(l, bang): (usize, Option<Q>)| bang.map_or(Q::zero(), |b| &instance.weight[l] * b);
    Some(bang.into_iter().enumerate().map(value).collect())
}

/// Prices that make every row indifferent between the types it buys. Types that are not for sale, and
/// types that nobody buys, have none.
fn prices(instance: &Instance, buys: &[Vec<bool>]) -> Option<Vec<Option<Q>>> {
    let mut prices: Vec<Option<Q>> = vec![None; instance.types()];
    let mut seen = vec![false; instance.rows()];
    for start in 0..instance.types() {
        if prices[start].is_some() || instance.count[start].is_zero() {
            continue;
        }
        prices[start] = Some(Q::one());
        let (mut types, mut rows, mut next) = (vec![start], Vec::new(), 0);
        while next < types.len() {
            let j = types[next];
            next += 1;
            for l in (0..instance.rows()).filter(|&l| buys[l][j]) {
                if std::mem::replace(&mut seen[l], true) {
                    continue;
                }
                rows.push(l);
                let of_one = prices[j].clone()? / &instance.speedup[l][j];
                for i in (0..instance.types()).filter(|&i| buys[l][i]) {
                    if prices[i].is_none() {
                        prices[i] = Some(&of_one * &instance.speedup[l][i]);
                        types.push(i);
                    }
                }
            }
        }
        let income: Q = rows.iter().map(|&l| &instance.weight[l]).sum();
        let cost: Q = types.iter().map(|&j| prices[j].clone().unwrap() * &instance.count[j]).sum();
        for &j in &types {
            prices[j] = (!rows.is_empty()).then(|| prices[j].clone().unwrap() * &income / &cost);
        }
    }
    Some(prices)
}

/// The most throughput that a row gets for one unit of money; `None` if it can run nowhere.
fn best_bang(instance: &Instance, prices: &[Option<Q>], row: usize) -> Option<Q> {
    let priced = prices.iter().zip(&instance.speedup[row]);
    priced.filter_map(|(p, w)| p.as_ref().map(|p| w / p)).filter(|b| !b.is_zero()).max()
}

/// Whether everybody can spend all its money on types that are best for it, and every type with a
/// price is sold; a type without a price must be of no use to anybody.
fn clears(instance: &Instance, prices: &[Option<Q>], bang: &[Option<Q>]) -> bool {
    let k = instance.types();
    let useless = |j: usize| instance.speedup.iter().all(|row| row[j].is_zero());
    let unpriced = |j: usize| prices[j].is_none() && !instance.count[j].is_zero();
    if (0..k).any(|j| unpriced(j) && !useless(j)) {
        return false;
    }
    let best = |l: usize, j: usize| match (&prices[j], &bang[l]) {
        (Some(p), Some(bang)) => instance.speedup[l][j] == bang * p,
        _ => false,
    };
    let mut program = Program::default();
    program.add_columns(instance.rows() * k);
    for l in 0..instance.rows() {
        let spent = (0..k).filter(|&j| best(l, j)).map(|j| (l * k + j, Q::one())).collect();
        program.at_most(spent, instance.weight[l].clone());
    }
    for j in 0..k {
        let earned = (0..instance.rows()).filter(|&l| best(l, j)).map(|l| (l * k + j, Q::one()));
        let worth = prices[j].clone().unwrap_or_else(Q::zero) * &instance.count[j];
        program.at_most(earned.collect(), worth);
    }
    let cells = (0..instance.rows()).flat_map(|l| (0..k).map(move |j| (l, j)));
    let all: Vec<(usize, Q)> =
        cells.filter(|&(l, j)| best(l, j)).map(|(l, j)| (l * k + j, Q::one())).collect();
    let money = program.solve(&[Stage::Maximise(all.clone())]);
    let spent: Q = all.iter().map(|(c, _)| &money[*c]).sum();
    let income: Q =
        (0..instance.rows()).filter(|&l| bang[l].is_some()).map(|l| &instance.weight[l]).sum();
    spent == income
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::ProblemSpec;

    #[test]
    fn a_market_of_two() {
        let spec = ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
        let instance = Instance::from(&spec.validate().unwrap());
        let q = |n: i64, d: i64| Q::new(n.into(), d.into());
        // Tenant 1 buys both types at 2/3 and 4/3, tenant 2 the fast one only.
        let both = [vec![true, true], vec![false, true]];
        assert_eq!(equilibrium(&instance, &both).unwrap(), [q(3, 2), q(15, 4)]);
        let apart = [vec![true, false], vec![false, true]];
        assert_eq!(equilibrium(&instance, &apart), None);
    }
}
