//! What of the daemon's own environment reaches jobs.

use std::collections::BTreeMap;

/// Variables that programs need to be found and to speak the user's language. Everything else stays here:
/// the daemon's environment may hold secrets.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
];
/// The same by how they begin.
const ALLOWED_PREFIXES: &[&str] = &["LC_", "CUDA_", "NVIDIA_", "CONDA_", "XDG_"];
/// Not these: each job is told its own.
const REFUSED: &[&str] = &["CUDA_VISIBLE_DEVICES", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"];

/// The part of an environment that jobs get, with what the operator adds.
pub(super) fn for_jobs(
    own: impl Iterator<Item = (String, String)>,
    more: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = own.filter(|(name, _)| is_allowed(name)).collect();
    env.extend(more.clone());
    env
}

/// The part of it that is for jobs of other users as well.
pub(super) fn for_others(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    const OWN: [&str; 8] =
        ["HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"];
    let is_own =
        |name: &str| OWN.contains(&name) || name.starts_with("XDG_") || name.starts_with("CONDA_");
    env.iter().filter(|(name, _)| !is_own(name)).map(|(n, v)| (n.clone(), v.clone())).collect()
}

fn is_allowed(name: &str) -> bool {
    let prefixed = ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    (ALLOWED.contains(&name) || prefixed) && !REFUSED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_here() {
        let own = ["PATH", "OEF_TOKEN", "AWS_SECRET_ACCESS_KEY", "LC_ALL", "CUDA_VISIBLE_DEVICES"];
        let own = own.iter().map(|name| (name.to_string(), "x".to_string()));
        let more = BTreeMap::from([("SITE".to_string(), "y".to_string())]);
        let env = for_jobs(own, &more);
        assert_eq!(env.keys().collect::<Vec<_>>(), ["LC_ALL", "PATH", "SITE"]);
    }
}
