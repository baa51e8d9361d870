//! The daemon in a few words.

use super::handler::*;
use oef_api::types::Info;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Says who asks, and how the daemon is
#[utoipa::path(get, path = "/info", tag = "cluster", operation_id = "getInfo",
    responses((status = 200, description = "The daemon in a few words", body = Info)))]
async fn show(Asks(app, caller, _): Asks) -> Answer<Info> {
    Ok(Json(app.daemon().info(&caller)?))
}
