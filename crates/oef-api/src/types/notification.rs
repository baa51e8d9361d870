//! Notifications: who is told when a job changes its state.

use super::JobState;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// A notification to be added. Give a `url` or a `command`, not both.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"url": "https://hooks.example.org/oef", "on": ["finished", "failed"]})))]
pub struct NotificationCreate {
    /// Whose jobs it is about. A token of the role `tenant` may leave it out; for others no tenant means all jobs.
    pub tenant: Option<String>,
    /// Where to send a request.
    pub url: Option<String>,
    /// The name of a command from the configuration of the daemon (`[notify.commands]`).
    pub command: Option<String>,
    /// What requests are signed with. By default a new secret is made.
    #[schema(min_length = 16, max_length = 200)]
    pub secret: Option<String>,
    /// On which states; by default on all in which a job has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<JobState>,
}

/// A new notification. The secret of a webhook is shown this once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewNotification {
    /// What was added.
    pub notification: Notification,
    /// What requests are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A notification, without its secret.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    /// Its number.
    pub id: u64,
    /// Whose jobs it is about; none: all jobs.
    #[serialize_always]
    pub tenant: Option<String>,
    /// Where requests go. Operators see only the host, because the path may contain a secret.
    pub url: Option<String>,
    /// The command that is run.
    pub command: Option<String>,
    /// On which states.
    pub on: Vec<JobState>,
    /// When it was added.
    pub created: Timestamp,
    /// Notices that wait to be delivered.
    pub waiting: u64,
    /// Notices that were delivered.
    pub delivered: u64,
    /// Notices that were given up: too many waited, or they waited for too long.
    pub dropped: u64,
    /// Since when every try has failed.
    pub failing_since: Option<Timestamp>,
    /// The last try.
    pub last: Option<NoticeTry>,
}

/// One try to deliver a notice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoticeTry {
    /// Which notice.
    pub notice: String,
    /// When.
    pub at: Timestamp,
    /// Whether the receiver took it.
    pub delivered: bool,
    /// The answer, or what went wrong.
    pub detail: String,
}

/// What a receiver gets: the body of a request, or the input of a command.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Notice {
    /// The same for every try. A receiver drops what it has already seen.
    pub id: String,
    /// When it happened.
    pub at: Timestamp,
    /// The number of the notification.
    pub notification: u64,
    /// Whether somebody only tests the notification. Then there is no job.
    #[serde(default)]
    pub test: bool,
    /// The job.
    pub job: Option<u64>,
    /// Its name.
    pub name: Option<String>,
    /// Who owns it.
    pub tenant: Option<String>,
    /// Its new state.
    pub state: Option<JobState>,
    /// Why, in a sentence.
    pub reason: String,
    /// How many notices of this notification were given up before this one.
    pub dropped: u64,
}
