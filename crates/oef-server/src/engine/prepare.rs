//! From a command to the records that it takes, or to what is wrong with it.

use super::budgets::Budgets;
use super::checks;
use super::command::{Command, Done};
use super::meter::Meter;
use super::submission::{self, Asked};
use super::{jobs, notifications, outage, tenancy};
use crate::caller::{Caller, runs_as_daemon};
use crate::problem::{Kind, More};
use crate::world::{Change, Rejection, World};
use oef_api::types::{ApiError, TenantPatch};
use oef_sched::{JobId, Time};

/// What a command comes to.
pub(super) enum Prepared {
    /// It was done before: nothing to change.
    Already(Done),
    /// These records, of which the last one decides, and what its caller is told then.
    Changes(Vec<Change>, Done),
}

/// Numbers that were given out. They run ahead of the world while records are on their way. And how much of
/// everything each caller may have.
#[derive(Debug)]
pub(super) struct Numbers {
    pub next_job: u64,
    pub next_token: u64,
    pub next_notification: u64,
    pub budgets: Budgets,
    pub meter: Meter,
}

/// Checks a command against the world: who asks, whether it can be done, and whether they have not written too much.
pub(super) fn prepare(
    world: &World,
    now: Time,
    caller: &Caller,
    command: Command,
    numbers: &mut Numbers,
) -> Result<Prepared, ApiError> {
    // To end what it has is always possible, and once for each job: the submission has paid for it.
    let is_free = matches!(command, Command::Cancel { .. });
    let prepared = checked(world, now, caller, command, numbers)?;
    if let Prepared::Changes(changes, _) = &prepared
        && !is_free
    {
        numbers.meter.charge(caller, changes, now, &numbers.budgets)?;
    }
    Ok(prepared)
}

fn checked(
    world: &World,
    now: Time,
    caller: &Caller,
    command: Command,
    numbers: &mut Numbers,
) -> Result<Prepared, ApiError> {
    let all = |changes: Vec<Change>| Ok(Prepared::Changes(changes, Done::Nothing));
    let one = |change: Change| all(vec![change]);
    if world.observes {
        observed(&command)?;
    }
    match command {
        Command::Submit { batch, key, create_tenants } => {
            let asked = Asked { batch, key, create_tenants };
            submission::prepare(world, now, caller, asked, numbers)
        }
        Command::Cancel { job } => jobs::cancel(world, caller, JobId(job)),
        Command::PatchJob { job, patch } => {
            jobs::patch(world, caller, JobId(job), patch, &numbers.budgets)
        }
        Command::Resubmit { job } => {
            let batch = jobs::resubmitted(world, caller, JobId(job))?;
            let asked = Asked { batch, key: None, create_tenants: false };
            submission::prepare(world, now, caller, asked, numbers)
        }
        Command::PutWorkload { tenant, name, workload } => {
            one(tenancy::workload(world, now, caller, tenant, name, workload)?)
        }
        Command::CreateTenant(tenant) => {
            operator(caller, "create a tenant")?;
            all(tenancy::create(world, caller, tenant)?)
        }
        Command::PatchTenant { name, patch } => {
            // In which order its own jobs start is nobody else's business.
            let own = TenantPatch { order: patch.order, ..TenantPatch::default() };
            if patch.order.is_none() || own != patch || !caller.may_change(&name) {
                operator(caller, "change a tenant")?;
            }
            if patch.user.as_ref().is_some_and(|user| runs_as_daemon(user.as_deref())) {
                admin(caller, "decide which user jobs run as")?;
                tenancy::may_run_as_daemon(world, &name, &numbers.budgets)?;
            }
            all(tenancy::patch(world, caller, name, patch)?)
        }
        Command::RemoveTenant { name } => {
            admin(caller, "remove a tenant")?;
            tenancy::known_tenant(world, &name)?;
            one(Change::TenantRemoved { name })
        }
        Command::PutGroup { name, group } => {
            operator(caller, "change a group")?;
            all(tenancy::group(world, name, group)?)
        }
        Command::RemoveGroup { name } => {
            admin(caller, "remove a group")?;
            tenancy::known_group(world, &name)?;
            one(Change::GroupRemoved { name })
        }
        Command::CreateToken(token) => {
            admin(caller, "create a token")?;
            tenancy::may_have_token(world, &token, &numbers.budgets)?;
            tenancy::token(world, now, token, &mut numbers.next_token)
        }
        Command::RevokeToken { id } => {
            admin(caller, "revoke a token")?;
            match world.tokens.contains_key(&id) {
                true => one(Change::TokenRevoked { id }),
                false => Err(problem_of(&Rejection::UnknownToken(id))),
            }
        }
        Command::PatchSettings(patch) => {
            admin(caller, "change settings")?;
            checks::all_right(patch.check())?;
            world.patched(&patch).map_err(|rejection| problem_of(&rejection))?;
            one(Change::Settings(patch))
        }
        Command::DropWindow { id } => {
            operator(caller, "drop a time window")?;
            match world.windows.contains_key(&id) {
                true => one(Change::WindowDropped { id }),
                false => Err(Kind::NotFound.problem(format!("no time window {id} is planned"))),
            }
        }
        Command::AddNotification(create) => notifications::add(world, caller, create, numbers),
        Command::RemoveNotification { id } => notifications::remove(world, caller, id),
        Command::TestNotification { id } => notifications::test(world, now, caller, id),
        Command::Notified { id, notice, delivered, detail } => {
            one(Change::Notified { id, notice, delivered, detail })
        }
        Command::PatchNode { name, patch } => {
            operator(caller, "change a node")?;
            if world.sched.cluster().node_named(&name).is_none() {
                return Err(problem_of(&Rejection::UnknownNode(name)));
            }
            outage::node(world, now, caller, name, patch)
        }
    }
}

/// What cannot be done where a cluster is only observed.
fn observed(command: &Command) -> Result<(), ApiError> {
    let (what, instead) = match command {
        Command::Submit { .. } => ("take no jobs", "submit it with sbatch"),
        Command::Cancel { .. } => ("end no jobs", "end it with scancel"),
        Command::PatchJob { .. } | Command::Resubmit { .. } => {
            ("change no jobs", "use scontrol or sbatch")
        }
        Command::PatchNode { .. } | Command::DropWindow { .. } => {
            ("change no nodes", "use scontrol update NodeName=... State=DRAIN Reason=...")
        }
        Command::RemoveTenant { .. } => ("remove no tenants", "it goes with its account in Slurm"),
        Command::PatchTenant { patch, .. } if patch.suspended.is_some() => {
            ("suspend no tenants", "use sacctmgr to hold its account")
        }
        _ => return Ok(()),
    };
    let why = format!("this daemon observes Slurm and touches nothing: it can {what}");
    let hint = format!("{instead}; or let OEF decide, with [slurm] depth = \"drive\"");
    Err(Kind::Conflict.problem(why).hint(hint))
}

/// Only those who run the cluster may do that.
fn operator(caller: &Caller, what: &str) -> Result<(), ApiError> {
    match caller.is_operator() {
        true => Ok(()),
        false => Err(forbidden(caller, what)),
    }
}

/// Only admins may do that.
pub(super) fn admin(caller: &Caller, what: &str) -> Result<(), ApiError> {
    match caller.is_admin() {
        true => Ok(()),
        false => Err(forbidden(caller, what)),
    }
}

pub(super) fn forbidden(caller: &Caller, what: &str) -> ApiError {
    let problem = Kind::Forbidden.problem(format!("{} may not {what}", caller.named()));
    problem.hint(caller.way_out())
}

/// A rejection in the words of the interface.
pub(crate) fn problem_of(rejection: &Rejection) -> ApiError {
    let kind = match rejection {
        Rejection::UnknownTenant(_) => Kind::UnknownTenant,
        Rejection::UnknownGroup(_)
        | Rejection::UnknownJob(_)
        | Rejection::UnknownToken(_)
        | Rejection::UnknownNotification(_)
        | Rejection::UnknownNode(_) => Kind::NotFound,
        Rejection::TenantExists(_)
        | Rejection::TenantLeaves(_)
        | Rejection::GroupInUse { .. }
        | Rejection::GroupCycle { .. }
        | Rejection::JobEnded(_)
        | Rejection::WrongState(_)
        | Rejection::CancelledAlready(_)
        | Rejection::Repeated(_)
        | Rejection::UsedNumber(_) => Kind::Conflict,
        Rejection::LimitReached(_) => Kind::LimitReached,
        Rejection::Bad(_) | Rejection::Scheduler(_) => Kind::BadRequest,
        Rejection::TimeWentBack(_) | Rejection::UnknownMeaning(_) => Kind::Internal,
    };
    kind.problem(rejection.to_string())
}
