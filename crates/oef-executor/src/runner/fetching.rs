//! A job's checkpoint is brought before its workers start.

use super::conclusion::Told;
use super::session::unbegun;
use super::stage::note;
use crate::checkpoints::{Brought, Fetch, Look, NotBrought, Transfer, bring_as};
use crate::ending::{Ending, length};
use crate::records::RunFolder;
use crate::users::User;
use oef_sched::Span;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is told how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Fetching<'a> {
    pub(super) run: &'a RunFolder,
    pub(super) fetch: &'a Fetch,
    pub(super) live: &'a Path,
    /// Whose they are, if not the runner's own.
    pub(super) user: Option<&'a User>,
}

impl Fetching<'_> {
    /// Brings it; an ending if the job is not to be started. `told` says whether it still is, `tell` passes
    /// on how far it is if that is news, and in the end what it took.
    pub(super) fn run(
        &self,
        told: &dyn Fn() -> Option<Told>,
        tell: &mut dyn FnMut(Option<String>, Option<Transfer>),
    ) -> Option<Ending> {
        let began = Instant::now();
        let mut last: Option<Instant> = None;
        let mut stopped = None;
        let run = Some(self.run.path());
        let brought = bring_as(self.user, self.fetch, self.live, run, &mut |progress| {
            stopped = told();
            if last.is_none_or(|last| last.elapsed() >= TELL_EVERY) {
                last = Some(Instant::now());
                tell(Some(progress.to_string()), None);
            }
            if stopped.is_some() { Look::Stop } else { Look::GoOn }
        });
        let took = Span(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        let transfer = Some(Transfer::of(&brought, took));
        let from = &self.fetch.from;
        match brought {
            Ok(Brought::All(report)) => {
                note(&format!("{report:?}"));
                let took = length(tenths(took));
                let said = format!("has its checkpoint from {from}: {report}, in {took}");
                tell(Some(said), transfer);
                None
            }
            Ok(Brought::Nothing) => {
                let said = format!("found no checkpoint at {from}: starts with what is here");
                tell(Some(said), transfer);
                None
            }
            Err(NotBrought::Stopped) => {
                tell(None, transfer);
                Some(stopped.as_ref().map_or_else(abandoned, unbegun))
            }
            Err(failed) => {
                note(&failed.to_string());
                tell(None, transfer);
                Some(Ending::Refused { why: failed.to_string() })
            }
        }
    }
}

/// Nobody said why it was stopped, and nobody waits for it.
fn abandoned() -> Ending {
    unbegun(&Told::Abandoned)
}

/// Nobody needs to know the milliseconds of a transfer.
fn tenths(span: Span) -> Span {
    Span(span.0.div_ceil(100) * 100)
}
