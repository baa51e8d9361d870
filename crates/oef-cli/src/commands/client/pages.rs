//! Lists that come in pages, gathered.

use oef_api::client::{Client, ClientError};
use oef_api::limits::PAGE_MAX;
use oef_api::types::{Group, Job, Jobs, JobsQuery, Notification, Tenant, Token, Workload};
use oef_terminal::Failure;

/// A daemon whose pages never end is broken; no list of ours is a tenth as long.
const PAGES_MAX: usize = 10_000;

/// All pages of a list, one behind the other.
fn all<T>(
    mut page: impl FnMut(Option<&str>) -> Result<(Vec<T>, Option<String>), ClientError>,
) -> Result<Vec<T>, Failure> {
    let (mut found, mut mark) = (Vec::new(), None::<String>);
    for _ in 0..PAGES_MAX {
        let (items, next) = page(mark.as_deref())?;
        found.extend(items);
        match next {
            Some(next) => mark = Some(next),
            None => break,
        }
    }
    Ok(found)
}

pub fn tenants(client: &Client) -> Result<Vec<Tenant>, Failure> {
    all(|after| client.tenants(after).map(|page| (page.tenants, page.next)))
}

pub fn groups(client: &Client) -> Result<Vec<Group>, Failure> {
    all(|after| client.groups(after).map(|page| (page.groups, page.next)))
}

/// All workloads, of one tenant or of all.
pub fn workloads(client: &Client, tenant: Option<&str>) -> Result<Vec<Workload>, Failure> {
    all(|after| client.workloads(tenant, after).map(|page| (page.workloads, page.next)))
}

pub fn tokens(client: &Client) -> Result<Vec<Token>, Failure> {
    all(|after| client.tokens(after).map(|page| (page.tokens, page.next)))
}

pub fn notifications(client: &Client) -> Result<Vec<Notification>, Failure> {
    all(|after| client.notifications(after).map(|page| (page.notifications, page.next)))
}

/// Jobs, as many as `limit`, in as many pages as that takes; `next` says where more begin.
pub fn jobs(client: &Client, which: &JobsQuery, limit: u32) -> Result<Jobs, Failure> {
    let mut found = Jobs { jobs: Vec::new(), next: which.after.clone() };
    for _ in 0..PAGES_MAX {
        let missing = limit.saturating_sub(u32::try_from(found.jobs.len()).unwrap_or(u32::MAX));
        let query = JobsQuery {
            limit: Some(missing.min(PAGE_MAX)),
            after: found.next.take(),
            ..which.clone()
        };
        let page = client.jobs(&query)?;
        found.jobs.extend(page.jobs);
        found.next = page.next;
        if found.next.is_none() || found.jobs.len() >= limit as usize {
            break;
        }
    }
    Ok(found)
}

/// All jobs that have not ended and that we may see.
pub fn live_jobs(client: &Client) -> Result<Vec<Job>, Failure> {
    Ok(jobs(client, &JobsQuery::default(), u32::MAX)?.jobs)
}
