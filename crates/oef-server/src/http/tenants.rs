//! Tenants.

use super::failure::refused_group;
use super::handler::*;
use oef_api::types::{ApiError, Tenant, TenantCreate, TenantPatch, TenantWhy, Tenants};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, patch, remove))
        .routes(routes!(why))
}

/// Lists tenants by name
#[utoipa::path(get, path = "/tenants", tag = "tenants", operation_id = "listTenants", params(PageQuery),
    responses((status = 200, description = "One page of tenants", body = Tenants)))]
async fn list(Asks(app, caller, query): Asks<PageQuery>) -> Answer<Tenants> {
    let page = page(query)?;
    app.aside(move |daemon| daemon.tenants(&caller, &page)).await.map(Json)
}

/// Creates a tenant
#[utoipa::path(post, path = "/tenants", tag = "tenants", operation_id = "createTenant",
    request_body = TenantCreate,
    responses((status = 201, description = "The tenant", body = Tenant)))]
async fn create(Asks(app, caller, _): Asks, Body(tenant): Body<TenantCreate>) -> Created<Tenant> {
    Ok(created(app.daemon().create_tenant(&caller, tenant).await.map_err(no_group)?))
}

/// Shows a tenant
#[utoipa::path(get, path = "/tenants/{name}", tag = "tenants", operation_id = "getTenant",
    params(("name" = String, Path, description = "The tenant's name")),
    responses((status = 200, description = "The tenant", body = Tenant)))]
async fn show(Asks(app, caller, _): Asks, Part(name): Part<String>) -> Answer<Tenant> {
    Ok(Json(app.daemon().tenant(&caller, &name)?))
}

/// Changes a tenant
#[utoipa::path(patch, path = "/tenants/{name}", tag = "tenants", operation_id = "changeTenant",
    params(("name" = String, Path, description = "The tenant's name")), request_body = TenantPatch,
    responses((status = 200, description = "The tenant as it is now", body = Tenant)))]
async fn patch(
    Asks(app, caller, _): Asks,
    Part(name): Part<String>,
    Body(patch): Body<TenantPatch>,
) -> Answer<Tenant> {
    Ok(Json(app.daemon().patch_tenant(&caller, &name, patch).await.map_err(no_group)?))
}

/// Removes a tenant
///
/// Its jobs are cancelled, its tokens void.
#[utoipa::path(delete, path = "/tenants/{name}", tag = "tenants", operation_id = "removeTenant",
    params(("name" = String, Path, description = "The tenant's name")),
    responses((status = 204, description = "It is gone")))]
async fn remove(Asks(app, caller, _): Asks, Part(name): Part<String>) -> Removed {
    app.daemon().remove_tenant(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says why a tenant has what it has
#[utoipa::path(get, path = "/tenants/{name}/why", tag = "tenants", operation_id = "whyTenant",
    params(("name" = String, Path, description = "The tenant's name")),
    responses((status = 200, description = "The reasons", body = TenantWhy)))]
async fn why(Asks(app, caller, _): Asks, Part(name): Part<String>) -> Answer<TenantWhy> {
    app.aside(move |daemon| daemon.tenant_why(&caller, &name)).await.map(Json)
}

fn no_group(problem: ApiError) -> Failure {
    refused_group(problem, "group")
}
