//! What would happen if: changes thought through on a copy of the scheduler's state.

use super::certificate::certificate;
use super::text::{change, timestamp};
use super::visible;
use super::whatif_changes::{Prepared, apply, prepare};
use crate::caller::Caller;
use crate::world::World;
use oef_api::types::{ApiError, ExpectedStart, TenantEffect, WhatIf, WhatIfAnswer};
use oef_core::{Options, TenantId};
use oef_report::format::counted;
use oef_sched::{Event, EventKind, JobId, JobState, State, Time, step};
use std::collections::{BTreeMap, BTreeSet};

/// Sentences about single tenants; the figures have them all.
const SENTENCES_MAX: usize = 20;
/// Figures that differ by less than this part are the same to people.
const SAME: f64 = 0.0005;

/// What the answer needs of the world: a copy of the scheduler's state, and the changes.
#[derive(Clone, Debug)]
pub struct WhatIfDraft {
    state: State,
    changes: Vec<Prepared>,
    /// The only tenant of which figures are shown: what changes may do to others is theirs.
    only: Option<String>,
}

/// Throughput of each tenant's share, by name.
type Picture = BTreeMap<String, f64>;

impl WhatIfDraft {
    /// Takes it, and looks the names in the changes up.
    pub fn take(world: &World, caller: &Caller, asked: &WhatIf) -> Result<WhatIfDraft, ApiError> {
        let changes = prepare(world, caller, asked)?;
        let only = visible::only(caller).map(String::from);
        Ok(WhatIfDraft { state: world.sched.clone(), changes, only })
    }

    /// Computes the shares before and after. This may take long; `options.stop` ends it early with the
    /// best that there is.
    pub fn finish(self, options: &Options<'_>) -> Result<WhatIfAnswer, ApiError> {
        let WhatIfDraft { mut state, changes, only } = self;
        solve(&mut state, options);
        let before = picture(&state);
        let reference_before = reference(&state);
        let mut jobs = Vec::new();
        let mut notes = Vec::new();
        for change in &changes {
            jobs.extend(apply(&mut state, change, &mut notes)?);
        }
        solve(&mut state, options);
        let after = picture(&state);
        notes.extend(changed_reference(reference_before, reference(&state)));
        notes.extend(
            state.entitlement().trouble().map(|trouble| format!("after these changes {trouble}")),
        );
        let answer = state.entitlement().answer().filter(|_| only.is_none());
        let audit = answer.map(|(problem, outcome)| certificate(problem, outcome));
        let starts = starts(&mut state, &jobs);
        let mut names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        names.retain(|name| only.as_ref().is_none_or(|only| only == *name));
        let of = |picture: &Picture, name: &str| picture.get(name).copied().unwrap_or(0.0);
        let tenants = names.into_iter().map(|name| TenantEffect {
            tenant: name.clone(),
            before: of(&before, name),
            after: of(&after, name),
        });
        let tenants: Vec<TenantEffect> = tenants.collect();
        // The sum of nothing is -0, which nobody wants to read.
        let total = |of: fn(&TenantEffect) -> f64| tenants.iter().map(of).sum::<f64>() + 0.0;
        let (total_before, total_after) = (total(|t| t.before), total(|t| t.after));
        let mut sentences = match only {
            None => vec![all_together(total_before, total_after)],
            Some(_) => Vec::new(),
        };
        sentences.extend(single(&tenants));
        sentences.extend(starts.iter().map(start_sentence));
        sentences.extend(notes);
        Ok(WhatIfAnswer { total_before, total_after, tenants, starts, audit, sentences })
    }
}

/// Brings the shares up to date.
fn solve(state: &mut State, options: &Options<'_>) {
    if let Some(question) = state.question() {
        let answer = question.answer(options);
        let shares = EventKind::Shares(Box::new(answer));
        let _ = step(state, Event { at: state.now(), kind: shares });
    }
}

fn picture(state: &State) -> Picture {
    let Some((problem, outcome)) = state.entitlement().answer() else { return Picture::new() };
    let throughput = |t: TenantId| outcome.shares.throughput(problem, t);
    let named = problem.tenants().iter().zip(problem.tenant_ids());
    named.map(|(tenant, t)| (tenant.name.clone(), throughput(t))).collect()
}

fn reference(state: &State) -> Option<String> {
    let (problem, _) = state.entitlement().answer()?;
    problem.types().get(problem.reference().0).map(|t| t.name.clone())
}

fn changed_reference(before: Option<String>, after: Option<String>) -> Option<String> {
    let (before, after) = (before?, after?);
    (before != after).then(|| {
        format!("throughput would be counted in GPUs of {after} instead of {before}: the figures before and after do not compare")
    })
}

/// When each of the submitted jobs could expect to start: at once, in the next round, or later.
fn starts(state: &mut State, jobs: &[JobId]) -> Vec<ExpectedStart> {
    let placed = |state: &State, job: JobId| {
        let found = state.job(job).map(|job| job.state());
        matches!(found, Some(JobState::Starting | JobState::Running))
    };
    let at_once: Vec<bool> = jobs.iter().map(|&job| placed(state, job)).collect();
    let (now, round) = (state.now(), state.round());
    if at_once.contains(&false) {
        let next = now.max(state.plan().began + state.settings().round);
        // A round that cannot begin changes nothing: the forecast is then of now.
        let _ = step(state, Event { at: next, kind: EventKind::Tick });
    }
    let tell = |(&job, at_once): (&JobId, bool)| {
        if at_once {
            let reason = "GPUs that it may use are idle".into();
            return ExpectedStart { round: Some(round.0), at: Some(timestamp(now)), reason };
        }
        let forecast = oef_sched::why(state, job);
        let expected = match placed(state, job) {
            true => Some(state.round()),
            false => forecast.as_ref().and_then(|forecast| forecast.expected),
        };
        ExpectedStart {
            round: expected.map(|round| round.0),
            at: expected.map(|round| {
                let ahead = round.0.saturating_sub(state.round().0);
                let at: Time = state.plan().began + state.settings().round.times(ahead);
                timestamp(at)
            }),
            reason: forecast.map_or_else(String::new, |forecast| forecast.sentence),
        }
    };
    jobs.iter().zip(at_once).map(tell).collect()
}

fn start_sentence(start: &ExpectedStart) -> String {
    let when = match start.round {
        Some(round) => format!("would start in round {round}"),
        None => "would start at an unknown time".into(),
    };
    format!("the job {when}: {}", start.reason)
}

fn all_together(before: f64, after: f64) -> String {
    match is_same(before, after) {
        true => format!("all together would have {after:.2} as before"),
        false => {
            let change = change(before, after);
            format!("all together would have {after:.2} instead of {before:.2} ({change})")
        }
    }
}

fn single(tenants: &[TenantEffect]) -> Vec<String> {
    let mut sentences = Vec::new();
    let changed: Vec<&TenantEffect> =
        tenants.iter().filter(|t| !is_same(t.before, t.after)).collect();
    for TenantEffect { tenant, before, after } in changed.iter().take(SENTENCES_MAX) {
        sentences.push(match (*before > 0.0, *after > 0.0) {
            (true, true) => {
                let change = change(*before, *after);
                format!("{tenant} would have {after:.2} instead of {before:.2} ({change})")
            }
            (true, false) => format!("{tenant} would have nothing instead of {before:.2}"),
            _ => format!("{tenant} would have {after:.2}, and has nothing now"),
        });
    }
    let more = changed.len().saturating_sub(SENTENCES_MAX);
    if more > 0 {
        sentences.push(format!("{} would have more or less", counted(more, "other")));
    }
    let same = tenants.len() - changed.len();
    if same > 0 && !changed.is_empty() {
        sentences.push(format!("nothing changes for {}", counted(same, "tenant")));
    }
    sentences
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}
