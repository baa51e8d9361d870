//! Notifications.

use super::handler::*;
use oef_api::types::{NewNotification, Notification, NotificationCreate, Notifications};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, add)).routes(routes!(remove)).routes(routes!(test))
}

/// Lists notifications with their last delivery, without their secrets
#[utoipa::path(get, path = "/notifications", tag = "notifications", operation_id = "listNotifications", params(NumberedParams),
    responses((status = 200, description = "One page of notifications", body = Notifications)))]
async fn list(Asks(app, caller, query): Asks<NumberedParams>) -> Answer<Notifications> {
    Ok(Json(app.daemon().notifications(&caller, &page(query)?)?))
}

/// Adds a notification; the secret of a webhook is shown this once
#[utoipa::path(post, path = "/notifications", tag = "notifications", operation_id = "addNotification",
    request_body = NotificationCreate,
    responses((status = 201, description = "The notification with its secret", body = NewNotification)))]
async fn add(
    Asks(app, caller, _): Asks,
    Body(create): Body<NotificationCreate>,
) -> Created<NewNotification> {
    let added = app.daemon().add_notification(&caller, create).await.map_err(refused)?;
    Ok(created(added))
}

/// Removes a notification; notices that wait are dropped
#[utoipa::path(delete, path = "/notifications/{id}", tag = "notifications", operation_id = "removeNotification",
    params(("id" = u64, Path, description = "The notification's number")),
    responses((status = 204, description = "It is removed")))]
async fn remove(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Removed {
    app.daemon().remove_notification(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test notice now, once, and waits for what comes of it
#[utoipa::path(post, path = "/notifications/{id}/test", tag = "notifications", operation_id = "testNotification",
    params(("id" = u64, Path, description = "The notification's number")),
    responses((status = 200, description = "The notification with its last try", body = Notification)))]
async fn test(Asks(app, caller, _): Asks, Part(id): Part<u64>) -> Answer<Notification> {
    Ok(Json(app.daemon().test_notification(&caller, id).await?))
}
