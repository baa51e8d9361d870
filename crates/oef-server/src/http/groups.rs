//! Groups of tenants.

use super::failure::refused_group;
use super::handler::*;
use oef_api::types::{Group, GroupPut, Groups};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(put, remove))
}

/// Lists groups by name
#[utoipa::path(get, path = "/groups", tag = "tenants", operation_id = "listGroups", params(PageQuery),
    responses((status = 200, description = "One page of groups", body = Groups)))]
async fn list(Asks(app, caller, query): Asks<PageQuery>) -> Answer<Groups> {
    Ok(Json(app.daemon().groups(&caller, &page(query)?)?))
}

/// Creates or changes a group
#[utoipa::path(put, path = "/groups/{name}", tag = "tenants", operation_id = "putGroup",
    params(("name" = String, Path, description = "The group's name")), request_body = GroupPut,
    responses((status = 200, description = "The group as it is now", body = Group)))]
async fn put(
    Asks(app, caller, _): Asks,
    Part(name): Part<String>,
    Body(group): Body<GroupPut>,
) -> Answer<Group> {
    Ok(Json(
        app.daemon()
            .put_group(&caller, &name, group)
            .await
            .map_err(|problem| refused_group(problem, "parent"))?,
    ))
}

/// Removes a group that has no members
#[utoipa::path(delete, path = "/groups/{name}", tag = "tenants", operation_id = "removeGroup",
    params(("name" = String, Path, description = "The group's name")),
    responses((status = 204, description = "It is gone")))]
async fn remove(Asks(app, caller, _): Asks, Part(name): Part<String>) -> Removed {
    app.daemon().remove_group(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
