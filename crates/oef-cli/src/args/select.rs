//! Which jobs a command is about, and what is changed about one.

use super::values::{Removable, instant, removable, seconds};
use clap::Args;
use jiff::Timestamp;
use oef_api::memory::gibibytes;

/// Jobs by number, or by what they have in common.
#[derive(Debug, Args)]
pub struct SelectArgs {
    /// The jobs' numbers
    #[arg(
        value_name = "ID",
        required_unless_present_any = ["all", "label", "sweep", "mine"],
        conflicts_with_all = ["all", "tenant", "label", "sweep", "mine"]
    )]
    pub ids: Vec<u64>,
    /// All jobs of a tenant that have not ended
    #[arg(long)]
    pub all: bool,
    /// All jobs of your own tenant that have not ended
    #[arg(long, conflicts_with_all = ["all", "tenant"])]
    pub mine: bool,
    /// Jobs with this label
    #[arg(long, short, value_name = "KEY[=VALUE]")]
    pub label: Option<String>,
    /// Jobs of this sweep, by the number of its first job
    #[arg(long, value_name = "ID")]
    pub sweep: Option<u64>,
    /// Jobs of this tenant; not needed with a tenant's token
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// Print one JSON document instead of sentences
    #[arg(long)]
    pub json: bool,
}

/// `oef edit`
#[derive(Debug, Args)]
pub struct EditArgs {
    /// The job's number
    #[arg(value_name = "ID")]
    pub id: u64,
    /// Jobs of a higher priority go first within their tenant
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// The gpu types that it may use; `any`: all that its workload runs on
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Use only GPUs with this much memory at least (`20G`); `none`: any
    #[arg(long, value_name = "SIZE", value_parser = memory, allow_hyphen_values = true)]
    pub gpu_memory: Option<Removable<f64>>,
    /// Take the GPUs of your tenant's running jobs of a lower priority at once, not when the next round begins
    #[arg(long)]
    pub now: bool,
    /// A name for people
    #[arg(long, short, value_name = "NAME")]
    pub name: Option<String>,
    /// A label to set; `KEY=` removes it
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub label: Vec<String>,
    /// End it for good after this much running time (`2h`); `none`: no limit
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub max_run: Option<Removable<f64>>,
    /// Start it at this time or later (`30m`, `18:30`, `2026-12-24 08:00`); `now`: at any time
    #[arg(long, value_name = "TIME", value_parser = start)]
    pub at: Option<Removable<Timestamp>>,
    /// What it waits for, instead of what it waited for before
    #[command(flatten)]
    pub after: AfterArgs,
    /// Let it wait for no other job
    #[arg(long, conflicts_with_all = ["after", "after_any", "after_failed"])]
    pub after_none: bool,
    /// Print one JSON document instead of a sentence
    #[arg(long)]
    pub json: bool,
}

/// Jobs that have to end before another starts.
#[derive(Clone, Debug, Default, Args)]
pub struct AfterArgs {
    /// Start it after these jobs have finished; it is cancelled if one of them does not
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub after: Vec<u64>,
    /// Start it after these jobs have ended in any way
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub after_any: Vec<u64>,
    /// Start it after these jobs have failed or timed out; it is cancelled if one of them does not
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub after_failed: Vec<u64>,
}

/// `oef resubmit`
#[derive(Debug, Args)]
pub struct ResubmitArgs {
    /// The jobs' numbers
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<u64>,
    /// Print one JSON document instead of the numbers
    #[arg(long)]
    pub json: bool,
}

fn limit(text: &str) -> Result<Removable<f64>, String> {
    removable(text, "none", seconds)
}

fn memory(text: &str) -> Result<Removable<f64>, String> {
    removable(text, "none", gibibytes)
}

fn start(text: &str) -> Result<Removable<Timestamp>, String> {
    removable(text, "now", instant)
}
