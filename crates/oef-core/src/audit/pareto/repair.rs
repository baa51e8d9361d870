//! From the program's approximate answer to shares that harm nobody.

use super::exchange::Exchange;

/// Makes amounts feasible: what is next to nothing is dropped, every party short of its floor is
/// given more of what it holds, and what is then handed out beyond capacity or demand is taken from
/// parties with a surplus. `None` if their surplus does not suffice.
pub(super) fn repair(exchange: &Exchange, amounts: &[f64]) -> Option<Vec<f64>> {
    let k = exchange.types.len();
    let mut x: Vec<f64> = amounts
        .iter()
        .enumerate()
        .map(|(at, &a)| if a > DUST * exchange.capacity[at % k] { a } else { 0.0 })
        .collect();
    for i in 0..exchange.parties() {
        lift(exchange, i, &mut x[i * k..][..k])?;
    }
    for group in &exchange.groups {
        let Some(demand) = group.demand else { continue };
        let part = group.parties.start * k..group.parties.end * k;
        let mut over = x[part.clone()].iter().sum::<f64>() - demand;
        for at in part {
            over -= take(exchange, &mut x, at, over);
        }
    }
    for j in 0..k {
        let used: f64 = x.iter().skip(j).step_by(k).sum();
        let mut over = used - exchange.capacity[j];
        for i in 0..exchange.parties() {
            over -= take(exchange, &mut x, i * k + j, over);
        }
        if over > DUST * exchange.capacity[j] {
            return None;
        }
    }
    Some(x)
}

/// A part of a type's capacity that is no answer but what an interior point keeps off the boundary.
const DUST: f64 = 1e-10;

/// Scales a party's amounts up to its floor.
fn lift(exchange: &Exchange, party: usize, x: &mut [f64]) -> Option<()> {
    let has = throughput(exchange, party, x);
    let floor = exchange.floor[party];
    if has < floor {
        let factor = floor / has;
        if !factor.is_finite() {
            return None;
        }
        x.iter_mut().for_each(|a| *a *= factor);
    }
    Some(())
}

/// Takes up to `over` GPUs of the entry, no more than its party's surplus allows; returns how many.
fn take(exchange: &Exchange, x: &mut [f64], at: usize, over: f64) -> f64 {
    let k = exchange.types.len();
    let (party, w) = (at / k, exchange.value[at]);
    if over <= 0.0 || x[at] <= 0.0 {
        return 0.0;
    }
    let surplus = throughput(exchange, party, &x[party * k..][..k]) - exchange.floor[party];
    let spare = if w > 0.0 { surplus.max(0.0) / w } else { x[at] };
    let taken = over.min(x[at]).min(spare);
    x[at] -= taken;
    taken
}

fn throughput(exchange: &Exchange, party: usize, x: &[f64]) -> f64 {
    exchange.values_of(party).iter().zip(x).map(|(w, a)| w * a).sum()
}
