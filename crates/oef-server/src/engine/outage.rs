//! An operator takes a node out, now or later, or brings it back.

use super::checks::refused;
use super::command::Done;
use super::jobs::office;
use super::prepare::Prepared;
use crate::caller::Caller;
use crate::problem::{Kind, More};
use crate::world::{Change, Drain, RunningJobs, Window, World};
use jiff::Timestamp;
use oef_api::check;
use oef_api::limits::REASON_MAX;
use oef_api::types::{ApiError, NodeHealth, NodePatch};
use oef_sched::Time;

/// Plans for one node: two years of weekly ones.
const WINDOWS_MAX: usize = 100;

/// The records that a change of a node takes.
pub(super) fn node(
    world: &World,
    now: Time,
    caller: &Caller,
    node: String,
    patch: NodePatch,
) -> Result<Prepared, ApiError> {
    if let Some(reason) = &patch.reason {
        check::line("the reason", "reason", reason, REASON_MAX).map_err(refused)?;
    }
    let change = match patch.health {
        NodeHealth::Up => {
            if patch != NodePatch::health(NodeHealth::Up) {
                let why = "a node that comes back takes no other fields";
                return Err(Kind::BadRequest.problem(why).field("health"));
            }
            Change::NodeDrained { node, drained: false, drain: None }
        }
        NodeHealth::Draining | NodeHealth::Down => taken_out(world, now, caller, node, patch)?,
    };
    Ok(Prepared::Changes(vec![change], Done::Nothing))
}

fn taken_out(
    world: &World,
    now: Time,
    caller: &Caller,
    node: String,
    patch: NodePatch,
) -> Result<Change, ApiError> {
    let from = patch.from.map(|from| time("from", from)).transpose()?.filter(|from| *from > now);
    let until = patch.until.map(|until| time("until", until)).transpose()?;
    if until.is_some_and(|until| until <= from.unwrap_or(now)) {
        let why = "the node would be back before it is taken out";
        return Err(Kind::BadRequest.problem(why).field("until"));
    }
    let lets_finish = patch.let_finish || patch.health == NodeHealth::Draining;
    let running = if lets_finish { RunningJobs::Finish } else { RunningJobs::Stop };
    let drain = Drain { reason: patch.reason, by: named(caller), running, until };
    Ok(match from {
        None => Change::NodeDrained { node, drained: true, drain: Some(drain) },
        Some(from) => {
            room_for_window(world, &node)?;
            let lead = world.longest_turn();
            Change::WindowPlanned {
                id: world.next_window.max(1),
                window: Window { node, from, lead, drain, ahead: true },
            }
        }
    })
}

/// Whether one more plan fits: every round goes through all of them.
fn room_for_window(world: &World, node: &str) -> Result<(), ApiError> {
    let planned = world.windows.values().filter(|window| window.node == node).count();
    if planned < WINDOWS_MAX {
        return Ok(());
    }
    let why = format!("there are {planned} plans for node `{node}`, as many as there may be");
    Err(Kind::LimitReached.problem(why).hint("`oef reserve --drop ID` drops one"))
}

fn named(caller: &Caller) -> String {
    match caller.token {
        0 => "the operator".into(),
        _ => office(caller),
    }
}

fn time(field: &str, at: Timestamp) -> Result<Time, ApiError> {
    let ms = u64::try_from(at.as_millisecond());
    ms.map(Time).map_err(|_| Kind::BadRequest.problem(format!("{at} is too long ago")).field(field))
}
