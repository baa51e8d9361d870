//! Bringing a checkpoint: tries, waits, and what comes of it.

use super::carry::{Carried, Halt, carry};
use super::command::{Here, arguments};
use super::fetch::Fetch;
use super::files::bytes;
use super::outcome::{BringError, Report, Size};
use super::replace::CheckpointFolders;
use crate::users::User;
use oef_sched::Span;
use std::fmt;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The first wait between two tries; each further one is twice as long...
const WAIT_FIRST: Duration = Duration::from_secs(1);
/// ... up to this: a line that is mended is soon used.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Where sums are compared, a line is silent until all files were read there. A slow disk reads so many bytes in a
/// millisecond.
const READ_BYTES_PER_MS: u64 = 100_000;

/// Silence that ended a try is allowed twice as long in the next, so often at most: what is here may be much less
/// than what is read there.
const PATIENCE_DOUBLED: u32 = 5;

/// How often the orders are looked at meanwhile.
const POLL: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Brought {
    /// The job's folder is what the other host has.
    All(Report),
    /// There was nothing to bring, and nobody had said that there is. The job's folder is as it was.
    Nothing,
}

/// Why the job's folder is as it was.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NotBrought {
    /// Somebody did not want it any more.
    #[error("it was not wanted any more")]
    Stopped,
    /// It could not be had.
    #[error("its checkpoint could not be brought from {from}: {error}{}", after(*tries))]
    Failed {
        /// Where it is.
        from: String,
        /// What went wrong last.
        error: BringError,
        /// How often it was tried.
        tries: u32,
    },
}

fn after(tries: u32) -> String {
    match tries {
        0 | 1 => String::new(),
        n => format!(" (after {n} tries)"),
    }
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// From where.
    pub from: String,
    /// Bytes that are here, in this try.
    pub bytes: u64,
    /// Percent of all, once that is known.
    pub percent: Option<u8>,
    /// Which try this is, from 1.
    pub tries: u32,
    /// What went wrong with the try before.
    pub last: Option<BringError>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "brings its checkpoint from {}", self.from)?;
        if let Some(percent) = self.percent.filter(|_| self.bytes > 0) {
            write!(f, ": {}, {percent} %", Size(self.bytes))?;
        }
        match &self.last {
            Some(error) => write!(f, " (try {}; before: {error})", self.tries),
            None => Ok(()),
        }
    }
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is still wanted.
    GoOn,
    /// It is not.
    Stop,
}

/// Makes `live` what the other host has, or leaves it as it is. `run` is the folder of the start for which
/// this happens: whatever is started here is found by it. `look` is called many times a second.
pub fn bring(
    fetch: &Fetch,
    live: &Path,
    run: Option<&Path>,
    look: &mut dyn FnMut(&Progress) -> Look,
) -> Result<Brought, NotBrought> {
    bring_as(None, fetch, live, run, look)
}

/// The same with the rights of another user, to whom both folders belong: a daemon that is root neither follows what
/// the user put there nor makes files of root out of it.
pub(crate) fn bring_as(
    user: Option<&User>,
    fetch: &Fetch,
    live: &Path,
    run: Option<&Path>,
    look: &mut dyn FnMut(&Progress) -> Look,
) -> Result<Brought, NotBrought> {
    let Some(place) = CheckpointFolders::of(live) else {
        let error = BringError::NotPlaced(format!("`{}` has no name", live.display()));
        return Err(NotBrought::Failed { from: fetch.from.clone(), error, tries: 0 });
    };
    let progress = Progress { from: fetch.from.clone(), ..Progress::default() };
    let began = Instant::now();
    Bringing { user, fetch, place, run, look, began, progress, silent: 0 }.until_done()
}

struct Bringing<'a> {
    user: Option<&'a User>,
    fetch: &'a Fetch,
    place: CheckpointFolders,
    run: Option<&'a Path>,
    look: &'a mut dyn FnMut(&Progress) -> Look,
    began: Instant,
    progress: Progress,
    /// Tries that ended in silence.
    silent: u32,
}

impl Bringing<'_> {
    fn until_done(mut self) -> Result<Brought, NotBrought> {
        let mut wait = WAIT_FIRST;
        loop {
            self.progress.tries += 1;
            let error = match self.attempt() {
                Carried::All(report) => return Ok(Brought::All(report)),
                Carried::Stopped => return Err(NotBrought::Stopped),
                Carried::Failed(error) => error,
            };
            match error {
                BringError::Silence(_) => self.silent += 1,
                // Others need the room, and this one could not go on without more.
                BringError::NoRoom(_) => drop(self.place.clear()),
                _ => {}
            }
            let is_nothing = matches!(error, BringError::SourceMissing | BringError::SourceEmpty);
            if is_nothing && !self.fetch.is_known {
                return Ok(Brought::Nothing);
            }
            let is_last = self.progress.tries >= self.fetch.limits.tries.max(1);
            let too_late = self.left() <= wait;
            if error.is_lasting() || is_last || too_late {
                let (from, tries) = (self.fetch.from.clone(), self.progress.tries);
                return Err(NotBrought::Failed { from, error, tries });
            }
            self.progress.last = Some(error);
            self.pause(wait)?;
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    fn attempt(&mut self) -> Carried {
        let not_written = |error: std::io::Error| {
            Carried::Failed(BringError::read(Some(11), &format!("this host: {error}")))
        };
        if let Err(error) = self.place.make_ready(self.user) {
            return not_written(error);
        }
        let (live, staging) = (self.place.live.as_path(), self.place.incoming.as_path());
        let basis = Some(live).filter(|live| live.is_dir());
        let here = bytes(live).max(bytes(staging));
        let silence = silence(self.fetch.limits.silence, here, self.silent);
        let here = Here { basis, staging, has_files: here > 0 };
        let args = arguments(self.fetch, &here, silence);
        let (began, limit) = (self.began, self.fetch.limits.time);
        let (progress, look) = (&mut self.progress, &mut self.look);
        let carried = carry(&args, silence, self.run, self.user, &mut |bytes, percent| {
            (progress.bytes, progress.percent) = (bytes, percent);
            if look(progress) == Look::Stop {
                return Some(Halt::Stop);
            }
            let is_over = began.elapsed() >= duration(limit);
            is_over.then_some(Halt::Over(BringError::OverTime(limit)))
        });
        match carried {
            Carried::All(report) => self.accept(report),
            other => other,
        }
    }

    /// An empty folder never takes the place of one with files in it: nobody saves nothing on purpose.
    fn accept(&self, report: Report) -> Carried {
        if report.files == 0 {
            return Carried::Failed(BringError::SourceEmpty);
        }
        match self.place.settle(self.user) {
            Ok(()) => Carried::All(report),
            Err(error) => Carried::Failed(BringError::NotPlaced(error.to_string())),
        }
    }

    fn left(&self) -> Duration {
        duration(self.fetch.limits.time).saturating_sub(self.began.elapsed())
    }

    fn pause(&mut self, wait: Duration) -> Result<(), NotBrought> {
        let began = Instant::now();
        (self.progress.bytes, self.progress.percent) = (0, None);
        while began.elapsed() < wait {
            if (self.look)(&self.progress) == Look::Stop {
                return Err(NotBrought::Stopped);
            }
            sleep(POLL);
        }
        Ok(())
    }
}

impl Drop for Bringing<'_> {
    /// An empty folder is of no use to the next try.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.place.incoming);
    }
}

/// How long nothing may come, with so many bytes on this host and so many tries that ended in silence.
fn silence(limit: Span, here: u64, silent: u32) -> Span {
    let patient = limit.0.saturating_mul(1 << silent.min(PATIENCE_DOUBLED));
    Span(patient.saturating_add(here / READ_BYTES_PER_MS))
}

fn duration(span: Span) -> Duration {
    Duration::from_millis(span.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_be_silent_while_files_are_read() {
        let cases = [
            (0, 0, 120_000),
            (0, 1, 240_000),
            (0, 99, 32 * 120_000),
            // 50 GB: eight minutes and twenty seconds.
            (50_000_000_000, 0, 620_000),
            (u64::MAX, 99, 32 * 120_000 + u64::MAX / READ_BYTES_PER_MS),
        ];
        for (here, silent, allowed) in cases {
            assert_eq!(silence(Span(120_000), here, silent), Span(allowed), "{here} {silent}");
        }
        assert_eq!(silence(Span(u64::MAX), 1 << 40, 3), Span(u64::MAX));
    }

    #[test]
    fn progress_is_a_sentence() {
        let mut progress = Progress { from: "a-0".into(), tries: 1, ..Progress::default() };
        assert_eq!(progress.to_string(), "brings its checkpoint from a-0");
        (progress.bytes, progress.percent) = (412 << 20, Some(41));
        assert_eq!(progress.to_string(), "brings its checkpoint from a-0: 412 MiB, 41 %");
        progress.last = Some(BringError::Link("reset by peer".into()));
        (progress.percent, progress.tries) = (None, 2);
        assert_eq!(
            progress.to_string(),
            "brings its checkpoint from a-0 (try 2; before: the connection broke: reset by peer)"
        );
    }
}
