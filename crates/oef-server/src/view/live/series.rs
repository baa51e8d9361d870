//! Promised and delivered as curves.

use super::{compared, short};
use crate::caller::Caller;
use crate::world::{TenantEntry, World};
use oef_api::types::{ApiError, Curve, Series, SeriesQuery, TenantCurve};
use oef_core::{TenantId, equal_split};
use std::collections::BTreeMap;

/// Rounds where nothing is said: ten hours of five-minute rounds.
const ROUNDS: u32 = 120;
/// Tenants where nothing is said: as many small charts as fit on a screen.
const TENANTS: u32 = 24;

/// The curves that a question asks for. Everybody may ask: fairness is between all.
pub fn series(world: &World, caller: &Caller, asked: &SeriesQuery) -> Result<Series, ApiError> {
    if let Some(name) = &asked.tenant {
        compared(world, caller, name)?;
    }
    let rounds = rounds(world, asked);
    let wanted = |name: &String| asked.tenant.as_ref().is_none_or(|only| only == name);
    let first = rounds.keys().next().copied().unwrap_or(u64::MAX);
    let took_part = |entry: &TenantEntry| entry.delivered.back().is_some_and(|p| p.round >= first);
    let all = world.tenants.iter().filter(|(_, entry)| took_part(entry));
    let total = total(all.clone().map(|(_, entry)| entry), &rounds);
    let mut curves: Vec<(f64, TenantCurve)> =
        all.filter(|(name, _)| wanted(name)).map(|(n, e)| tenant(world, n, e, &rounds)).collect();
    curves.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.tenant.cmp(&b.1.tenant)));
    let limit = asked.tenants.unwrap_or(TENANTS) as usize;
    let more = curves.len().saturating_sub(limit);
    curves.truncate(limit);
    Ok(Series {
        rounds: rounds.keys().copied().collect(),
        at_ms: rounds.values().copied().collect(),
        total,
        tenants: curves.into_iter().map(|(_, curve)| curve).collect(),
        more: u32::try_from(more).unwrap_or(u32::MAX),
    })
}

/// The last rounds that anybody took part in, with their ends.
fn rounds(world: &World, asked: &SeriesQuery) -> BTreeMap<u64, u64> {
    let limit = asked.rounds.unwrap_or(ROUNDS) as usize;
    let after = asked.after.unwrap_or(0);
    let mut rounds = BTreeMap::new();
    for entry in world.tenants.values() {
        let points = entry.delivered.iter().rev().take(limit);
        rounds.extend(points.filter(|p| p.round > after).map(|p| (p.round, p.at_ms)));
    }
    while rounds.len() > limit {
        rounds.pop_first();
    }
    rounds
}

/// A tenant's curves, and how much it lacks.
fn tenant(
    world: &World,
    name: &str,
    entry: &TenantEntry,
    rounds: &BTreeMap<u64, u64>,
) -> (f64, TenantCurve) {
    let points: BTreeMap<u64, (f64, f64)> =
        entry.delivered.iter().map(|p| (p.round, (p.promised, p.delivered))).collect();
    let at = |round: &u64| points.get(round).copied();
    let curve = Curve {
        promised: rounds.keys().map(|r| at(r).map(|p| short(p.0))).collect(),
        delivered: rounds.keys().map(|r| at(r).map(|p| short(p.1))).collect(),
    };
    let lacks = rounds.keys().filter_map(at).map(|(promised, delivered)| promised - delivered);
    let entitlement = world.sched.entitlement();
    let place = entitlement.tenants().iter().position(|&key| key == entry.key).map(TenantId);
    let equal = entitlement.answer().zip(place).map_or(0.0, |((p, _), t)| equal_split(p, t));
    let (tenant, slot) = (name.to_string(), entry.key.0 as u64);
    (lacks.sum(), TenantCurve { tenant, slot, equal_split: short(equal), curve })
}

fn total<'a>(all: impl Iterator<Item = &'a TenantEntry>, rounds: &BTreeMap<u64, u64>) -> Curve {
    let mut sums: BTreeMap<u64, (f64, f64)> = rounds.keys().map(|&r| (r, (0.0, 0.0))).collect();
    for point in all.flat_map(|entry| &entry.delivered) {
        if let Some(sum) = sums.get_mut(&point.round) {
            *sum = (sum.0 + point.promised, sum.1 + point.delivered);
        }
    }
    Curve {
        promised: sums.values().map(|sum| Some(short(sum.0))).collect(),
        delivered: sums.values().map(|sum| Some(short(sum.1))).collect(),
    }
}
