//! Who was promised what and who got it; and what would happen if.

use super::handler::*;
use crate::daemon::Daemon;
use oef_api::types::{Fairness, WhatIf, WhatIfAnswer};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(whatif))
}

/// Shows envy, sharing incentive, and promised and delivered shares
#[utoipa::path(get, path = "/fairness", tag = "rounds", operation_id = "getFairness",
    responses((status = 200, description = "Fairness now and in the last rounds", body = Fairness)))]
async fn show(Asks(app, caller, _): Asks) -> Answer<Fairness> {
    app.aside(move |daemon| daemon.fairness(&caller)).await.map(Json)
}

/// Thinks changes through on the live state; nothing is changed
#[utoipa::path(post, path = "/whatif", tag = "rounds", operation_id = "whatIf", request_body = WhatIf,
    responses((status = 200, description = "What would happen to everyone", body = WhatIfAnswer)))]
async fn whatif(
    Asks(app, caller, _): Asks,
    LargeBody(changes): LargeBody<WhatIf>,
) -> Answer<WhatIfAnswer> {
    let asker = caller.clone();
    let ask = move |daemon: &Daemon, gone: &dyn Fn() -> bool| daemon.whatif(&asker, &changes, gone);
    let answer = app.think(&caller, ask).await;
    answer.map(Json).map_err(|Failure(problem)| refused(problem))
}
