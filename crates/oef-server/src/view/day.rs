//! What the last day delivered: each tenant against its equal split, and against the GPUs of the others.

use crate::world::{Hour, TenantEntry, World};
use oef_api::types::DayFairness;
use oef_core::audit::{OverTime, Presence};
use std::collections::BTreeMap;

/// Beyond so many tenants only equal splits are compared: every pair of them would take too long to answer.
const PAIRS_OF_TENANTS_MAX: usize = 300;
/// Envy below this is rounding to whole GPUs, and is not told.
const TOLD: f64 = 1.005;
const HOUR_MS: f64 = 3_600_000.0;

/// The last day of every tenant that had jobs in it, by name.
pub(super) fn last_day(world: &World) -> BTreeMap<String, DayFairness> {
    let now = world.sched.now().0 / HOUR_MS as u64;
    let recent = |hour: &&Hour| hour.hour + 24 >= now && hour.ms > 0.0;
    let there: Vec<(&String, &TenantEntry)> =
        world.tenants.iter().filter(|(_, t)| t.hours.iter().any(|h| recent(&h))).collect();
    let mut over = OverTime::new(there.len());
    let mut hours: BTreeMap<u64, Vec<(usize, Means)>> = BTreeMap::new();
    for (t, (_, entry)) in there.iter().enumerate() {
        for hour in entry.hours.iter().filter(recent) {
            hours.entry(hour.hour).or_default().push((t, Means::of(hour)));
        }
    }
    let pairs = there.len() <= PAIRS_OF_TENANTS_MAX;
    for present in hours.values() {
        let present: Vec<Presence<'_>> = present.iter().map(|(t, m)| m.presence(*t)).collect();
        match pairs {
            true => over.add(&present),
            false => present.iter().for_each(|one| over.add(std::slice::from_ref(one))),
        }
    }
    let day = |t: usize, entry: &TenantEntry| {
        let ms: f64 = entry.hours.iter().filter(recent).map(|hour| hour.ms).sum();
        let envy = over.envy(t).filter(|envy| envy.ratio > TOLD);
        let mut day = DayFairness {
            hours: ms / HOUR_MS,
            of_equal_split: over.sharing_incentive(t),
            envies: envy.map(|envy| there[envy.other].0.clone()),
            envy: pairs.then(|| over.envy(t).map_or(0.0, |envy| envy.ratio)),
            sentence: String::new(),
        };
        day.sentence = sentence(&day);
        day
    };
    there.iter().enumerate().map(|(t, (name, entry))| ((*name).clone(), day(t, entry))).collect()
}

fn sentence(day: &DayFairness) -> String {
    let hours = match day.hours {
        h if h >= 1.5 => format!("{h:.0}h with jobs"),
        h => format!("{:.0}m with jobs", (h * 60.0).max(1.0)),
    };
    let got = day.of_equal_split.map_or_else(
        || "it had no equal split to compare with".into(),
        |part| format!("it got {:.0} % of its equal split", 100.0 * part),
    );
    let others = match (&day.envies, day.envy) {
        (Some(other), Some(ratio)) => {
            let more = 100.0 * (ratio - 1.0);
            format!(", and the GPUs of {other} would have been worth {more:.0} % more to it")
        }
        (None, Some(_)) => ", and nobody's GPUs would have been worth more to it".into(),
        _ => String::new(),
    };
    format!("over the last 24h ({hours}) {got}{others}")
}

/// The means of an hour.
struct Means {
    length: f64,
    delivered: f64,
    equal_split: f64,
    weight: f64,
    demand: f64,
    speedup: Vec<f64>,
    held: Vec<f64>,
}

impl Means {
    fn of(hour: &Hour) -> Self {
        let mean = |sum: &f64| sum / hour.ms;
        Means {
            length: hour.ms,
            delivered: mean(&hour.delivered),
            equal_split: mean(&hour.equal_split),
            weight: mean(&hour.weight),
            demand: mean(&hour.demand),
            speedup: hour.speedup.iter().map(mean).collect(),
            held: hour.held.iter().map(mean).collect(),
        }
    }

    fn presence(&self, tenant: usize) -> Presence<'_> {
        Presence {
            tenant,
            length: self.length,
            weight: self.weight,
            delivered: self.delivered,
            equal_split: self.equal_split,
            demand: self.demand,
            speedup: &self.speedup,
            held: &self.held,
        }
    }
}
