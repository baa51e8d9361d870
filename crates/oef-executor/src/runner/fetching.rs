//! A job's checkpoint is brought before its workers start.

use super::stage::note;
use super::verdict::Told;
use crate::checkpoints::{Brought, Fetch, Look, NotBrought, bring};
use crate::ending::Ending;
use crate::records::RunFolder;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is told how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Fetching<'a> {
    pub(super) run: &'a RunFolder,
    pub(super) fetch: &'a Fetch,
    pub(super) live: &'a Path,
}

impl Fetching<'_> {
    /// Brings it; an ending if the job is not to be started. `told` says whether it still is, `tell` passes
    /// on how far it is.
    pub(super) fn run(
        &self,
        told: &dyn Fn() -> Option<Told>,
        tell: &mut dyn FnMut(String),
    ) -> Option<Ending> {
        let mut last: Option<Instant> = None;
        let mut stopped = None;
        let brought = bring(self.fetch, self.live, Some(self.run.path()), &mut |progress| {
            stopped = told();
            if last.is_none_or(|last| last.elapsed() >= TELL_EVERY) {
                last = Some(Instant::now());
                tell(progress.to_string());
            }
            if stopped.is_some() { Look::Stop } else { Look::GoOn }
        });
        let from = &self.fetch.from;
        match brought {
            Ok(Brought::All(report)) => {
                note(&format!("{report:?}"));
                tell(format!("has its checkpoint from {from}: {report}"));
                None
            }
            Ok(Brought::Nothing) => {
                tell(format!("found no checkpoint at {from}: starts with what is here"));
                None
            }
            Err(NotBrought::Stopped) => Some(match stopped {
                Some(told @ Told::Superseded(_)) => Ending::Refused { why: told.why() },
                told => {
                    let why = told.map_or_else(String::new, |told| told.why());
                    Ending::Stopped { detail: format!("{why}; it had not begun") }
                }
            }),
            Err(failed) => {
                note(&failed.to_string());
                Some(Ending::Refused { why: failed.to_string() })
            }
        }
    }
}
