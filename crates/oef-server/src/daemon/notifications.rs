//! Notifications: who is told of jobs.

use super::Daemon;
use super::commands::mixed_up;
use crate::caller::Caller;
use crate::engine::{Command, Done, own};
use crate::notify;
use crate::problem::{Kind, More};
use crate::view;
use oef_api::types::{
    ApiError, NewNotification, Notification, NotificationCreate, Notifications, PageQuery,
};
use std::time::Duration;

/// A request may take 10 s, and a notice that is on its way may come before. Callers rarely wait for longer than 30 s: a
/// command that takes as long as it may is told as still on its way.
const TEST_LIMIT: Duration = Duration::from_secs(25);

impl Daemon {
    /// Notifications that the caller may change.
    pub fn notifications(
        &self,
        caller: &Caller,
        page: &PageQuery,
    ) -> Result<Notifications, ApiError> {
        self.with_world(|world| view::notifications(world, caller, page))
    }

    /// Adds a notification. The secret of a webhook is in the answer and nowhere else.
    pub async fn add_notification(
        &self,
        caller: &Caller,
        create: NotificationCreate,
    ) -> Result<NewNotification, ApiError> {
        self.check_receiver(caller, &create)?;
        match self.ask(caller, Command::AddNotification(create)).await? {
            Done::Notification { id, secret } => {
                Ok(NewNotification { notification: self.notification(caller, id)?, secret })
            }
            _ => Err(mixed_up()),
        }
    }

    /// Removes a notification with what waits for it.
    pub async fn remove_notification(&self, caller: &Caller, id: u64) -> Result<(), ApiError> {
        self.ask(caller, Command::RemoveNotification { id }).await.map(drop)
    }

    /// Sends a test notice, once, and waits for what comes of it.
    pub async fn test_notification(
        &self,
        caller: &Caller,
        id: u64,
    ) -> Result<Notification, ApiError> {
        let mut events = self.inner.shared.newest_event.subscribe();
        let Done::Tested { notice } = self.ask(caller, Command::TestNotification { id }).await?
        else {
            return Err(mixed_up());
        };
        let tried = async {
            loop {
                let shown = self.notification(caller, id)?;
                if shown.last.as_ref().is_some_and(|last| last.notice == notice) {
                    return Ok(shown);
                }
                // An event tells of every test.
                if events.changed().await.is_err() {
                    return Err(Kind::Unavailable.problem("the daemon stops"));
                }
            }
        };
        tokio::time::timeout(TEST_LIMIT, tried).await.unwrap_or_else(|_| {
            let limit = TEST_LIMIT.as_secs();
            let why = format!("the notice was not delivered within {limit}s: it takes longer, or others come first");
            Err(Kind::Conflict.problem(why).hint("`oef notify` shows the last try"))
        })
    }

    fn notification(&self, caller: &Caller, id: u64) -> Result<Notification, ApiError> {
        self.with_world(|world| Ok(view::notification(id, own(world, caller, id)?, caller)))
    }

    /// Whether the operator allows what is to be told.
    fn check_receiver(&self, caller: &Caller, create: &NotificationCreate) -> Result<(), ApiError> {
        let settings = &self.inner.notify;
        if let Some(url) = &create.url
            && let Some(why) = notify::refused(settings, url, caller.is_admin())
        {
            return Err(Kind::BadRequest.problem(format!("the address {why}")).field("url"));
        }
        if let Some(command) = &create.command
            && !settings.commands.contains_key(command)
        {
            let known: Vec<&str> = settings.commands.keys().map(String::as_str).collect();
            let hint = match known.is_empty() {
                true => {
                    "an operator names commands in [notify.commands] of the configuration".into()
                }
                false => format!("known: {}", known.join(", ")),
            };
            let why = format!("the daemon has no command `{}`", command.escape_debug());
            return Err(Kind::BadRequest.problem(why).field("command").hint(hint));
        }
        Ok(())
    }
}
