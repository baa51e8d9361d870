//! What a start decides before the daemon works: folders, GPUs, first settings, and what people are told.

use crate::config::{Config, Length, StopPolicy};
use crate::daemon::Daemon;
use crate::run_error::RunError;
use crate::serve::{Talk, running};
use oef_api::client::{access_file, named_access_file};
use oef_api::types::{Access, SettingsPatch};
use oef_executor::{Device, DeviceKind, gpus};
use oef_sched::Span;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `oef up` has where there is no GPU: three generations, as in the examples.
pub const EMULATED_BY_DEFAULT: &str = "rtx3070=8,rtx3080=8,rtx3090=8";

/// The round of a demonstration: often enough to watch.
const DEMO_ROUND: Duration = Duration::from_secs(5);

/// How long another daemon has to answer that it is there.
const ANSWER_LIMIT: Duration = Duration::from_millis(300);

/// How the daemon was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `oef up`: to try it, with emulated GPUs where there are none.
    Up {
        /// With tenants whose jobs come and go.
        demo: bool,
    },
    /// `oef serve`: for operation, with the settings of a file.
    Serve {
        /// The file.
        file: PathBuf,
    },
}

impl Mode {
    /// Whether demonstration jobs are wanted.
    pub fn is_demo(&self) -> bool {
        matches!(self, Mode::Up { demo: true })
    }
}

/// The state folder: the one that is given, or one of the user's own.
pub(crate) fn state_dir(config: &Config) -> Result<PathBuf, RunError> {
    if let Some(dir) = &config.state_dir {
        return std::path::absolute(dir).map_err(RunError::Runtime);
    }
    let file = access_file().ok_or(RunError::NoHomeFolder)?;
    Ok(file.with_file_name("daemon"))
}

/// Where the access file goes: where clients look (`OEF_ACCESS`, or the usual place), unless that is another daemon's that runs, and into the state folder.
pub(crate) fn access_paths(state_dir: &Path, server: &str, talk: &Talk) -> Vec<PathBuf> {
    let own = own_access_file(state_dir);
    let usual = named_access_file().or_else(access_file).filter(|path| *path != own);
    let usual = usual.filter(|path| match other_daemon(path, server) {
        Some(other) => {
            talk(&format!(
                "commands here still talk to the daemon at {other}; for this one: export OEF_ACCESS={}",
                own.display()
            ));
            false
        }
        None => true,
    });
    usual.into_iter().chain([own]).collect()
}

/// The daemon of an access file, if it is another one and somebody listens there.
fn other_daemon(path: &Path, server: &str) -> Option<String> {
    let access: Access = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let (_, address) = access.server.split_once("://")?;
    let address: SocketAddr = address.parse().ok()?;
    let is_other = access.server != server;
    let listens = || std::net::TcpStream::connect_timeout(&address, ANSWER_LIMIT).is_ok();
    (is_other && listens()).then_some(access.server)
}

/// The one in the state folder, which no other daemon writes.
pub(crate) fn own_access_file(state_dir: &Path) -> PathBuf {
    state_dir.join("access.json")
}

/// The GPUs: emulated, slices, or those of the machine.
pub(crate) fn devices(config: &Config, mode: &Mode, talk: &Talk) -> Result<Vec<Device>, RunError> {
    let machine = gpus::machine_name();
    if let Some(spec) = &config.gpus.emulated {
        return Ok(gpus::emulated(spec)?);
    }
    if let Some(spec) = &config.gpus.mps {
        return Ok(gpus::mps(spec, &machine)?);
    }
    let found = gpus::discover(&machine);
    match mode {
        _ if !found.is_empty() => Ok(found),
        Mode::Serve { .. } => Err(RunError::NoGpus),
        Mode::Up { .. } => {
            talk(
                "there is no GPU in this machine: emulated ones are used. Jobs are real processes, but use no GPU",
            );
            Ok(gpus::emulated(EMULATED_BY_DEFAULT)?)
        }
    }
}

/// What the scheduler starts with in a new folder. A minimum run that is longer than the round would keep
/// anything from being seen, so lengths follow the round unless they are given.
pub(crate) fn first_settings(config: &Config, mode: &Mode) -> oef_sched::Settings {
    let mut first = oef_sched::Settings::default();
    if let Some(Length(round)) = round(config, mode) {
        let round = Span::from_seconds(round.as_secs_f64());
        (first.round, first.min_run, first.turn) = (round, round, round.times(4));
    }
    if mode.is_demo() {
        // The demonstration job starts in a moment.
        first.restart_cost = Span::from_seconds(1.0);
    }
    first
}

/// Settings that count from this start on.
pub(crate) fn settings(config: &Config, mode: &Mode) -> SettingsPatch {
    let mut settings = config.settings();
    let seconds = round(config, mode).map(|Length(round)| round.as_secs_f64());
    settings.round_s = seconds;
    if matches!(mode, Mode::Up { .. }) && settings.min_run_s.is_none() {
        settings.min_run_s = seconds;
    }
    settings
}

fn round(config: &Config, mode: &Mode) -> Option<Length> {
    config.scheduling.round.or(mode.is_demo().then_some(Length(DEMO_ROUND)))
}

/// `8 rtx3070, 8 rtx3080 (emulated)`.
pub(crate) fn in_words(devices: &[Device]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for device in devices {
        *counts.entry(&device.gpu_type).or_default() += 1;
    }
    let shown: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let kind = match devices.first().map(|device| &device.kind) {
        Some(DeviceKind::Emulated) => " (emulated)",
        Some(DeviceKind::Mps { .. }) => " (slices of real GPUs)",
        _ => "",
    };
    format!("{}{kind}", shown.join(", "))
}

/// The address as clients write it.
pub(crate) fn url(address: SocketAddr, has_tls: bool) -> String {
    let scheme = if has_tls { "https" } else { "http" };
    // Nobody can call "any address": this machine reaches itself by loopback.
    let host = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => "127.0.0.1".to_string(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => "[::1]".to_string(),
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    format!("{scheme}://{host}:{}", address.port())
}

/// Which daemon answers at an address, as far as the access file tells.
pub(crate) fn who_listens(address: SocketAddr) -> String {
    let access = access_file().and_then(|path| {
        let access: Access = serde_json::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
        (access.server == url(address, false) || access.server == url(address, true))
            .then_some(path)
    });
    match access {
        Some(path) => format!(
            "an OEF daemon listens there ({} is its access file): use it (`oef jobs`), or stop it first",
            path.display()
        ),
        None => "another program listens there".into(),
    }
}

/// Who is separated from whom.
const ONE_DOMAIN: &str = "trust: jobs run as the user of this daemon, so whoever can submit one can do all that this user can; tokens for \
                          tenants are refused (--trust-tenants allows them)\n";
const TRUSTED: &str = "trust: jobs run as the user of this daemon, so every tenant with a token can do all that this user can \
                       (--trust-tenants)\n";

/// What is said when all is ready.
pub(crate) fn welcome(
    server: &str,
    gpus: &str,
    state_dir: &Path,
    access: Option<&Path>,
    mode: &Mode,
    trusts: bool,
    link: Option<&str>,
) -> String {
    let mut text = format!("OEF is up at {server} with {gpus}\nstate: {}\n", state_dir.display());
    if let Some(access) = access {
        text += &format!("access: {}\n", access.display());
    }
    if let (Mode::Up { .. }, Some(path)) = (mode, link) {
        text += &format!(
            "page: {server}{path}\n      (logs one browser in; `oef open` makes another link)\n"
        );
    }
    if let Mode::Up { .. } = mode {
        text += match trusts {
            false => ONE_DOMAIN,
            true => TRUSTED,
        };
    }
    text += match mode {
        Mode::Serve { .. } => "ready",
        Mode::Up { .. } => {
            "in another terminal: `oef submit -- sleep 30`, `oef jobs`, `oef why 1`, `oef top`; Ctrl-C here stops it"
        }
    };
    text
}

/// What is said at the end: what became of the jobs, and how to go on.
pub(crate) fn farewell(
    daemon: &Daemon,
    state_dir: &Path,
    policy: StopPolicy,
    mode: &Mode,
) -> String {
    let jobs = match (running(daemon), policy) {
        (0, _) => "no job runs".to_string(),
        (1, StopPolicy::Leave) => "1 job keeps running".into(),
        (n, StopPolicy::Leave) => format!("{n} jobs keep running"),
        (n, StopPolicy::Checkpoint) => format!("{n} jobs did not stop within their grace time"),
    };
    let again = match mode {
        Mode::Up { .. } => format!("oef up --state {}", state_dir.display()),
        Mode::Serve { file } => format!("oef serve --config {}", file.display()),
    };
    format!("stopped; {jobs}. Nothing is lost: `{again}` continues")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_clients_call_them() {
        let cases = [
            ("127.0.0.1:80", false, "http://127.0.0.1:80"),
            ("0.0.0.0:81", true, "https://127.0.0.1:81"),
            ("[::]:82", false, "http://[::1]:82"),
            ("[::1]:83", true, "https://[::1]:83"),
        ];
        for (address, tls, expected) in cases {
            assert_eq!(url(address.parse().expect("an address"), tls), expected);
        }
    }

    #[test]
    fn lengths_follow_the_round() {
        let up = |demo| Mode::Up { demo };
        let config = Config::check("[scheduling]\nround = \"2s\"\n").expect("right");
        let first = first_settings(&config, &up(false));
        assert_eq!(
            (first.round.seconds(), first.min_run.seconds(), first.turn.seconds()),
            (2.0, 2.0, 8.0)
        );
        let patch = settings(&config, &up(false));
        assert_eq!((patch.round_s, patch.min_run_s), (Some(2.0), Some(2.0)));
        let served = settings(&config, &Mode::Serve { file: "x".into() });
        assert_eq!(
            (served.round_s, served.min_run_s),
            (Some(2.0), None),
            "a file says what it says"
        );
        let plain = Config::default();
        assert_eq!(settings(&plain, &up(false)), SettingsPatch::default());
        assert_eq!(settings(&plain, &up(true)).round_s, Some(5.0));
        let given = Config::check("[scheduling]\nmin_run = \"9s\"\n").expect("right");
        assert_eq!(settings(&given, &up(true)).min_run_s, Some(9.0));
    }

    #[test]
    fn gpus_in_words() {
        let devices = gpus::emulated("a=2,b=1").expect("right");
        assert_eq!(in_words(&devices), "2 a, 1 b (emulated)");
    }

    #[test]
    fn one_persons_daemon_says_that_it_is_one_domain_of_trust() {
        let said = |mode: &Mode, trusts| {
            welcome("http://h", "1 a", Path::new("/s"), None, mode, trusts, None)
        };
        let up = Mode::Up { demo: false };
        assert!(
            said(&up, false)
                .contains("can do all that this user can; tokens for tenants are refused")
        );
        assert!(said(&up, true).contains("every tenant with a token can do all"));
        assert!(!said(&Mode::Serve { file: "x".into() }, false).contains("trust:"));
    }
}
