//! One request.

use super::address::OutsideOnly;
use super::settings::{self, NotifySettings};
use super::sign::signature;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::Agent;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;

/// A receiver that takes longer should take a notice first and do its work then.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Who sends requests.
pub(super) struct Webhooks {
    settings: Arc<NotifySettings>,
    /// For those whom an admin added, and for all others.
    anywhere: Agent,
    outside: Agent,
}

impl Webhooks {
    pub fn new(settings: &Arc<NotifySettings>) -> Webhooks {
        let config = || {
            Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(TIME_LIMIT))
                // Where the receiver sends us next was checked by nobody; a proxy would look names up by itself.
                .max_redirects(0)
                .max_redirects_will_error(false)
                .proxy(None)
                .max_idle_connections(0)
                .user_agent(concat!("oef/", env!("CARGO_PKG_VERSION")))
                .build()
        };
        let checked =
            OutsideOnly { settings: Arc::clone(settings), inner: DefaultResolver::default() };
        Webhooks {
            settings: Arc::clone(settings),
            anywhere: config().into(),
            outside: Agent::with_parts(config(), DefaultConnector::default(), checked),
        }
    }

    /// Sends a notice: the answer, or what went wrong.
    pub fn send(&self, url: &str, secret: &str, any: bool, body: &str) -> Result<String, String> {
        // Checked when it was added; the configuration may be another now.
        if let Some(why) = settings::refused(&self.settings, url, any) {
            return Err(format!("the address {why}"));
        }
        let agent = if any { &self.anywhere } else { &self.outside };
        let at_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let sent = agent
            .post(url)
            .header("content-type", "application/json")
            .header("oef-signature", signature(secret, at_s, body))
            .send(body);
        match sent {
            Ok(answer) if answer.status().is_success() => {
                Ok(format!("HTTP status {}", answer.status().as_u16()))
            }
            Ok(answer) => Err(format!("HTTP status {}", answer.status().as_u16())),
            Err(ureq::Error::Other(why)) => Err(why.to_string()),
            Err(ureq::Error::Timeout(_)) => {
                Err(format!("no answer within {} s", TIME_LIMIT.as_secs()))
            }
            Err(ureq::Error::Io(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
