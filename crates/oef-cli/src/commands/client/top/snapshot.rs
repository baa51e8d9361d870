//! What the view shows, as the daemon told it at one instant.

use crate::commands::client::pages;
use oef_api::client::{Client, ClientError};
use oef_api::types::{Cluster, Fairness, Info, Jobs, JobsQuery, Tenant};
use oef_terminal::Failure;
use serde::Serialize;

/// More jobs than anybody scrolls through; the rest is counted by the tenants' figures.
const JOBS_MAX: u32 = 500;

/// Everything on the screen.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// The daemon.
    pub info: Info,
    /// The machines.
    pub cluster: Cluster,
    /// The tenants that we may see.
    pub tenants: Vec<Tenant>,
    /// Promised and delivered, where we may see it.
    pub fairness: Option<Fairness>,
    /// The jobs that have not ended.
    pub jobs: Jobs,
}

impl Snapshot {
    /// Asks for all of it.
    pub fn fetch(client: &Client) -> Result<Snapshot, Failure> {
        Ok(Snapshot {
            info: client.info()?,
            cluster: client.cluster()?,
            tenants: pages::tenants(client)?,
            fairness: match client.fairness() {
                Ok(fairness) => Some(fairness),
                // Not for every role; the rest of the screen is.
                Err(ClientError::Refused(_)) => None,
                Err(error) => return Err(error.into()),
            },
            jobs: pages::jobs(client, &JobsQuery::default(), JOBS_MAX)?,
        })
    }
}
