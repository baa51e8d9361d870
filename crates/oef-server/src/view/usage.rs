//! Who used how much of what, as a caller may see it.

use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::world::{TenantUsage, World, timestamp};
use oef_api::types::{Problem, Usage, UsageBy, UsageQuery, UsageRow};
use oef_sched::Time;
use std::collections::BTreeMap;

const DAY_MS: u64 = 86_400_000;
const HOUR_MS: f64 = 3_600_000.0;

/// Sums up the periods that were asked for. What runs is counted up to the last round.
pub fn usage(world: &World, caller: &Caller, query: &UsageQuery) -> Result<Usage, Problem> {
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
            add(&mut sums, by, world, tenant, used);
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
    world: &World,
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
    let name = match by {
        UsageBy::Tenant | UsageBy::Workload => tenant,
        UsageBy::User => {
            let entry = world.tenants.get(tenant);
            entry.and_then(|entry| entry.user.as_deref()).unwrap_or("")
        }
        UsageBy::Type => "",
    };
    for (workload, types) in &used.workloads {
        let whole = format!("{tenant}/{workload}");
        let name = if by == UsageBy::Workload { &whole } else { name };
        for (gpu_type, more) in types {
            row(name, gpu_type, &|row| {
                row.gpu_hours += more.held / HOUR_MS;
                row.wasted += more.wasted / HOUR_MS;
            });
        }
    }
    if by == UsageBy::Workload {
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
