//! Settings that may change while the daemon runs.

use super::handler::*;
use oef_api::types::{Settings, SettingsPatch};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show, patch))
}

/// Shows the settings
#[utoipa::path(get, path = "/settings", tag = "cluster", operation_id = "getSettings",
    responses((status = 200, description = "The settings", body = Settings)))]
async fn show(Asks(app, caller, _): Asks) -> Answer<Settings> {
    Ok(Json(app.daemon().settings(&caller)?))
}

/// Changes settings
#[utoipa::path(patch, path = "/settings", tag = "cluster", operation_id = "changeSettings",
    request_body = SettingsPatch,
    responses((status = 200, description = "The settings as they stand now", body = Settings)))]
async fn patch(Asks(app, caller, _): Asks, Body(patch): Body<SettingsPatch>) -> Answer<Settings> {
    Ok(Json(app.daemon().patch_settings(&caller, patch).await.map_err(refused)?))
}
