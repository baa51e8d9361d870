//! A small busy cluster: four tenants whose jobs come and go, submitted as anybody submits.

mod generator;

use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::engine::parse;
use generator::{Generator, TENANTS};
use oef_api::parsed::Weight;
use oef_api::types::{ApiError, JobBatch, JobsQuery, TenantCreate, WorkloadPut};
use oef_executor::demo_job;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How often it looks whether there is enough to do.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The label of its jobs.
const LABEL: &str = "demo";
/// More are never asked for.
const LIVE_MAX: u32 = 100;

/// Keeps the cluster busy until it is aborted.
pub(crate) async fn run(daemon: Daemon, program: PathBuf) {
    if let Err(problem) = prepare(&daemon).await {
        tracing::warn!(%problem, "the demonstration could not be prepared");
        return;
    }
    let mut generator = Generator::new(program.display().to_string());
    loop {
        if let Err(problem) = top_up(&daemon, &mut generator).await {
            tracing::warn!(%problem, "a demonstration job was not taken");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The tenants, and the profiles that they declare: the speeds of the demonstration job itself.
async fn prepare(daemon: &Daemon) -> Result<(), ApiError> {
    let admin = Caller::admin();
    let types: Vec<String> =
        daemon.cluster(&admin)?.types.into_iter().map(|t| t.gpu_type).collect();
    for tenant in &TENANTS {
        if daemon.tenant(&admin, tenant.name).is_err() {
            let name = parse("name", tenant.name)?;
            let weight = Weight::try_from(tenant.weight).ok();
            let create = TenantCreate { weight, ..TenantCreate::named(name) };
            daemon.create_tenant(&admin, create).await?;
        }
        for model in tenant.models {
            if daemon.workload(&admin, tenant.name, model).is_ok() {
                continue;
            }
            let speed = |name: &String| (name.clone(), demo_job::speed(model, name));
            let throughput: BTreeMap<String, f64> = types.iter().map(speed).collect();
            let put = WorkloadPut { throughput: Some(throughput), ..WorkloadPut::default() };
            daemon.put_workload(&admin, tenant.name, model, put).await?;
        }
    }
    Ok(())
}

/// Submits a job where there are fewer than there should be.
async fn top_up(daemon: &Daemon, generator: &mut Generator) -> Result<(), ApiError> {
    let admin = Caller::admin();
    let query =
        JobsQuery { label: Some(LABEL.into()), limit: Some(LIVE_MAX), ..JobsQuery::default() };
    let live = daemon.jobs(&admin, &query)?.jobs.len();
    let largest = daemon.cluster(&admin)?.types.iter().map(|t| t.capacity).max().unwrap_or(0);
    if live < generator.wanted() && largest > 0 {
        let mut job = generator.job(largest);
        job.labels.insert(LABEL.into(), "true".into());
        daemon.submit(&admin, JobBatch::of(vec![job]), None).await?;
    }
    Ok(())
}
