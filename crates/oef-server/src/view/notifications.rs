//! Notifications, without their secrets.

use super::text::timestamp;
use super::visible;
use crate::caller::Caller;
use crate::engine::is_own;
use crate::notify::host_of;
use crate::problem::{Kind, More as _};
use crate::world::{NotificationEntry, Receiver, World};
use oef_api::types::PageQuery;
use oef_api::types::{ApiError, NoticeTry, Notification, Notifications, Role};
use std::ops::Bound;

/// Notifications that the caller may change, the oldest first.
pub fn notifications(
    world: &World,
    caller: &Caller,
    page: &PageQuery,
) -> Result<Notifications, ApiError> {
    if caller.role == Role::Viewer {
        return Err(Kind::Forbidden
            .problem(format!("{} may not see notifications", caller.named()))
            .hint(caller.way_out()));
    }
    let limit = visible::limit(page.limit)?;
    let after =
        visible::number_mark(page.after.as_deref())?.map_or(Bound::Unbounded, Bound::Excluded);
    let mut shown = Notifications::default();
    for (&id, entry) in world.notifications.all.range((after, Bound::Unbounded)) {
        if !is_own(caller, entry) {
            continue;
        }
        if shown.notifications.len() == limit {
            shown.next = shown.notifications.last().map(|last| last.id.to_string());
            break;
        }
        shown.notifications.push(notification(id, entry, caller));
    }
    Ok(shown)
}

/// One of them.
pub fn notification(id: u64, entry: &NotificationEntry, caller: &Caller) -> Notification {
    let spec = &entry.spec;
    let (url, command) = match &spec.receiver {
        // The path is often the secret of a chat.
        Receiver::Webhook { url, .. } if caller.role == Role::Operator => {
            (Some(format!("{}/...", host_of(url))), None)
        }
        Receiver::Webhook { url, .. } => (Some(url.clone()), None),
        Receiver::Command(name) => (None, Some(name.clone())),
    };
    Notification {
        id,
        tenant: spec.tenant.clone(),
        url,
        command,
        on: spec.on.clone(),
        created: timestamp(entry.created),
        waiting: entry.waiting.len() as u64,
        delivered: entry.delivered,
        dropped: entry.dropped,
        failing_since: entry.failing_since.map(timestamp),
        last: entry.last.as_ref().map(|last| NoticeTry {
            notice: last.notice.clone(),
            at: timestamp(last.at),
            delivered: last.delivered,
            detail: last.detail.clone(),
        }),
    }
}
