//! Who may see what, and which page of it.

use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::world::reason::LAST_LINE;
use crate::world::{JobEntry, TenantEntry, World};
use oef_api::limits::PAGE_MAX;
use oef_api::types::PageQuery;
use oef_api::types::{ApiError, Role};
use oef_sched::JobId;

/// Entries of a page where nothing is said: a screen or two.
const PAGE_DEFAULT: u32 = 100;

/// A job that the caller may see. That of another tenant is not there, for all they can tell.
pub(super) fn job<'a>(
    world: &'a World,
    caller: &Caller,
    id: u64,
) -> Result<&'a JobEntry, ApiError> {
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
) -> Result<&'a TenantEntry, ApiError> {
    let found = world.tenants.get(name).filter(|_| caller.may_see(name));
    found.ok_or_else(|| unknown_tenant(name))
}

/// There is no such tenant, for this caller.
pub(super) fn unknown_tenant(name: &str) -> ApiError {
    Kind::UnknownTenant
        .problem(format!("there is no tenant `{name}`"))
        .hint("`oef tenants` lists those that you may see")
        .field("tenant")
}

/// The tenant to which an answer is kept; none: the caller sees everybody.
pub(super) fn only(caller: &Caller) -> Option<&str> {
    match caller.role {
        Role::Tenant => Some(caller.tenant.as_deref().unwrap_or_default()),
        Role::Admin | Role::Operator | Role::Viewer => None,
    }
}

/// A tenant tries out what is another's or belongs to all. What that did to its own share would tell it what others
/// work on and how much they want.
pub(super) fn tries_out_others(field: &str) -> ApiError {
    Kind::Forbidden
        .problem("a tenant tries out its own weight and its own jobs only")
        .hint("ask an operator of the cluster about anything else")
        .field(field)
}

/// A sentence without the job's own output, for those who may not see inside.
pub fn without_output(reason: &str) -> &str {
    reason.split_once(LAST_LINE).map_or(reason, |(before, _)| before)
}

/// How many entries a page may have.
pub(super) fn limit(asked: Option<u32>) -> Result<usize, ApiError> {
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
pub(super) fn number_mark(after: Option<&str>) -> Result<Option<u64>, ApiError> {
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
    page: &PageQuery,
) -> Result<(Vec<T>, Option<String>), ApiError> {
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
