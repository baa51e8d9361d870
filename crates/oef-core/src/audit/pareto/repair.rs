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
    let mut room = vec![f64::INFINITY; exchange.parties()];
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

/// Every party below its floor takes GPUs from the parties with the largest surplus, of the type that
/// costs the giver least.
fn give_to_the_short(exchange: &Exchange, x: &mut [f64], room: &[f64]) {
    let k = exchange.types.len();
    let n = exchange.parties();
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
            let mut types: Vec<usize> = (0..k).filter(|&j| mine[j] > 0.0).collect();
            types.sort_by(|&a, &b| (theirs[a] / mine[a]).total_cmp(&(theirs[b] / mine[b])));
            for j in types {
                if surplus[i] >= 0.0 || surplus[giver] <= 0.0 {
                    break;
                }
                let spare =
                    if theirs[j] > 0.0 { surplus[giver] / theirs[j] } else { f64::INFINITY };
                let moved = (-surplus[i] / mine[j]).min(x[giver * k + j]).min(spare).min(room);
                x[giver * k + j] -= moved;
                x[i * k + j] += moved;
                surplus[giver] -= moved * theirs[j];
                surplus[i] += moved * mine[j];
                room -= moved;
            }
        }
    }
}

/// The parties with the largest surplus suffice for what rounding leaves short.
const GIVERS_MAX: usize = 32;

fn throughput(exchange: &Exchange, party: usize, x: &[f64]) -> f64 {
    exchange.values_of(party).iter().zip(x).map(|(w, a)| w * a).sum()
}
