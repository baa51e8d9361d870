//! GPU limits of accounts (`GrpTRES`), and what their jobs ask for.

use super::ask::fresh_mark;
use super::command::{Slurm, SlurmError};
use std::collections::BTreeMap;

/// Limits of one account: `gres/gpu:TYPE` to GPUs.
pub type AccountLimits = BTreeMap<String, u32>;

/// How a gpu type is called in limits.
pub fn tres_of(gpu_type: &str) -> String {
    format!("gres/gpu:{gpu_type}")
}

/// The limits of every account on this cluster; those without any are there too.
pub fn account_limits(slurm: &Slurm) -> Result<BTreeMap<String, AccountLimits>, SlurmError> {
    let mut words: Vec<String> =
        ["--noheader", "--parsable2", "show", "assoc"].map(String::from).to_vec();
    words.push(format!("cluster={}", cluster_name(slurm)?));
    words.push("format=account,user,grptres".into());
    let text = slurm.call("sacctmgr", &words)?;
    limits_in(&text).ok_or_else(|| unreadable(slurm, "sacctmgr", &text))
}

fn limits_in(text: &str) -> Option<BTreeMap<String, AccountLimits>> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut columns = line.split('|');
        let (account, user, tres) = (columns.next()?, columns.next()?, columns.next()?);
        if user.is_empty() {
            found.insert(account.to_string(), tres_list(tres)?);
        }
    }
    Some(found)
}

fn tres_list(text: &str) -> Option<AccountLimits> {
    let pair = |item: &str| {
        let (name, count) = item.split_once('=')?;
        Some((name.to_string(), count.parse().ok()?))
    };
    // Memory has a unit, and other things are not ours to know.
    let gpus = text.split(',').filter(|item| item.starts_with("gres/gpu"));
    gpus.map(pair).collect()
}

/// The fair-share weight of every account on this cluster that has one.
pub fn account_weights(slurm: &Slurm) -> Result<BTreeMap<String, f64>, SlurmError> {
    let cluster = format!("cluster={}", cluster_name(slurm)?);
    let words =
        ["--noheader", "--parsable2", "show", "assoc", &cluster, "format=account,user,fairshare"];
    let text = slurm.call("sacctmgr", &words)?;
    weights_in(&text).ok_or_else(|| unreadable(slurm, "sacctmgr", &text))
}

fn weights_in(text: &str) -> Option<BTreeMap<String, f64>> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut columns = line.split('|');
        let (account, user, weight) = (columns.next()?, columns.next()?, columns.next()?);
        // `parent` is no weight of its own.
        if let (true, Ok(weight)) = (user.is_empty(), weight.parse::<u32>()) {
            found.insert(account.to_string(), f64::from(weight));
        }
    }
    Some(found)
}

/// Sets the fair-share weight of an account.
pub fn set_weight(slurm: &Slurm, account: &str, weight: u32) -> Result<(), SlurmError> {
    modify(slurm, account, format!("Fairshare={weight}"))
}

/// Sets limits of an account; none: no limit.
pub fn set_limits(
    slurm: &Slurm,
    account: &str,
    limits: &BTreeMap<String, Option<u32>>,
) -> Result<(), SlurmError> {
    let shown = |limit: Option<u32>| limit.map_or("-1".to_string(), |count| count.to_string());
    let pairs: Vec<String> =
        limits.iter().map(|(name, limit)| format!("{name}={}", shown(*limit))).collect();
    modify(slurm, account, format!("GrpTRES={}", pairs.join(",")))
}

/// Changes the account itself, and not those of its users that have values of their own.
fn modify(slurm: &Slurm, account: &str, value: String) -> Result<(), SlurmError> {
    let mut words: Vec<String> =
        ["--immediate", "--quiet", "modify", "account", "where"].map(String::from).to_vec();
    words.push(format!("name={account}"));
    words.push(format!("cluster={}", cluster_name(slurm)?));
    words.extend(["set".to_string(), value]);
    match slurm.call("sacctmgr", &words) {
        // It ends so where the values are there already.
        Err(SlurmError::Refused { words, .. }) if words.contains("Nothing modified") => Ok(()),
        done => done.map(|_| ()),
    }
}

/// The GPUs that running and waiting jobs of each account ask for.
pub fn demands(slurm: &Slurm) -> Result<BTreeMap<String, u32>, SlurmError> {
    let mark = fresh_mark();
    let format = format!("--Format=Account:{mark},tres-alloc:{mark}");
    let words = ["--noheader", "--all", "--states=PENDING,RUNNING", &format];
    let text = slurm.call("squeue", &words)?;
    demands_in(&text, &mark).ok_or_else(|| unreadable(slurm, "squeue", &text))
}

fn demands_in(text: &str, mark: &str) -> Option<BTreeMap<String, u32>> {
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut columns = line.split(mark).map(str::trim);
        let (account, tres) = (columns.next()?, columns.next()?);
        let all = tres.split(',').find_map(|item| item.strip_prefix("gres/gpu="));
        let gpus: u32 = match all {
            Some(count) => count.parse().ok()?,
            None => tres_list(tres)?.values().sum(),
        };
        *found.entry(account.to_string()).or_default() += gpus;
    }
    Some(found)
}

fn cluster_name(slurm: &Slurm) -> Result<String, SlurmError> {
    let text = slurm.show_config()?;
    let line = text.lines().find_map(|line| line.strip_prefix("ClusterName"));
    let name = line.and_then(|line| line.split_once('=')).map(|(_, name)| name.trim().to_string());
    name.ok_or_else(|| unreadable(slurm, "scontrol", &text))
}

fn unreadable(slurm: &Slurm, program: &str, text: &str) -> SlurmError {
    slurm.unreadable(program, "it has another form than is known".to_string(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_accounts_and_not_of_users() {
        let text = "root||\nvision||cpu=10,gres/gpu:a=4,mem=10G\nvision|ada|gres/gpu:a=1\n";
        let limits = limits_in(text).expect("read");
        assert_eq!(limits["vision"], AccountLimits::from([("gres/gpu:a".to_string(), 4)]));
        assert!(limits["root"].is_empty());
        assert_eq!(limits_in("vision\n"), None);
        assert_eq!(limits_in("vision||gres/gpu:a=many\n"), None);
    }

    #[test]
    fn weights_are_those_of_accounts() {
        let text = "root||1\nvision||3\nvision|ada|parent\nspeech||parent\n";
        let weights = weights_in(text).expect("read");
        assert_eq!(weights, BTreeMap::from([("root".to_string(), 1.0), ("vision".into(), 3.0)]));
        assert_eq!(weights_in("vision\n"), None);
    }

    #[test]
    fn demands_are_what_jobs_ask_for() {
        let text = "vision@cpu=2,gres/gpu=2,gres/gpu:a=2@\nvision@cpu=1@\nspeech@gres/gpu:a=3@\n";
        let demands = demands_in(text, "@").expect("read");
        assert_eq!(demands, BTreeMap::from([("vision".to_string(), 2), ("speech".to_string(), 3)]));
    }
}
