//! Commands about notifications.

use super::checks;
use super::command::Done;
use super::prepare::{Numbers, Prepared, forbidden, problem_of};
use super::tenancy::known_tenant;
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::secret;
use crate::world::{Change, NotificationEntry, NotificationSpec, Receiver, Rejection, World};
use oef_api::types::{ApiError, JobState, NotificationCreate, Role};
use oef_sched::{Span, Time};

/// Notifications of one tenant, and those about all jobs. Eight with a thousand short notices each are some megabytes.
const NOTIFICATIONS_MAX: usize = 8;
/// Longer addresses are none.
const URL_MAX: usize = 2000;
/// A secret that nobody guesses.
const SECRET_MIN: usize = 16;
const SECRET_MAX: usize = 200;
/// Between two tests of a notification.
const TEST_PAUSE: Span = Span(1000);
/// How the id of a test notice begins.
const TEST_PREFIX: &str = "test-";

pub(super) fn add(
    world: &World,
    caller: &Caller,
    create: NotificationCreate,
    numbers: &mut Numbers,
) -> Result<Prepared, ApiError> {
    let NotificationCreate { tenant, url, command, secret, mut on } = create;
    let tenant = tenant.or_else(|| caller.tenant.clone());
    match &tenant {
        Some(tenant) if !caller.may_see(tenant) => {
            return Err(problem_of(&Rejection::UnknownTenant(tenant.clone())));
        }
        Some(tenant) if caller.may_change(tenant) => known_tenant(world, tenant)?,
        None if caller.is_operator() => {}
        _ => return Err(forbidden(caller, "add a notification")),
    }
    if world.notifications.of(tenant.as_deref()).count() >= NOTIFICATIONS_MAX {
        let whose = tenant.as_deref().map_or("all jobs".into(), |t| format!("tenant `{t}`"));
        let why = format!(
            "there are {NOTIFICATIONS_MAX} notifications for {whose}, as many as there may be"
        );
        return Err(Kind::LimitReached.problem(why).hint("remove one that is not needed"));
    }
    let receiver = receiver(url, command, secret)?;
    let shown = match &receiver {
        Receiver::Webhook { secret, .. } => Some(secret.clone()),
        Receiver::Command(_) => None,
    };
    on.sort();
    on.dedup();
    if on.is_empty() {
        on = JobState::ENDED.to_vec();
    }
    let with_output = match &tenant {
        Some(tenant) => caller.may_see_inside(tenant),
        None => caller.is_admin(),
    };
    let any_address = caller.is_admin();
    let spec = NotificationSpec { tenant, receiver, on, any_address, with_output };
    let id = numbers.next_notification.max(world.notifications.next).max(1);
    numbers.next_notification = id + 1;
    let change = Change::NotificationAdded { id, spec: Box::new(spec) };
    Ok(Prepared::Changes(vec![change], Done::Notification { id, secret: shown }))
}

fn receiver(
    url: Option<String>,
    command: Option<String>,
    secret: Option<String>,
) -> Result<Receiver, ApiError> {
    match (url, command) {
        (Some(url), None) => {
            checks::line("the address", "url", &url, URL_MAX)?;
            let secret = match secret {
                None => secret::new()?.text,
                Some(secret) => {
                    checks::line("the secret", "secret", &secret, SECRET_MAX)?;
                    if secret.len() < SECRET_MIN {
                        let why = format!("a secret has at least {SECRET_MIN} characters");
                        return Err(Kind::BadRequest.problem(why).field("secret"));
                    }
                    secret
                }
            };
            Ok(Receiver::Webhook { url, secret })
        }
        (None, Some(_)) if secret.is_some() => {
            let why = "a command has no secret: nothing is signed for it";
            Err(Kind::BadRequest.problem(why).field("secret"))
        }
        (None, Some(command)) => {
            checks::name("the name of a command", "command", &command)?;
            Ok(Receiver::Command(command))
        }
        _ => {
            let why = "a notification needs either a `url` or a `command`";
            Err(Kind::BadRequest.problem(why).field("url"))
        }
    }
}

pub(super) fn remove(world: &World, caller: &Caller, id: u64) -> Result<Prepared, ApiError> {
    own(world, caller, id)?;
    Ok(Prepared::Changes(vec![Change::NotificationRemoved { id }], Done::Nothing))
}

pub(super) fn test(
    world: &World,
    now: Time,
    caller: &Caller,
    id: u64,
) -> Result<Prepared, ApiError> {
    let entry = own(world, caller, id)?;
    // Whoever sends tests without end would have the daemon flood somebody.
    let is_waiting = entry.waiting.front().is_some_and(|notice| notice.test);
    let was_tested = entry.last.as_ref().is_some_and(|last| {
        last.notice.starts_with(TEST_PREFIX) && now.since(last.at) < TEST_PAUSE
    });
    if is_waiting || was_tested {
        let why = format!("notification {id} was tested a moment ago");
        return Err(Kind::Conflict.problem(why).hint("try again in a few seconds"));
    }
    // Unlike every other: whoever waits for it knows it by this.
    let notice = format!("{TEST_PREFIX}{}", secret::hash(&secret::new()?.text).split_at(16).0);
    let change = Change::NotificationTested { id, notice: notice.clone() };
    Ok(Prepared::Changes(vec![change], Done::Tested { notice }))
}

/// A notification that the caller may change; another's is not there.
pub(crate) fn own<'a>(
    world: &'a World,
    caller: &Caller,
    id: u64,
) -> Result<&'a NotificationEntry, ApiError> {
    if caller.role == Role::Viewer {
        return Err(forbidden(caller, "change a notification"));
    }
    let found = world.notifications.all.get(&id).filter(|entry| is_own(caller, entry));
    found.ok_or_else(|| {
        problem_of(&Rejection::UnknownNotification(id))
            .hint("`oef notify` lists those that you may see")
    })
}

/// Whether a caller may see and change a notification: its tenant, and those who run the cluster.
pub(crate) fn is_own(caller: &Caller, entry: &NotificationEntry) -> bool {
    match (caller.role, &entry.spec.tenant) {
        (Role::Viewer, _) => false,
        (_, Some(tenant)) => caller.may_change(tenant),
        (_, None) => caller.is_operator(),
    }
}
