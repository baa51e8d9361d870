//! Who used how much of what, as a caller may see it.

use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::world::{TenantUsage, Used, World, timestamp};
use oef_api::types::{ApiError, Usage, UsageBy, UsageQuery, UsageRow};
use oef_sched::Time;
use std::collections::BTreeMap;

const DAY_MS: u64 = 86_400_000;
const HOUR_MS: f64 = 3_600_000.0;

/// Sums up the periods that were asked for. What runs is counted up to the last round.
pub fn usage(world: &World, caller: &Caller, query: &UsageQuery) -> Result<Usage, ApiError> {
    let day = |at: jiff::Timestamp| u64::try_from(at.as_millisecond()).unwrap_or(0) / DAY_MS;
    let (first, last) = (query.since.map_or(0, day), query.until.map_or(u64::MAX, day));
    if first > last {
        let why = "the time ends before it begins";
        return Err(Kind::BadRequest.problem(why).field("until"));
    }
    let by = query.by.unwrap_or_default();
    let mut sums: BTreeMap<(String, String), UsageRow> = BTreeMap::new();
    let mut from = None;
    // A month that was summed up cannot be taken apart: it counts where a day of it does.
    let periods = world.usage.periods.range(..=last).filter(|(_, period)| period.last >= first);
    for (&day, period) in periods {
        from.get_or_insert(day);
        for (tenant, used) in period.tenants.iter().filter(|(name, _)| caller.may_see(name)) {
            add(&mut sums, by, tenant, used);
        }
    }
    let settled = world.usage.settled;
    let from = from.map_or(settled, |day| Time(day * DAY_MS));
    let to = settled.max(from);
    let rows = sums.into_values().collect();
    Ok(Usage { from: timestamp(from), to: timestamp(to), by, rows })
}

fn add(
    sums: &mut BTreeMap<(String, String), UsageRow>,
    by: UsageBy,
    tenant: &str,
    used: &TenantUsage,
) {
    let mut row = |name: &str, gpu_type: &str, change: &dyn Fn(&mut UsageRow)| {
        let key = (name.to_string(), gpu_type.to_string());
        let row = sums.entry(key).or_insert_with(|| UsageRow {
            name: name.into(),
            gpu_type: gpu_type.into(),
            ..UsageRow::default()
        });
        change(row);
    };
    let mut count = |name: &str, gpu_type: &str, more: Used| {
        row(name, gpu_type, &|row| {
            row.gpu_hours += more.held / HOUR_MS;
            row.wasted += more.wasted / HOUR_MS;
            measured(row, &more);
        });
    };
    let name = if by == UsageBy::Type { "" } else { tenant };
    match by {
        UsageBy::User => {
            for (user, gpu_type, more) in users(used) {
                count(&user, &gpu_type, more);
            }
        }
        _ => {
            for (workload, types) in &used.workloads {
                let whole = format!("{tenant}/{workload}");
                let name = if by == UsageBy::Workload { &whole } else { name };
                types.iter().for_each(|(gpu_type, more)| count(name, gpu_type, *more));
            }
        }
    }
    // Shares are tenants'.
    if matches!(by, UsageBy::Workload | UsageBy::User) {
        return;
    }
    let sum = |to: &mut Option<f64>, ms: f64| *to = Some(to.unwrap_or(0.0) + ms / HOUR_MS);
    for (gpu_type, more) in &used.types {
        row(name, gpu_type, &|row| {
            sum(&mut row.promised, more.promised);
            sum(&mut row.borrowed, more.borrowed);
            sum(&mut row.lent, more.lent);
        });
    }
}

/// What each user used of each gpu type; under no name what was used before users were recorded.
fn users(used: &TenantUsage) -> Vec<(String, String, Used)> {
    let mut rest: BTreeMap<&String, Used> = BTreeMap::new();
    for (gpu_type, more) in used.workloads.values().flatten() {
        let sum = rest.entry(gpu_type).or_default();
        (sum.held, sum.wasted) = (sum.held + more.held, sum.wasted + more.wasted);
    }
    let mut rows = Vec::new();
    for (user, types) in &used.users {
        for (gpu_type, more) in types {
            let sum = rest.entry(gpu_type).or_default();
            (sum.held, sum.wasted) = (sum.held - more.held, sum.wasted - more.wasted);
            rows.push((user.clone(), gpu_type.clone(), *more));
        }
    }
    // Less than a second is the rounding of long sums.
    let unknown = rest.into_iter().filter(|(_, more)| more.held > 1000.0);
    rows.extend(unknown.map(|(gpu_type, more)| (String::new(), gpu_type.clone(), more)));
    rows
}

/// The mean over all that was measured.
fn measured(row: &mut UsageRow, more: &Used) {
    if more.measured <= 0.0 {
        return;
    }
    let busy = row.utilisation.unwrap_or(0.0) * row.measured + more.busy / HOUR_MS;
    row.measured += more.measured / HOUR_MS;
    row.utilisation = Some(busy / row.measured);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_the_hours_that_were_measured() {
        let hours = |measured, busy| Used {
            held: 10.0 * HOUR_MS,
            measured: measured * HOUR_MS,
            busy: busy * HOUR_MS,
            ..Used::default()
        };
        let mut row = UsageRow::default();
        measured(&mut row, &hours(0.0, 0.0));
        assert_eq!((row.measured, row.utilisation), (0.0, None), "not measured is not idle");
        measured(&mut row, &hours(1.0, 1.0));
        measured(&mut row, &hours(3.0, 0.0));
        assert_eq!((row.measured, row.utilisation), (4.0, Some(0.25)));
    }
}
