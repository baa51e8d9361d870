//! From the program's approximate answer to shares that harm nobody.

use super::exchange::Exchange;

/// Makes amounts feasible. What is next to nothing is dropped, types and demands beyond their limit
/// are scaled down, and then everybody short of its floor (by a hair, since the answer is nearly
/// right) is given a little by those with a surplus. Whoever calls still counts.
pub(super) fn repair(exchange: &Exchange, amounts: &[f64]) -> Vec<f64> {
    let k = exchange.types.len();
    let mut x: Vec<f64> = amounts
        .iter()
        .enumerate()
        .map(|(at, &a)| if a > DUST * exchange.capacity[at % k] { a } else { 0.0 })
        .collect();
    for j in 0..k {
        let used: f64 = x.iter().skip(j).step_by(k).sum();
        if used > exchange.capacity[j] {
            let factor = exchange.capacity[j] / used;
            x.iter_mut().skip(j).step_by(k).for_each(|a| *a *= factor);
        }
    }
    let mut room = vec![f64::INFINITY; exchange.traders()];
    for (i, bundle) in x.chunks_exact_mut(k.max(1)).enumerate() {
        let Some(demand) = exchange.demand[i] else { continue };
        let used: f64 = bundle.iter().sum();
        if used > demand {
            bundle.iter_mut().for_each(|a| *a *= demand / used);
        }
        room[i] = (demand - used).max(0.0);
    }
    give_to_the_short(exchange, &mut x, &room);
    x
}

/// A part of a type's capacity that is no answer but what an interior point keeps off the boundary.
const DUST: f64 = 1e-11;

/// Every trader below its floor takes GPUs from the traders with the largest surplus, of the type that
/// costs the giver least; if it holds as many as it can use, it gives a slower one back for each.
fn give_to_the_short(exchange: &Exchange, x: &mut [f64], room: &[f64]) {
    let k = exchange.types.len();
    let n = exchange.traders();
    let mut surplus: Vec<f64> =
        (0..n).map(|i| throughput(exchange, i, &x[i * k..][..k]) - exchange.floor[i]).collect();
    let mut givers: Vec<usize> = (0..n).filter(|&i| surplus[i] > 0.0).collect();
    givers.sort_by(|&a, &b| surplus[b].total_cmp(&surplus[a]).then(a.cmp(&b)));
    givers.truncate(GIVERS_MAX);
    let short: Vec<usize> = (0..n).filter(|&i| surplus[i] < 0.0).collect();
    for i in short {
        let mut room = room[i];
        for &giver in &givers {
            if surplus[i] >= 0.0 {
                break;
            }
            let (mine, theirs) = (exchange.values_of(i), exchange.values_of(giver));
            for (from, to) in offers(mine, theirs) {
                if surplus[i] >= 0.0 || surplus[giver] <= 0.0 {
                    break;
                }
                let back = |values: &[f64]| from.map_or(0.0, |h| values[h]);
                let (gain, cost) = (mine[to] - back(mine), theirs[to] - back(theirs));
                let spare = if cost > 0.0 { surplus[giver] / cost } else { f64::INFINITY };
                let left = from.map_or(room, |h| x[i * k + h]);
                let moved = (-surplus[i] / gain).min(x[giver * k + to]).min(spare).min(left);
                x[giver * k + to] -= moved;
                x[i * k + to] += moved;
                match from {
                    Some(h) => {
                        x[i * k + h] -= moved;
                        // Who cannot use it leaves it idle.
                        x[giver * k + h] += if theirs[h] > 0.0 { moved } else { 0.0 };
                    }
                    None => room -= moved,
                }
                surplus[giver] -= moved * cost;
                surplus[i] += moved * gain;
            }
        }
    }
}

/// What a trader may take from a giver: a GPU of a type, for nothing or for a slower one in return. First
/// what costs the giver least for what the trader gains.
fn offers(mine: &[f64], theirs: &[f64]) -> Vec<(Option<usize>, usize)> {
    let types = 0..mine.len();
    let returned = || std::iter::once(None).chain(types.clone().map(Some));
    let worth = |values: &[f64], from: Option<usize>| from.map_or(0.0, |h| values[h]);
    let mut offers: Vec<(f64, Option<usize>, usize)> = Vec::new();
    for from in returned() {
        for to in types.clone() {
            let gain = mine[to] - worth(mine, from);
            if gain > 0.0 {
                offers.push(((theirs[to] - worth(theirs, from)) / gain, from, to));
            }
        }
    }
    offers.sort_by(|a, b| a.0.total_cmp(&b.0));
    offers.into_iter().map(|(_, from, to)| (from, to)).collect()
}

/// The traders with the largest surplus suffice for what rounding leaves short.
const GIVERS_MAX: usize = 32;

fn throughput(exchange: &Exchange, trader: usize, x: &[f64]) -> f64 {
    exchange.values_of(trader).iter().zip(x).map(|(w, a)| w * a).sum()
}
