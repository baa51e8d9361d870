//! Who used how much of what.

use super::App;
use super::auth::Asks;
use super::failure::Answer;
use axum::Json;
use oef_api::types::{Usage, UsageQuery};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Shows GPU time by tenant, user, workload or gpu type
#[utoipa::path(get, path = "/usage", tag = "tenants", operation_id = "getUsage", params(UsageQuery),
    responses((status = 200, description = "GPU-hours", body = Usage)))]
async fn show(Asks(app, caller, query): Asks<UsageQuery>) -> Answer<Usage> {
    Ok(Json(app.daemon().usage(&caller, &query)?))
}
