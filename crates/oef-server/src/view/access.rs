//! Who may see what, and which page of it.

use crate::caller::Caller;
use crate::daemon::Page;
use crate::problem::{Kind, More as _};
use crate::world::reason::LAST_LINE;
use crate::world::{JobEntry, TenantEntry, World};
use oef_api::limits::PAGE_MAX;
use oef_api::types::Problem;
use oef_sched::JobId;

/// Entries of a page where nothing is said: a screen or two.
const PAGE_DEFAULT: u32 = 100;

/// A job that the caller may see. That of another tenant is not there, for all they can tell.
pub(super) fn job<'a>(world: &'a World, caller: &Caller, id: u64) -> Result<&'a JobEntry, Problem> {
    let found = world.jobs.get(&JobId(id)).filter(|job| caller.may_see(job.tenant()));
    found.map(AsRef::as_ref).ok_or_else(|| {
        Kind::NotFound
            .problem(format!("there is no job {id}"))
            .hint("`oef jobs --all` lists all jobs that the daemon still knows")
    })
}

/// A tenant that the caller may see.
pub(super) fn tenant<'a>(
    world: &'a World,
    caller: &Caller,
    name: &str,
) -> Result<&'a TenantEntry, Problem> {
    let found = world.tenants.get(name).filter(|_| caller.may_see(name));
    found.ok_or_else(|| unknown_tenant(name))
}

/// There is no such tenant, for this caller.
pub(super) fn unknown_tenant(name: &str) -> Problem {
    Kind::UnknownTenant
        .problem(format!("there is no tenant `{name}`"))
        .hint("`oef tenants` lists those that you may see")
        .field("tenant")
}

/// A sentence without the job's own output, for those who may not see inside.
pub fn without_output(reason: &str) -> &str {
    reason.split_once(LAST_LINE).map_or(reason, |(before, _)| before)
}

/// How many entries a page may have.
pub(super) fn limit(asked: Option<u32>) -> Result<usize, Problem> {
    match asked.unwrap_or(PAGE_DEFAULT) {
        0 => Err(Kind::BadRequest.problem("a page of 0 entries shows nothing")),
        more if more > PAGE_MAX => {
            Err(Kind::BadRequest.problem(format!("a page of {more} entries is too large")))
        }
        limit => return Ok(limit as usize),
    }
    .map_err(|problem| problem.hint(format!("ask for 1 to {PAGE_MAX}")).field("limit"))
}

/// A mark that is a number: that of the last entry of the page before.
pub(super) fn number_mark(after: Option<&str>) -> Result<Option<u64>, Problem> {
    let read = |mark: &str| {
        mark.parse().map_err(|_| {
            Kind::BadRequest
                .problem(format!("invalid page cursor `{mark}`"))
                .hint("use the `next` of the page before")
                .field("after")
        })
    };
    after.map(read).transpose()
}

/// A page of things that have a name: those after the mark, and the mark for the next page.
pub(super) fn named<T>(
    things: impl Iterator<Item = (String, T)>,
    page: &Page,
) -> Result<(Vec<T>, Option<String>), Problem> {
    let limit = limit(page.limit)?;
    let after = |name: &String| page.after.as_ref().is_none_or(|after| name > after);
    let mut shown = Vec::new();
    let mut last = None;
    for (name, thing) in things.filter(|(name, _)| after(name)) {
        if shown.len() == limit {
            return Ok((shown, last));
        }
        shown.push(thing);
        last = Some(name);
    }
    Ok((shown, None))
}
