//! What a daemon that only follows Slurm does with every round: it writes the fairness report and, where it advises, keeps
//! accounts at what was granted. On leaving they get back what they had before.

use super::advice::{Advise, Advisor};
use super::grants::{Grants, whole};
use super::settings::{Depth, LeaveAccounts, SlurmSettings};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::run_error::RunError;
use crate::serve::Talk;
use crate::view::FairnessDraft;
use oef_executor::slurm::Rules;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How soon a new round is noticed.
const LOOK: Duration = Duration::from_millis(500);
/// After Slurm refused, it is asked again so much later.
const AGAIN: Duration = Duration::from_secs(15);

/// A thread that follows the rounds until it is dropped.
pub(crate) struct Following {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts it, unless OEF drives. Where accounts are still changed and nobody looks after them, it says so.
pub(crate) fn follow(
    settings: &SlurmSettings,
    state_dir: &Path,
    daemon: &Daemon,
    talk: &Talk,
) -> Result<Option<Following>, RunError> {
    let file = Advisor::file_in(state_dir);
    if settings.depth != Depth::Advise && file.exists() {
        talk(&format!(
            "limits or weights of Slurm accounts are still as OEF set them; `oef slurm advise --restore --state {}` brings the old ones back",
            state_dir.display()
        ));
    }
    if settings.depth == Depth::Drive {
        return Ok(None);
    }
    let mut slurm = settings.slurm();
    slurm.keep = Some(state_dir.into());
    let accounts = (settings.depth == Depth::Advise).then(|| Accounts {
        advisor: Advisor::new(slurm, file),
        what: settings.advise,
        leave: settings.on_stop,
        rules: settings.rules(),
        set: None,
    });
    let report = state_dir.join("fairness.json");
    let follower = Follower { daemon: daemon.clone(), report, accounts, talk: talk.clone() };
    let (stop, stopped) = channel();
    let goes_on = move |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
    let spawned = thread::Builder::new().name("rounds".into()).spawn(|| follower.run(goes_on));
    let thread = Some(spawned.map_err(RunError::Runtime)?);
    Ok(Some(Following { stop: Some(stop), thread }))
}

impl Drop for Following {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Follower {
    daemon: Daemon,
    report: PathBuf,
    accounts: Option<Accounts>,
    talk: Talk,
}

/// Accounts that are kept at what is granted.
struct Accounts {
    advisor: Advisor,
    what: Advise,
    leave: LeaveAccounts,
    rules: Rules,
    /// What was set last.
    set: Option<Grants>,
}

impl Follower {
    /// Works as long as `goes_on`, which waits.
    fn run(mut self, goes_on: impl Fn(Duration) -> bool) {
        let (mut round, mut pause) = (0, LOOK);
        while goes_on(pause) {
            pause = LOOK;
            let now = self.daemon.with_world(|world| world.sched.round().0);
            if std::mem::replace(&mut round, now) != now {
                self.write_report();
            }
            if let Some(accounts) = &mut self.accounts
                && let Err(error) = accounts.follow(&self.daemon)
            {
                tracing::warn!(%error, "accounts could not be set; it is tried again");
                pause = AGAIN;
            }
        }
        if let Some(accounts) = self.accounts.filter(|own| own.leave == LeaveAccounts::Restore) {
            match accounts.advisor.restore() {
                Ok(0) => {}
                Ok(count) => {
                    (self.talk)(&format!("{count} Slurm accounts have their old values back"));
                }
                Err(error) => (self.talk)(&format!(
                    "accounts could not be brought back: {error}; `oef slurm advise --restore` tries again"
                )),
            }
        }
    }

    fn write_report(&self) {
        let draft = self.daemon.with_world(|world| FairnessDraft::take(world, &Caller::admin()));
        let Ok(draft) = draft else { return };
        let part = self.report.with_extension("part");
        let written = serde_json::to_vec_pretty(&draft.finish())
            .map_err(Into::into)
            .and_then(|text| fs::write(&part, text))
            .and_then(|()| fs::rename(&part, &self.report));
        if let Err(error) = written {
            tracing::warn!(%error, file = %self.report.display(), "no fairness report");
        }
    }
}

impl Accounts {
    /// Sets what has changed since the last time.
    fn follow(&mut self, daemon: &Daemon) -> Result<(), super::AdviceError> {
        let grants = self.grants(daemon);
        if self.set.as_ref() == Some(&grants) || self.set.is_none() && grants.is_empty() {
            return Ok(());
        }
        self.advisor.set(self.what, &grants)?;
        tracing::info!(accounts = grants.len(), "accounts are at what is granted");
        self.set = Some(grants);
        Ok(())
    }

    /// What accounts are granted by the shares that count now.
    fn grants(&self, daemon: &Daemon) -> Grants {
        let answer = daemon.with_world(|world| {
            let answer = world.sched.entitlement().answer();
            answer.map(|(problem, outcome)| (problem.clone(), outcome.shares.clone()))
        });
        let Some((problem, shares)) = answer else { return Grants::new() };
        let grants = whole(&problem, &shares).into_iter();
        grants.map(|(tenant, gpus)| (self.rules.account_of_tenant(&tenant), gpus)).collect()
    }
}
