//! Why a tenant has what it has.

use crate::ids::{GroupKey, TenantKey};
use crate::job::JobState;
use crate::promise::Rooms;
use crate::reason::{SAME, balance_in_words, gpus};
use crate::state::State;
use crate::tenant::Workload;

/// What a tenant has, what it is entitled to, and why.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TenantForecast {
    /// The GPUs that it is entitled to in this round, by type.
    pub share: Vec<f64>,
    /// The GPUs that its jobs have, or will have as soon as others have left them, by type.
    pub holds: Vec<u32>,
    /// The balance of its workloads with jobs in GPU-rounds, by type: + turns due, - used more than its turns.
    pub deficit: Vec<f64>,
    /// GPUs that its jobs could use together, its limit apart.
    pub wanted: u64,
    /// Its jobs that have GPUs, or are being given or leaving some.
    pub running: usize,
    /// Its jobs that wait for GPUs.
    pub waiting: usize,
    /// Its jobs that are held.
    pub held: usize,
    /// Its own weight.
    pub weight: f64,
    /// What counted in the last shares; `None`: it had no jobs then.
    pub effective_weight: Option<f64>,
    /// The group that it stands in.
    pub group: Option<GroupKey>,
    /// The GPUs that it may have at once.
    pub limit: Option<u32>,
    /// What guarantees and limits by gpu type mean for it, in sentences.
    #[cfg_attr(feature = "serde", serde(default))]
    pub promises: Vec<String>,
    /// Whether all of its jobs are held.
    pub suspended: bool,
    /// The most important of that in a sentence or two.
    pub sentence: String,
}

/// Says what a tenant has, and why. `None`: there is no such tenant.
pub fn why_tenant(state: &State, tenant: TenantKey) -> Option<TenantForecast> {
    let of = state.tenants().get(tenant.0)?;
    let types = 0..state.cluster().types().len();
    let own = || of.workloads.iter().map(|w| &state.workloads()[w.0]);
    let sum = |figure: fn(&Workload, usize) -> f64| {
        types.clone().map(|j| own().map(|w| figure(w, j)).sum()).collect()
    };
    let jobs = || state.jobs().filter(|job| job.spec.tenant == tenant);
    let count = |state: JobState| jobs().filter(|job| job.state() == state).count();
    let (waiting, held) = (count(JobState::Queued), count(JobState::Held));
    let live = own().filter(|w| w.is_active());
    let capacity = state.capacity_within(Rooms::limits(state).as_ref(), tenant);
    let mut forecast = TenantForecast {
        share: sum(Workload::share_on),
        holds: types.clone().map(|j| own().map(|w| w.used_on(j)).sum()).collect(),
        deficit: sum(Workload::balance_on),
        wanted: live.map(|w| w.usable(&capacity)).sum(),
        running: jobs().count() - waiting - held,
        waiting,
        held,
        weight: of.weight,
        effective_weight: of.effective,
        group: of.group,
        limit: of.limit,
        promises: promises(state, tenant),
        suspended: of.suspended,
        sentence: String::new(),
    };
    forecast.sentence = sentence(state, tenant, &forecast);
    Some(forecast)
}

/// The guarantees and limits of a tenant and of the groups that it stands in.
fn promises(state: &State, tenant: TenantKey) -> Vec<String> {
    let own = (None, state.tenants()[tenant.0].promises());
    let groups = state.groups_of(tenant).map(|g| &state.groups()[g.0]);
    let parties = std::iter::once(own).chain(groups.map(|g| (Some(&g.name), &g.promises)));
    let kept = state.guarantees_kept();
    let (types, capacity) = (state.cluster().types(), state.cluster().capacity());
    let mut all = Vec::new();
    for (group, promises) in parties {
        let whose = group.map_or("it".into(), |name| format!("its group {name}"));
        for (name, gpus) in &promises.guarantee {
            let mut text = format!(
                "{whose} is guaranteed {gpus} of {name}: they come before shares, count in them, and are lent out while unused"
            );
            let at = types.iter().position(|known| known == name);
            match at.map(|j| (kept[j], capacity[j])) {
                Some((part, up)) if part < 1.0 => {
                    let now = (f64::from(*gpus) * part + 1e-9).floor();
                    text += &format!(
                        "; now cut to {now}, as more is guaranteed than the {up} of {name} that are up"
                    );
                }
                None => text += &format!("; there is no {name} in the cluster"),
                Some(_) => {}
            }
            all.push(text);
        }
        for (name, gpus) in &promises.limit {
            all.push(format!("{whose} may have {gpus} of {name} at most"));
        }
    }
    all
}

fn sentence(state: &State, tenant: TenantKey, of: &TenantForecast) -> String {
    let live = of.running + of.waiting;
    if of.suspended {
        return format!("is suspended: {} held", jobs(of.held));
    }
    if live == 0 {
        return match of.held {
            0 => "has no jobs".into(),
            held => format!("wants nothing: {} held", jobs(held)),
        };
    }
    let left_out = left_out(state, tenant).filter(|_| of.effective_weight.is_some());
    let parts = [Some(entitled(state, tenant, of)), left_out, Some(has(of))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Its workloads that have no share because they cannot be part of the problem.
fn left_out(state: &State, tenant: TenantKey) -> Option<String> {
    let own = state.tenants()[tenant.0].workloads.iter();
    let left_out: Vec<String> = own
        .filter_map(|&w| {
            let reason = state.entitlement().why_left_out(w)?;
            Some(format!("has no share for workload {}: {reason}", state.workloads()[w.0].name))
        })
        .collect();
    (!left_out.is_empty()).then(|| left_out.join("; "))
}

/// What it is entitled to, and what decides that.
fn entitled(state: &State, tenant: TenantKey, of: &TenantForecast) -> String {
    let Some(weight) = of.effective_weight else {
        return match (of.wanted, left_out(state, tenant)) {
            (_, Some(left_out)) => left_out,
            (0, None) => match of.limit.filter(|_| is_over_limit(state, tenant)) {
                Some(limit) => {
                    format!(
                        "has no share: its jobs need more GPUs at once than its limit of {limit}"
                    )
                }
                None => "has no share: its jobs can run nowhere as things are".into(),
            },
            (_, None) => "has its first share in the next round".into(),
        };
    };
    let share: f64 = of.share.iter().sum();
    let total = state.entitlement().answer().map_or(weight, |(problem, _)| problem.total_weight());
    let parts = of.share.iter().zip(state.cluster().types()).filter(|(gpus, _)| **gpus > SAME);
    let parts: Vec<String> = parts.map(|(gpus, name)| format!("{gpus:.2} of {name}")).collect();
    let what = match parts.is_empty() {
        true => "is entitled to no GPUs".to_string(),
        false => format!("is entitled to {}", parts.join(", ")),
    };
    let limit = of.limit.map(f64::from);
    let at_type = |(gpus, name): (&f64, &String)| {
        state.limit_on(tenant, name).is_some_and(|(limit, _)| *gpus > f64::from(limit) - SAME)
    };
    let at_type = of.share.iter().zip(state.cluster().types()).any(at_type);
    match limit {
        _ if at_type && share < of.wanted as f64 - SAME => {
            format!(
                "{what}, with weight {weight:.2} of {total:.2} and within its limits by gpu type"
            )
        }
        Some(limit) if share > limit - SAME && limit < of.wanted as f64 => {
            format!("{what}, all that its limit allows")
        }
        _ if share > of.wanted as f64 - SAME => format!("{what}, all that its jobs can use"),
        _ => format!("{what}, with weight {weight:.2} of {total:.2}"),
    }
}

/// Whether each of its jobs is larger than the tenant's limit.
fn is_over_limit(state: &State, tenant: TenantKey) -> bool {
    let own = state.tenants()[tenant.0].workloads.iter().map(|w| &state.workloads()[w.0]);
    own.flat_map(|w| w.classes.iter().filter(|c| c.live > 0).map(|c| c.workers > w.cap))
        .all(|is_larger| is_larger)
}

/// What it has, and its balance.
fn has(of: &TenantForecast) -> String {
    let holds: u32 = of.holds.iter().sum();
    let balance: f64 = of.deficit.iter().sum();
    let waits = match of.waiting {
        0 => String::new(),
        waiting => format!(", {} waiting", jobs(waiting)),
    };
    let balance = balance_in_words(balance, of.waiting > 0);
    let balance = balance.map_or(String::new(), |balance| format!("; {balance}"));
    format!("it holds {}{waits}{balance}", gpus(holds))
}

fn jobs(count: usize) -> String {
    format!("{count} {}", if count == 1 { "job" } else { "jobs" })
}
