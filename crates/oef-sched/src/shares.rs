//! Who is entitled to which GPUs: what is asked, and when it is asked again.
//!
//! The problem of a moment is made of the tenants and workloads with live jobs that can run somewhere. Weights are
//! divided down the tree of groups, tenants and workloads (`weights`). The shares are those of the mechanism for that
//! problem, demands and limits included.

use crate::answer::{Asked, WarmStart};
use crate::ids::{TenantKey, WorkloadKey};
use crate::promise::{self, Rooms};
use crate::question::Question;
use crate::state::State;
use crate::weights::{Portion, divide, portions};
use oef_core::problem::{MAX_LIVE_RATIO, check_profile_within};
use oef_core::{GpuSpec, ProblemSpec, TenantSpec, WorkloadSpec};
use std::collections::BTreeMap;

impl State {
    /// What has to be solved for the shares to be up to date; `None`: they are. The answer comes back as
    /// [`EventKind::Shares`](crate::EventKind::Shares), sooner or later.
    pub fn question(&self) -> Option<Question> {
        self.is_stale().then(|| self.ask(self.entitlement().warm.clone()))
    }

    /// Whether the problem is another one than that of the last answer. It is made of what changes the version, of
    /// the workloads with live jobs, and of what these can use, so that this is exact.
    pub(crate) fn is_stale(&self) -> bool {
        let entitlement = self.entitlement();
        let Asked { version, active, demands: before, .. } = &entitlement.answer.asked;
        *version != entitlement.version
            || !active.iter().eq(self.active_workloads())
            || *before != demands(self)
            || entitlement.trouble().is_some()
    }

    /// The question of this moment, whether the shares are up to date or not.
    pub(crate) fn ask(&self, warm: WarmStart) -> Question {
        ask(self, demands(self), warm)
    }
}

/// The GPUs that each workload with live jobs can use. More than there are count as all: no share could differ.
fn demands(state: &State) -> Vec<u32> {
    let limits = Rooms::limits(state);
    let demand = |w: &WorkloadKey| {
        let workload = &state.workloads()[w.0];
        let usable = workload.usable(&state.capacity_within(limits.as_ref(), workload.tenant));
        usable.min(u64::from(state.cluster().total())) as u32
    };
    state.active_workloads().iter().map(demand).collect()
}

/// One workload of the problem.
struct Row {
    tenant: TenantKey,
    workload: WorkloadKey,
    demand: u32,
    /// Its part in the tenant's weight: rows of one workload divide what it counts by their jobs.
    weight: f64,
    /// By type; 0: none of its jobs can use it.
    throughput: Vec<f64>,
}

/// The question of this moment.
fn ask(state: &State, demands: Vec<u32>, warm: WarmStart) -> Question {
    let (rows, left_out) = rows(state, &demands);
    let of_tenants: Vec<&[Row]> = rows.chunk_by(|a, b| a.tenant == b.tenant).collect();
    let tenants: Vec<TenantKey> = of_tenants.iter().map(|own| own[0].tenant).collect();
    let wanted = |own: &&[Row]| {
        let wanted = own.iter().map(|row| u64::from(row.demand)).sum::<u64>();
        state.tenants()[own[0].tenant.0].limit.map_or(wanted, |limit| wanted.min(limit.into()))
    };
    let wanted: Vec<u64> = of_tenants.iter().map(wanted).collect();
    let portions = portions(state, &tenants, &wanted);
    let weights: Vec<f64> = portions.iter().map(|portion| portion.weight).collect();
    let usable: Vec<Vec<f64>> =
        of_tenants.iter().zip(&wanted).map(|(own, &wanted)| usable(state, own, wanted)).collect();
    let promised = promise::divide(state, &tenants, &weights, &usable);
    let described = of_tenants.iter().zip(&portions).enumerate();
    let described = described.map(|(t, (own, part))| TenantSpec {
        guarantee: named(state, promised.guarantee.get(t), |&g| Some(g).filter(|&g| g > 0.0)),
        limit: named(state, promised.limit.get(t), |&l| l),
        ..describe(state, own, part)
    });
    let cluster = state.cluster();
    let gpus = cluster.types().iter().zip(cluster.capacity());
    let spec = ProblemSpec {
        tenants: described.collect(),
        reference: state.settings().reference.clone().filter(|r| cluster.type_named(r).is_some()),
        gpus: gpus.map(|(n, &c)| GpuSpec { name: n.clone(), count: f64::from(c) }).collect(),
    };
    let workloads: Vec<WorkloadKey> = rows.iter().map(|row| row.workload).collect();
    let mut known = vec![false; state.workloads().len()];
    state.entitlement().workloads().iter().for_each(|w| known[w.0] = true);
    let last = |w: &WorkloadKey| known[w.0].then(|| state.workloads()[w.0].share.clone());
    Question {
        last: workloads.iter().map(last).collect(),
        asked: Asked {
            version: state.entitlement().version,
            active: state.active_workloads().iter().copied().collect(),
            demands,
            weights,
            tenants,
            workloads,
        },
        mechanism: state.settings().mechanism,
        spec,
        left_out,
        warm,
    }
}

/// GPUs of each type that a tenant's rows can use, each type on its own.
fn usable(state: &State, own: &[Row], wanted: u64) -> Vec<f64> {
    let on = |j: usize| -> u64 {
        own.iter().filter(|row| row.throughput[j] > 0.0).map(|row| u64::from(row.demand)).sum()
    };
    (0..state.cluster().types().len()).map(|j| on(j).min(wanted) as f64).collect()
}

/// The figures that there are, with the names of their gpu types.
fn named<T>(
    state: &State,
    figures: Option<&Vec<T>>,
    figure: impl Fn(&T) -> Option<f64>,
) -> Vec<(String, f64)> {
    let types = state.cluster().types().iter().zip(figures.into_iter().flatten());
    types.filter_map(|(name, of)| Some((name.clone(), figure(of)?))).collect()
}

/// The workloads that can run somewhere, tenant after tenant; and those whose profile cannot be used.
fn rows(state: &State, demands: &[u32]) -> (Vec<Row>, Vec<(WorkloadKey, String)>) {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    let active = state.active_workloads().iter().zip(demands);
    let limits = Rooms::limits(state);
    for (&key, &demand) in active.filter(|(_, demand)| **demand > 0) {
        let workload = &state.workloads()[key.0];
        let capacity = state.capacity_within(limits.as_ref(), workload.tenant);
        let usable = workload.usable_types(&capacity);
        let speed =
            |(j, &usable): (usize, &bool)| if usable { workload.profile.on(j) } else { 0.0 };
        let throughput: Vec<f64> = usable.iter().enumerate().map(speed).collect();
        // A gang is counted in units of its workload's single worker: what is far from that would spoil it for others, too.
        let single = workload.gang_of().map(|of| &state.workloads()[of.0].profile.throughput);
        let counted: Vec<f64> =
            throughput.iter().chain(single.into_iter().flatten()).copied().collect();
        let check = |figures: &[f64]| check_profile_within(figures, MAX_LIVE_RATIO);
        match check(&throughput).and_then(|()| check(&counted)) {
            Ok(()) => rows.push(Row {
                tenant: workload.tenant,
                workload: key,
                demand,
                weight: workload.weight,
                throughput,
            }),
            Err(reason) => left_out.push((key, format!("its profile cannot be used: {reason}"))),
        }
    }
    rows.sort_by_key(|row| (row.tenant, row.workload));
    divide_among_gangs(state, &mut rows);
    (rows, left_out)
}

/// Rows of one workload count together what it counts, each by the jobs that could run at once if all GPUs were its own:
/// every job counts alike, whatever its size. By GPUs instead of jobs, large gangs would keep small jobs waiting: on a
/// trace of gangs of up to 64 the mean completion time is then three to six times as long, with the same throughput.
fn divide_among_gangs(state: &State, rows: &mut [Row]) {
    let of = |row: &Row| state.workloads()[row.workload.0].gang_of().unwrap_or(row.workload);
    let jobs = |row: &Row| {
        let workers = state.workloads()[row.workload.0].gang_workers().unwrap_or(1);
        f64::from(row.demand) / f64::from(workers)
    };
    let mut wanted: BTreeMap<WorkloadKey, f64> = BTreeMap::new();
    for row in rows.iter() {
        *wanted.entry(of(row)).or_default() += jobs(row);
    }
    for row in rows {
        let workload = of(row);
        let part = jobs(row) / wanted[&workload];
        row.weight = state.workloads()[workload.0].weight * part;
    }
}

/// A tenant of the problem with its workloads.
fn describe(state: &State, own: &[Row], portion: &Portion) -> TenantSpec {
    let tenant = &state.tenants()[own[0].tenant.0];
    let party = |row: &Row| (row.weight, f64::from(row.demand));
    let weights = divide(portion.gpus, &own.iter().map(party).collect::<Vec<_>>());
    let workload = |(row, weight): (&Row, f64)| {
        let types = || state.cluster().types().iter().cloned();
        let of = &state.workloads()[row.workload.0];
        let single = of.gang_of().map(|w| &state.workloads()[w.0].profile.throughput);
        let single = single.filter(|single| single.iter().any(|&on| on > 0.0));
        WorkloadSpec {
            name: of.name.clone(),
            weight,
            demand: Some(f64::from(row.demand)),
            throughput: types().zip(row.throughput.iter().copied()).collect(),
            single: single.map_or_else(Vec::new, |s| types().zip(s.iter().copied()).collect()),
        }
    };
    TenantSpec {
        name: tenant.name.clone(),
        weight: portion.weight,
        demand: tenant.limit.map(f64::from),
        guarantee: Vec::new(),
        limit: Vec::new(),
        workloads: own.iter().zip(weights).map(workload).collect(),
    }
}
