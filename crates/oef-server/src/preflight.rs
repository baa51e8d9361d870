//! What a start refuses although the file is well-formed: all of it, with the settings that are to blame. Nothing is
//! changed, so that `oef config check` can ask beside a running daemon.

use crate::config::{Config, is_open};
use crate::daemon::StartError;
use crate::http::tls_config;
use crate::run_error::RunError;
use crate::serve::Talk;
use crate::slurm::ExecutorKind;
use crate::up::{self, Mode};
use oef_executor::Device;
use oef_executor::checkpoints::check_tools;
use std::path::PathBuf;
use std::sync::Arc;

/// What was found out on the way.
pub(crate) struct Ready {
    pub state_dir: PathBuf,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// The GPUs of this machine; none where Slurm has them.
    pub devices: Vec<Device>,
}

/// A setting with which a daemon does not start.
#[derive(Debug)]
pub struct Refused {
    /// Its key in the file.
    pub key: &'static str,
    /// Why, and the way out.
    pub why: RunError,
}

/// Everything with which `oef serve` would not start.
pub fn refusals(config: &Config, file: PathBuf) -> Vec<Refused> {
    let silent: Talk = Arc::new(|_: &str| {});
    check(config, &Mode::Serve { file }, &silent).err().unwrap_or_default()
}

/// Looks at everything, and gives what a start needs or all that is wrong.
pub(crate) fn check(config: &Config, mode: &Mode, talk: &Talk) -> Result<Ready, Vec<Refused>> {
    let mut refused = Vec::new();
    if is_open(config) {
        refused.push(Refused { key: "listen", why: RunError::Open(config.listen) });
    }
    let mut note = |key: &'static str, why: RunError| refused.push(Refused { key, why });
    let state_dir = up::state_dir(config).map_err(|why| note("state_dir", why)).ok();
    let tls = match (&config.tls.certificate, &config.tls.key) {
        (Some(certificate), Some(key)) => {
            tls_config(certificate, key).map_err(|why| note("tls", why.into())).ok()
        }
        _ => None,
    };
    if let Err(why) = check_tools(&config.checkpoints) {
        note("checkpoints.place", why.into());
    }
    let devices = match config.executor.kind {
        ExecutorKind::Slurm => Some(Vec::new()),
        ExecutorKind::Local => {
            up::devices(config, mode, talk).map_err(|why| note("gpus", why)).ok()
        }
    };
    if let (ExecutorKind::Local, Some(devices)) = (config.executor.kind, &devices)
        && let Some(wrong) = config.scheduling.reference.as_ref()
        && !wrong.is_empty()
        && !devices.iter().any(|device| device.gpu_type == *wrong)
    {
        let why = format!("the reference type `{wrong}` is not a gpu type of this cluster");
        note("scheduling.reference", StartError::Setting(why).into());
    }
    match (state_dir, devices) {
        (Some(state_dir), Some(devices)) if refused.is_empty() => {
            Ok(Ready { state_dir, tls, devices })
        }
        _ => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_type_that_the_machine_does_not_have_is_refused() {
        let keys = |reference: &str| {
            let gpus = "[gpus]\nemulated = \"slow=1,fast=1\"\n";
            let text =
                format!("state_dir = \"/tmp\"\n{gpus}[scheduling]\nreference = \"{reference}\"\n");
            let config = Config::check(&text).expect("well-formed");
            let refused = refusals(&config, "oef.toml".into());
            refused.iter().map(|refused| refused.key).collect::<Vec<_>>()
        };
        assert_eq!(keys("fats"), ["scheduling.reference"]);
        assert!(keys("fast").is_empty() && keys("").is_empty());
    }
}
