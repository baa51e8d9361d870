//! Launches that cannot be carried out are refused before anything is written.

use crate::checkpoints::Source;
use crate::error::ExecutorError;
use crate::launch::Launch;

/// A gang on one machine; more is a mistake.
const MAX_WORKERS: usize = 1024;

/// Refuses what no system could start.
pub(super) fn check(launch: &Launch) -> Result<(), ExecutorError> {
    match problem(launch) {
        Some(why) => Err(ExecutorError::BadLaunch { job: launch.job, why }),
        None => Ok(()),
    }
}

fn problem(launch: &Launch) -> Option<String> {
    if launch.command.first().is_none_or(String::is_empty) {
        return Some("it has no command".to_string());
    }
    if launch.devices.is_empty() {
        return Some("it has no GPU".to_string());
    }
    if launch.devices.len() > MAX_WORKERS {
        let count = launch.devices.len();
        return Some(format!("{count} workers are more than the {MAX_WORKERS} of one machine"));
    }
    for (what, path) in [("workdir", &launch.workdir), ("checkpoint dir", &launch.checkpoint_dir)] {
        if !path.is_absolute() {
            return Some(format!("its {what} `{}` is not an absolute path", path.display()));
        }
    }
    if let Some(argument) = launch.command.iter().find(|argument| argument.contains('\0')) {
        return Some(format!("{argument:?} of its command has a zero byte in it"));
    }
    for (name, value) in &launch.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Some(format!("{name:?} cannot be the name of a variable"));
        }
        if value.contains('\0') {
            return Some(format!("its variable `{name}` has a zero byte in it"));
        }
    }
    if let Some(why) = launch.fetch.as_ref().and_then(|fetch| source_problem(&fetch.source)) {
        return Some(why);
    }
    let texts = [&launch.name, &launch.tenant, &launch.workload];
    let gpus = launch.devices.iter().flat_map(|device| [&device.host, &device.gpu_type]);
    if texts.into_iter().chain(gpus).any(|text| text.contains('\0')) {
        return Some("one of its names has a zero byte in it".to_string());
    }
    None
}

/// What rsync or ssh would take for something else.
fn source_problem(source: &Source) -> Option<String> {
    match source {
        Source::Folder { path } if !path.is_absolute() => {
            Some(format!("its checkpoint's folder `{}` is not an absolute path", path.display()))
        }
        Source::Ssh { path, .. } if !path.is_absolute() => {
            Some(format!("its checkpoint's folder `{}` is not an absolute path", path.display()))
        }
        Source::Ssh { destination, .. } if !is_destination(destination) => {
            Some(format!("`{destination}` is no host that ssh could reach"))
        }
        Source::Daemon { url, .. } if !url.starts_with("rsync://") => {
            Some(format!("`{url}` does not begin with rsync://"))
        }
        _ => None,
    }
}

fn is_destination(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\'' | '"');
    !text.is_empty() && !text.starts_with('-') && !text.contains(is_odd)
}
