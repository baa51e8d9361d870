//! Limits and weights of accounts, and what they were before: kept on disk before anything is changed, so that it comes
//! back whatever happens in between.

use super::grants::Grants;
use oef_executor::slurm::{
    Slurm, SlurmError, account_limits, account_weights, set_limits, set_weight, tres_of,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A whole GPU as a fair-share weight: fractions of a GPU are worth something, too.
const WEIGHT_OF_GPU: u32 = 100;

/// Limits of accounts by `gres/gpu:TYPE`; none: no limit.
type Limits = BTreeMap<String, BTreeMap<String, Option<u32>>>;

/// What is kept at the computed grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advise {
    /// `GrpTRES` of accounts: at most so many GPUs of each type at the same time.
    #[default]
    Limits,
    /// `Fairshare` of accounts: Slurm's own priority follows the grants.
    Fairshare,
}

/// Why limits or weights could not be set or brought back.
#[derive(Debug, Error)]
pub enum AdviceError {
    /// Slurm refuses.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// A tenant has no account.
    #[error(
        "there is no account `{0}` in Slurm's accounting; `sacctmgr show account` lists them, and [slurm] account_of maps tenants to them"
    )]
    NoAccount(String),
    /// What was before cannot be written or read.
    #[error("`{}`, where the old values are kept, could not be {done}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        done: &'static str,
        /// What the system says.
        why: io::Error,
    },
}

/// What accounts had before anything was changed. On disk: add freely (with a default), rename never.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Before {
    limits: Limits,
    #[serde(default)]
    weights: BTreeMap<String, u32>,
}

/// Who keeps accounts at what is granted.
#[derive(Clone, Debug)]
pub struct Advisor {
    slurm: Slurm,
    file: PathBuf,
}

impl Advisor {
    /// Keeps the old values in a file.
    pub fn new(slurm: Slurm, file: PathBuf) -> Advisor {
        Advisor { slurm, file }
    }

    /// The file of the old values in a daemon's state folder.
    pub fn file_in(state_dir: &Path) -> PathBuf {
        state_dir.join("slurm-before.json")
    }

    /// Sets one or the other for accounts, by their grants. Accounts that were changed before and are not among them get
    /// back what they had: who asks for nothing is not held back.
    pub fn set(&self, what: Advise, grants: &Grants) -> Result<(), AdviceError> {
        match what {
            Advise::Limits => self.set_limits(grants),
            Advise::Fairshare => self.set_weights(grants),
        }
    }

    fn set_limits(&self, grants: &Grants) -> Result<(), AdviceError> {
        let now = account_limits(&self.slurm)?;
        check_accounts(grants, &now.keys().collect())?;
        let mut wanted: Limits = BTreeMap::new();
        for (account, gpus) in grants {
            let limit = |(gpu, count): (&String, &u32)| (tres_of(gpu), Some(*count));
            wanted.insert(account.clone(), gpus.iter().map(limit).collect());
        }
        let mut before = self.read()?;
        for (account, kinds) in &wanted {
            let old = before.limits.entry(account.clone()).or_default();
            for kind in kinds.keys() {
                // What is kept already is older.
                old.entry(kind.clone()).or_insert_with(|| now[account].get(kind).copied());
            }
        }
        self.write(&before)?;
        let idle = before.limits.into_iter().filter(|(account, _)| !grants.contains_key(account));
        wanted.extend(idle.filter(|(account, _)| now.contains_key(account)));
        for (account, limits) in &wanted {
            if limits.iter().any(|(kind, limit)| now[account].get(kind).copied() != *limit) {
                set_limits(&self.slurm, account, limits)?;
            }
        }
        Ok(())
    }

    fn set_weights(&self, grants: &Grants) -> Result<(), AdviceError> {
        let now = account_weights(&self.slurm)?;
        check_accounts(grants, &now.keys().collect())?;
        let weight = |gpus: &BTreeMap<String, u32>| {
            gpus.values().sum::<u32>().saturating_mul(WEIGHT_OF_GPU).max(1)
        };
        let mut wanted: BTreeMap<String, u32> =
            grants.iter().map(|(account, gpus)| (account.clone(), weight(gpus))).collect();
        let mut before = self.read()?;
        for account in wanted.keys() {
            before.weights.entry(account.clone()).or_insert(now[account] as u32);
        }
        self.write(&before)?;
        let idle = before.weights.into_iter().filter(|(account, _)| !grants.contains_key(account));
        wanted.extend(idle.filter(|(account, _)| now.contains_key(account)));
        for (account, weight) in &wanted {
            if now[account] as u32 != *weight {
                set_weight(&self.slurm, account, *weight)?;
            }
        }
        Ok(())
    }

    /// Brings back what was before, and forgets it; how many accounts had been changed.
    pub fn restore(&self) -> Result<usize, AdviceError> {
        let before = self.read()?;
        for (account, limits) in &before.limits {
            set_limits(&self.slurm, account, limits)?;
        }
        for (account, weight) in &before.weights {
            set_weight(&self.slurm, account, *weight)?;
        }
        match fs::remove_file(&self.file) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(self.failed("removed", why)),
            _ => {
                let accounts: BTreeSet<&String> =
                    before.limits.keys().chain(before.weights.keys()).collect();
                Ok(accounts.len())
            }
        }
    }

    fn read(&self) -> Result<Before, AdviceError> {
        match fs::read_to_string(&self.file) {
            Ok(text) => serde_json::from_str(&text).map_err(|why| self.failed("read", why.into())),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Before::default()),
            Err(why) => Err(self.failed("read", why)),
        }
    }

    /// On disk before it returns: without it nobody knows what was before.
    fn write(&self, before: &Before) -> Result<(), AdviceError> {
        if self.read()? == *before {
            return Ok(());
        }
        let part = self.file.with_extension("part");
        let fill = || {
            let mut file = File::create(&part)?;
            file.write_all(serde_json::to_string_pretty(before)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&part, &self.file)?;
            let folder = self.file.parent().filter(|folder| *folder != Path::new(""));
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        fill().map_err(|why| self.failed("written", why))
    }

    fn failed(&self, done: &'static str, why: io::Error) -> AdviceError {
        AdviceError::File { path: self.file.clone(), done, why }
    }
}

fn check_accounts(grants: &Grants, known: &BTreeSet<&String>) -> Result<(), AdviceError> {
    match grants.keys().find(|account| !known.contains(account)) {
        Some(account) => Err(AdviceError::NoAccount(account.clone())),
        None => Ok(()),
    }
}
