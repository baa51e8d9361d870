//! The arguments of `oef notify`.

use super::jobs::state;
use clap::{Args, Subcommand};
use oef_api::types::JobState;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  oef notify                                                         list them
  oef notify add --url https://hooks.example.org/oef                 when a job has ended
  oef notify add --url https://hooks.example.org/oef --on failed,timed_out --secret-file secret.txt
  oef notify add --command mail --on failed                          a command of the operator
  oef notify test 1
  oef notify remove 1

Requests are signed with the secret. If the receiver fails, they are sent again for up to
24 hours.";

/// `oef notify`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NotifyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<NotifyCommand>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef notify ...`
#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Add a notification; the secret of a webhook is printed only this once
    Add(NotifyAddArgs),
    /// Remove a notification; notices that wait are dropped
    Remove(NotifyIdArgs),
    /// Send a test notice now, and show the result
    Test(NotifyIdArgs),
}

/// `oef notify add`
#[derive(Debug, Args)]
pub struct NotifyAddArgs {
    /// Send an HTTP request to this address (a webhook)
    #[arg(
        long,
        value_name = "URL",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    pub url: Option<String>,
    /// Run this command of the daemon's configuration
    #[arg(long, value_name = "NAME")]
    pub command: Option<String>,
    /// On these states [default: finished,failed,timed_out,cancelled]
    #[arg(long, value_name = "STATE,...", value_delimiter = ',', value_parser = state())]
    pub on: Vec<JobState>,
    /// Only for jobs of this tenant; not needed with a tenant's token [default: all jobs]
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// Sign requests with the secret in this file (`-`: stdin) [default: a new secret]
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub secret_file: Option<PathBuf>,
    /// Print one JSON document instead of the secret
    #[arg(long)]
    pub json: bool,
}

/// A notification.
#[derive(Debug, Args)]
pub struct NotifyIdArgs {
    /// Its number
    pub id: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}
