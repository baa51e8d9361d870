//! Machines.

use super::App;
use super::auth::Asks;
use super::extract::{Body, Nothing, Params, Part};
use super::failure::{Answer, refused};
use axum::Json;
use axum::extract::State;
use oef_api::types::{Cluster, Node, NodePatch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(patch))
}

/// Shows the machines, and who is on them
#[utoipa::path(get, path = "/cluster", tag = "cluster", operation_id = "getCluster",
    responses((status = 200, description = "The cluster", body = Cluster)))]
async fn show(
    State(app): State<App>,
    Asks(caller): Asks,
    Params(_): Params<Nothing>,
) -> Answer<Cluster> {
    Ok(Json(app.daemon().cluster(&caller)?))
}

/// Takes a node out, or brings it back
#[utoipa::path(patch, path = "/cluster/nodes/{name}", tag = "cluster", operation_id = "changeNode",
    params(("name" = String, Path, description = "The node's name")), request_body = NodePatch,
    responses((status = 200, description = "The node as it stands now", body = Node)))]
async fn patch(
    State(app): State<App>,
    Asks(caller): Asks,
    Params(_): Params<Nothing>,
    Part(name): Part<String>,
    Body(patch): Body<NodePatch>,
) -> Answer<Node> {
    Ok(Json(app.daemon().patch_node(&caller, &name, patch).await.map_err(refused)?))
}
