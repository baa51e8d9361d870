//! Logs go to stderr: lines for people, or JSON for programs.

use crate::config::{Log, LogFormat};
use crate::serve::Talk;
use std::io::IsTerminal as _;
use std::sync::Arc;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Begins to log. A second start in one process, as in tests, goes on with the first one's settings.
pub(crate) fn start(log: &Log) {
    let info = Targets::new().with_default(LevelFilter::INFO);
    let filter = log.level.parse().unwrap_or(info);
    let to_stderr = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let _ = match log.format {
        LogFormat::Text => to_stderr.with_target(false).finish().with(filter).try_init(),
        LogFormat::Json => to_stderr.json().flatten_event(true).finish().with(filter).try_init(),
    };
}

/// Where sentences for people go: on their own, or into the log where programs read all that comes.
pub(crate) fn talk(log: &Log, people: Talk) -> Talk {
    match log.format {
        LogFormat::Text => people,
        LogFormat::Json => Arc::new(|text| text.lines().for_each(|line| tracing::info!("{line}"))),
    }
}
