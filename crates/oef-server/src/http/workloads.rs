//! Workloads and their profiles.

use super::handler::*;
use oef_api::types::{Workload, WorkloadPut, Workloads, WorkloadsQuery};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show, put))
}

/// Lists workloads by tenant and name
#[utoipa::path(get, path = "/workloads", tag = "workloads", operation_id = "listWorkloads",
    params(WorkloadsQuery),
    responses((status = 200, description = "One page of workloads", body = Workloads)))]
async fn list(Asks(app, caller, query): Asks<WorkloadsQuery>) -> Answer<Workloads> {
    let page = page(PageQuery { limit: query.limit, after: query.after })?;
    let tenant = query.tenant;
    app.aside(move |daemon| daemon.workloads(&caller, tenant.as_deref(), &page)).await.map(Json)
}

/// Shows a workload with its profiles
#[utoipa::path(get, path = "/workloads/{tenant}/{name}", tag = "workloads", operation_id = "getWorkload",
    params(("tenant" = String, Path, description = "Whose it is"),
           ("name" = String, Path, description = "Its name")),
    responses((status = 200, description = "The workload", body = Workload)))]
async fn show(
    Asks(app, caller, _): Asks,
    Part((tenant, name)): Part<(String, String)>,
) -> Answer<Workload> {
    Ok(Json(app.daemon().workload(&caller, &tenant, &name)?))
}

/// Creates or changes a workload
#[utoipa::path(put, path = "/workloads/{tenant}/{name}", tag = "workloads", operation_id = "putWorkload",
    params(("tenant" = String, Path, description = "Whose it is"),
           ("name" = String, Path, description = "Its name")), request_body = WorkloadPut,
    responses((status = 200, description = "The workload as it is now", body = Workload)))]
async fn put(
    Asks(app, caller, _): Asks,
    Part((tenant, name)): Part<(String, String)>,
    Body(workload): Body<WorkloadPut>,
) -> Answer<Workload> {
    Ok(Json(app.daemon().put_workload(&caller, &tenant, &name, workload).await.map_err(refused)?))
}
