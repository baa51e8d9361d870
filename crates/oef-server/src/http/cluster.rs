//! Machines.

use super::handler::*;
use oef_api::types::{Cluster, Node, NodePatch};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(patch)).routes(routes!(drop_window))
}

/// Shows the machines, and who is on them
#[utoipa::path(get, path = "/cluster", tag = "cluster", operation_id = "getCluster",
    responses((status = 200, description = "The cluster", body = Cluster)))]
async fn show(Asks(app, caller, _): Asks) -> Answer<Cluster> {
    Ok(Json(app.daemon().cluster(&caller)?))
}

/// Takes a node out, or brings it back
#[utoipa::path(patch, path = "/cluster/nodes/{name}", tag = "cluster", operation_id = "changeNode",
    params(("name" = String, Path, description = "The node's name")), request_body = NodePatch,
    responses((status = 200, description = "The node as it is now", body = Node)))]
async fn patch(
    Asks(app, caller, _): Asks,
    Part(name): Part<String>,
    Body(patch): Body<NodePatch>,
) -> Answer<Node> {
    Ok(Json(app.daemon().patch_node(&caller, &name, patch).await.map_err(refused)?))
}

/// Drops a time window in which a node was to be taken out
#[utoipa::path(delete, path = "/cluster/windows/{id}", tag = "cluster", operation_id = "dropWindow",
    params(("id" = u64, Path, description = "The window's number")),
    responses((status = 204, description = "It will not happen")))]
async fn drop_window(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Removed {
    app.daemon().drop_window(&caller, id).await.map_err(refused)?;
    Ok(StatusCode::NO_CONTENT)
}
