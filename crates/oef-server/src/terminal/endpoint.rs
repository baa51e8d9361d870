//! How a job reaches the daemon, and the secret by which it is known there.

use crate::config::{Config, is_loopback};
use crate::notify::hmac;
use crate::secret::{self, hexadecimal, same};
use crate::slurm::ExecutorKind;
use crate::up;
use oef_api::types::ApiError;
use oef_sched::{Generation, JobId};
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// How the secret of a job begins: it is no token.
const PREFIX: &str = "oefjob_";

/// The file of the key in the state folder. Secrets of running jobs are the same after a restart.
const KEY_FILE: &str = "terminal.key";

/// How jobs reach the daemon.
#[derive(Clone, PartialEq, Eq)]
pub struct TerminalEndpoint {
    /// The address.
    pub server: String,
    /// The authority that signed its certificate, in PEM.
    pub ca: Option<String>,
    /// From which the secrets of jobs are made.
    key: String,
}

impl fmt::Debug for TerminalEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalEndpoint").field("server", &self.server).finish_non_exhaustive()
    }
}

impl TerminalEndpoint {
    /// With the key of this state folder, which is made if there is none.
    pub fn open(state: &Path, server: String, ca: Option<&Path>) -> io::Result<TerminalEndpoint> {
        let ca = ca.map(fs::read_to_string).transpose()?;
        Ok(TerminalEndpoint { server, ca, key: key_in(&state.join(KEY_FILE))? })
    }

    /// The secret of one run of a job, or of a shell beside it.
    pub fn secret(&self, job: JobId, run: Generation, shell: Option<u64>) -> String {
        let text = format!("terminal {job} {run} {}", shell.unwrap_or(0));
        format!("{PREFIX}{}", hexadecimal(&hmac(self.key.as_bytes(), &[text.as_bytes()])))
    }

    /// The terminal of one run of a job, or of a shell beside it, for the executor.
    pub(crate) fn terminal(
        &self,
        job: JobId,
        run: Generation,
        shell: Option<u64>,
        pty: bool,
    ) -> oef_executor::Terminal {
        let (server, ca) = (self.server.clone(), self.ca.clone());
        oef_executor::Terminal { pty, server, ca, token: self.secret(job, run, shell), shell }
    }

    /// Whether that is the secret of this run or shell.
    pub fn is_secret(&self, given: &str, job: JobId, run: Generation, shell: Option<u64>) -> bool {
        same(given, &self.secret(job, run, shell))
    }
}

/// A secret for whoever submits a job in a terminal, and its hash.
pub fn new_key() -> Result<(String, String), ApiError> {
    secret::new().map(|secret| (secret.text, secret.hash))
}

fn key_in(path: &Path) -> io::Result<String> {
    let is_key = |key: &str| key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Ok(known) = fs::read_to_string(path)
        && is_key(known.trim())
    {
        return Ok(known.trim().to_string());
    }
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let key = hexadecimal(&bytes);
    let draft = path.with_extension("key.new");
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(key.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    Ok(key)
}

/// Where jobs reach the daemon that listens there; none: it is told to listen on this machine alone, and jobs run on others.
pub(crate) fn address_for_jobs(config: &Config, listens: SocketAddr) -> Option<String> {
    if let Some(address) = &config.jobs.address {
        return Some(address.trim_end_matches('/').to_string());
    }
    let is_elsewhere = config.executor.kind == ExecutorKind::Slurm;
    match (&config.socket.path, is_elsewhere) {
        // Whatever its certificate says, a job on this machine gets through.
        (Some(socket), false) => Some(format!("unix://{}", socket.display())),
        (None, false) => Some(up::url(listens, config.has_tls())),
        (_, true) if is_loopback(listens.ip()) => None,
        (_, true) if listens.ip().is_unspecified() => {
            let scheme = if config.has_tls() { "https" } else { "http" };
            let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
            Some(format!("{scheme}://{name}:{}", listens.port()))
        }
        (_, true) => Some(up::url(listens, config.has_tls())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_of_one_run_and_the_same_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || TerminalEndpoint::open(folder.path(), "x".into(), None).expect("opened");
        let (one, again) = (open(), open());
        let secret = one.secret(JobId(7), Generation(2), None);
        let is_of = |access: &TerminalEndpoint, job, run, shell| {
            access.is_secret(&secret, JobId(job), Generation(run), shell)
        };
        assert!(is_of(&again, 7, 2, None));
        assert!(!is_of(&again, 7, 3, None) && !is_of(&again, 72, 2, None));
        assert!(!is_of(&again, 7, 2, Some(5)));
        let other = tempfile::tempdir().expect("a folder");
        let other = TerminalEndpoint::open(other.path(), "x".into(), None).expect("opened");
        assert!(!is_of(&other, 7, 2, None));
        assert!(!format!("{one:?}").contains(&one.key));
    }

    #[test]
    fn jobs_elsewhere_need_an_address_that_they_can_reach() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let mut config = Config::default();
        let local = address_for_jobs(&config, at("0.0.0.0:7733"));
        assert_eq!(local.as_deref(), Some("http://127.0.0.1:7733"));
        config.executor.kind = ExecutorKind::Slurm;
        assert_eq!(address_for_jobs(&config, at("127.0.0.1:7733")), None);
        let seen = address_for_jobs(&config, at("10.0.0.5:7733"));
        assert_eq!(seen.as_deref(), Some("http://10.0.0.5:7733"));
        config.jobs.address = Some("https://login:7733/".into());
        let set = address_for_jobs(&config, at("127.0.0.1:7733"));
        assert_eq!(set.as_deref(), Some("https://login:7733"));
    }
}
