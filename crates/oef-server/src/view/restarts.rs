//! The restarts of a job and what it may have, for callers.

use crate::world::turns::fruitless_stops;
use crate::world::{JobEntry, World};
use oef_api::types::RestartBudget;
use oef_report::format::counted;
use oef_report::format::span;
use oef_sched::{JobId, Span};

/// The budget of a live job.
pub(super) fn budget(world: &World, id: JobId) -> Option<RestartBudget> {
    let budget = world.sched.restart_budget(id)?;
    Some(RestartBudget {
        restarts: budget.restarts,
        free: budget.free,
        cost_s: budget.cost.seconds(),
        measured: budget.is_measured,
        lost_s: budget.lost().seconds(),
        lost_part: budget.lost_part(),
        bound: budget.bound,
        may_restart: budget.may_restart,
        turn_s: budget.turn.seconds(),
    })
}

/// That a job begins anew each time, and what helps.
pub(super) fn never_saved(job: &JobEntry) -> Option<String> {
    let stops = fruitless_stops(job);
    (stops > 1).then(|| {
        format!(
            "it was stopped {stops} times and never saved its work, so that it begins anew each time; its turns become \
             longer from the third on. Let it save checkpoints, or promise it a longer run with `--min-run`"
        )
    })
}

/// The same in a sentence.
pub(super) fn sentence(world: &World, id: JobId) -> Option<String> {
    let budget = world.sched.restart_budget(id)?;
    let shown = |span_of: Span| span(span_of.seconds());
    let cost = match budget.is_measured {
        true => "measured for its workload",
        false => "by the settings; not measured yet",
    };
    let lost = match budget.restarts {
        0 => String::new(),
        _ => format!(
            ", which cost {} ({:.1} % of its running time)",
            shown(budget.lost()),
            100.0 * budget.lost_part()
        ),
    };
    let closed = if budget.may_restart {
        ""
    } else {
        "; it is not stopped again until it has run for longer"
    };
    Some(format!(
        "{} so far{lost}; beyond {} they may cost {:.0} %{closed}. A restart costs {} ({cost}), so that it runs \
         for at least {} once it was started",
        counted(budget.restarts as usize, "restart"),
        budget.free,
        100.0 * budget.bound,
        shown(budget.cost),
        shown(budget.turn)
    ))
}
