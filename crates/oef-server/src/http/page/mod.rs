//! The page for people: plain, without scripts, readable on a phone, by day and by night.
//!
//! It shows what a viewer may see. It loads itself anew every few seconds, and fetches nothing from
//! anywhere. Every name comes through [`oef_report::escape`].

mod cluster;
mod jobs;
mod markup;
mod round;
mod tenants;
mod workloads;

use super::App;
use super::auth::Looks;
use super::failure::Failure;
use crate::caller::Caller;
use crate::daemon::{Daemon, Page};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use markup::Markup;
use oef_api::types::{
    Cluster, Fairness, Info, Job, JobState, JobsQuery, Problem, Round, Settings, Tenants, Workloads,
};

const STYLE: &str = include_str!("style.css");

/// The page is loaded anew after so many seconds: often enough to look alive.
const REFRESH_S: u32 = 5;
/// Jobs in each list; the rest is counted.
const JOBS_SHOWN: u32 = 50;
/// Tenants and workloads in their tables; the rest is counted.
const ROWS_SHOWN: u32 = 100;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/", get(show))
}

async fn show(State(app): State<App>, Looks(caller): Looks) -> Result<Response, Failure> {
    let seen = app.aside(move |daemon| Seen::look(daemon, &caller)).await?;
    let nonce = nonce();
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = axum::response::Html(seen.page(&nonce)).into_response();
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// A word that nobody can guess, new for every answer: only the style that carries it counts.
fn nonce() -> String {
    let mut bytes = [0_u8; 16];
    // Without chance there is no nonce that could match, and the page comes without its style.
    if getrandom::fill(&mut bytes).is_err() {
        return String::new();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that is shown, as it was at one instant or a few milliseconds around it.
struct Seen {
    info: Info,
    settings: Settings,
    cluster: Cluster,
    tenants: Tenants,
    workloads: Workloads,
    fairness: Option<Fairness>,
    round: Option<Round>,
    running: Vec<Job>,
    queued: Vec<Job>,
    ended: Vec<Job>,
    more_running: bool,
    more_queued: bool,
}

impl Seen {
    fn look(daemon: &Daemon, caller: &Caller) -> Result<Self, Problem> {
        let jobs = |states: &[JobState]| {
            let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
            let query = JobsQuery {
                state: Some(names.join(",")),
                all: true,
                limit: Some(JOBS_SHOWN),
                ..JobsQuery::default()
            };
            daemon.jobs(caller, &query)
        };
        let running = jobs(&[JobState::Starting, JobState::Running, JobState::Stopping])?;
        let queued = jobs(&[JobState::Queued])?;
        let ended = jobs(&[JobState::Finished, JobState::Failed, JobState::Cancelled])?;
        let page = Page { limit: Some(ROWS_SHOWN), after: None };
        Ok(Seen {
            info: daemon.info(caller)?,
            settings: daemon.settings(caller)?,
            cluster: daemon.cluster(caller)?,
            tenants: daemon.tenants(caller, &page)?,
            workloads: daemon.workloads(caller, None, &page)?,
            // Before the first round there is neither.
            fairness: daemon.fairness(caller).ok(),
            round: daemon.round(caller, None).ok(),
            more_running: running.next.is_some(),
            more_queued: queued.next.is_some(),
            running: running.jobs,
            queued: queued.jobs,
            ended: ended.jobs,
        })
    }

    fn page(&self, nonce: &str) -> String {
        let mut page = Markup::default();
        page.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        page.raw("<meta name=\"color-scheme\" content=\"light dark\">");
        page.raw(&format!("<meta http-equiv=\"refresh\" content=\"{REFRESH_S}\">"));
        page.raw("<title>OEF</title>");
        page.raw(&format!("<style nonce=\"{nonce}\">\n{STYLE}</style></head><body>"));
        self.head(&mut page);
        page.raw("<main>");
        cluster::show(&mut page, self);
        tenants::show(&mut page, self);
        workloads::show(&mut page, self);
        jobs::show(&mut page, self);
        round::show(&mut page, self);
        page.raw("</main>");
        page.raw("<footer>OEF ")
            .text(&self.info.version)
            .raw(" · <a href=\"/metrics\">metrics</a> · ");
        page.raw(
            "<a href=\"/api/v1/openapi.json\">interface</a> · this page loads itself anew</footer>",
        );
        page.raw("</body></html>\n");
        page.done()
    }

    fn head(&self, page: &mut Markup) {
        let (gpus, idle) = self
            .cluster
            .types
            .iter()
            .fold((0, 0), |(gpus, idle), t| (gpus + t.capacity, idle + t.idle));
        let plus = |more: bool| if more { "+" } else { "" };
        page.raw("<header><h1>OEF</h1><p>round ").number(self.info.round).raw(" · ");
        page.text(&self.settings.mechanism).raw(" · ").number(gpus - idle).raw(" of ").number(gpus);
        page.raw(" GPUs in use · ").number(self.running.len()).raw(plus(self.more_running));
        page.raw(" jobs run, ")
            .number(self.queued.len())
            .raw(plus(self.more_queued))
            .raw(" wait</p></header>");
    }
}

#[cfg(test)]
mod tests;
