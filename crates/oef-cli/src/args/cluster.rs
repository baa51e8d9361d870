//! The arguments of the commands about the cluster, its rounds and its settings.

use super::tenants::WatchArgs;
use super::values::{self, named};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use std::time::Duration;

/// The cluster as a whole.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Show the machines, and who is on which GPU
    #[command(after_help = "Examples:\n  oef cluster\n  oef cluster --watch")]
    Cluster(WatchArgs),
    /// Take a machine out, or bring it back
    #[command(
        subcommand,
        after_help = "Examples:\n  oef node drain rtx3090-1 --reason \"new power supply\"\n  oef node drain rtx3090-1 --let-finish --until 18:00\n  oef node up rtx3090-1"
    )]
    Node(NodeCommand),
    /// Plan ahead: take machines out of the cluster for a time, or list and drop such plans
    #[command(after_help = RESERVE_EXAMPLES)]
    Reserve(ReserveArgs),
    /// Show a round: shares, grants, who is where, and the certificate
    #[command(
        after_help = "Examples:\n  oef round\n  oef round 123\n  oef round --list\n  oef round 123 --problem > round.toml"
    )]
    Round(RoundArgs),
    /// Show who gets its share, and who would prefer another's
    #[command(after_help = "Examples:\n  oef fairness\n  oef fairness --history --watch")]
    Fairness(FairnessArgs),
    /// Show who used how many GPU-hours of what, against its share
    #[command(
        after_help = "Examples:\n  oef usage --since 30d\n  oef usage --since 2026-11-01 --by workload --csv > november.csv\n\nUsage is counted in whole days (UTC). Days older than two months are summed up by month."
    )]
    Usage(UsageArgs),
    /// Show or change the settings of the running daemon
    #[command(after_help = SETTINGS_EXAMPLES)]
    Settings(SettingsArgs),
    /// Show what happens: jobs, rounds, changes
    #[command(after_help = "Examples:\n  oef events --follow\n  oef events --after 1200 --json")]
    Events(EventsArgs),
    /// Open the page in a browser that is then logged in, or print the link
    #[command(after_help = OPEN_EXAMPLES)]
    Open(OpenArgs),
    /// Watch the cluster live in the terminal
    #[command(after_help = TOP_KEYS)]
    Top(TopArgs),
}

const SETTINGS_EXAMPLES: &str = "\
Examples:
  oef settings
  oef settings --set mechanism=nash --set round=60s
  oef settings --set gpu_memory=fast=24G,slow=11G
  oef settings --set usage_half_life=7d

Fields: mechanism, round, reference (empty: derived from the profiles), min_run, grace,
stickiness, gpu_memory (of types whose name does not tell it; empty: of none), guard,
usage_half_life (who used little lately counts more; off), usage_bound (how much at most: 2).";

const TOP_KEYS: &str = "\
Keys: q or Esc quits, arrows choose a job, p pauses, c cancels the chosen job (it asks first).

Example:
  oef top --once        one frame as text, for scripts";

const OPEN_EXAMPLES: &str = "\
Examples:
  oef open
  oef open --print       the link alone, for a browser on another machine

The link logs one browser in as you, once, within 15 minutes.";

/// `oef open`
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Print the link and start no browser
    #[arg(long)]
    pub print: bool,
    /// One JSON document on stdout; starts no browser
    #[arg(long)]
    pub json: bool,
}

/// `oef node ...`
#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    /// Bring a node back
    Up(NodeArgs),
    /// Take a node out; its jobs are preempted and requeued on other nodes
    Down(NodeArgs),
    /// Take a node out, with the reason that everybody sees
    Drain(DrainArgs),
}

/// `oef node drain`
#[derive(Clone, Debug, Args)]
pub struct DrainArgs {
    /// The node's name (see `oef cluster`)
    pub name: String,
    /// Why, for people
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Let running jobs end there; otherwise they are stopped and continue elsewhere
    #[arg(long)]
    pub let_finish: bool,
    /// Bring it back by itself then: `2h` from now, `18:00`, `2026-12-01 08:00`
    #[arg(long, value_name = "TIME", value_parser = values::instant)]
    pub until: Option<Timestamp>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

const RESERVE_EXAMPLES: &str = "\
Examples:
  oef reserve rtx3090-1 rtx3090-2 --from \"2026-12-01 08:00\" --for 4h --reason \"new switch\"
  oef reserve                    what is planned
  oef reserve --drop 3           it will not happen

A job with a time limit starts on these machines only if it ends before it begins; a job
without one starts until the longest turn of the current jobs is left. Jobs that still run
when it begins write a checkpoint and continue elsewhere; with `--let-finish` they may end
first.";

/// `oef reserve`
#[derive(Debug, Args)]
pub struct ReserveArgs {
    /// The machines (see `oef cluster`); none: list what is planned
    #[arg(requires = "from")]
    pub nodes: Vec<String>,
    /// When it begins: `2h` from now, `18:00`, `2026-12-01 08:00`
    #[arg(long, value_name = "TIME", value_parser = values::instant, requires = "nodes")]
    pub from: Option<Timestamp>,
    /// How long it takes [default: until `oef node up`]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration, requires = "nodes")]
    pub length: Option<Duration>,
    /// Why, for people
    #[arg(long, value_name = "TEXT", requires = "nodes")]
    pub reason: Option<String>,
    /// Let jobs that run when it begins end first
    #[arg(long, requires = "nodes")]
    pub let_finish: bool,
    /// Drop the plan of this number
    #[arg(long, value_name = "ID", conflicts_with = "nodes")]
    pub drop: Option<u64>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Which node.
#[derive(Clone, Debug, Args)]
pub struct NodeArgs {
    /// The node's name (see `oef cluster`)
    pub name: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef usage`
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// From then on: `30d` ago, or a day such as 2026-11-01 [default: all that is known]
    #[arg(long, value_name = "TIME", value_parser = values::past)]
    pub since: Option<Timestamp>,
    /// Until that day [default: today]
    #[arg(long, value_name = "TIME", value_parser = values::past)]
    pub until: Option<Timestamp>,
    /// What to sum up
    #[arg(long, value_enum, default_value = "tenant")]
    pub by: UsageBy,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

named! {
    /// By what usage is summed up.
    UsageBy for oef_api::types::UsageBy {
        /// Tenants
        Tenant,
        /// People who submitted, over all their tenants
        User,
        /// Workloads of tenants
        Workload,
        /// Gpu types
        Type,
    }
}

/// `oef round`
#[derive(Debug, Args)]
pub struct RoundArgs {
    /// Its number [default: the current one]
    #[arg(value_name = "N", conflicts_with = "list")]
    pub round: Option<u64>,
    /// List the last rounds, a line each
    #[arg(long)]
    pub list: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, requires = "list", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Write the problem that its shares answer as a problem file, for `oef share`
    #[arg(long, conflicts_with_all = ["list", "watch"])]
    pub problem: bool,
    /// Keep running and update whenever something happens
    #[arg(long, short, conflicts_with_all = ["json", "round"])]
    pub watch: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `oef fairness`
#[derive(Debug, Args)]
pub struct FairnessArgs {
    /// Also how it went over the last rounds
    #[arg(long)]
    pub history: bool,
    /// Keep running and update whenever something happens
    #[arg(long, short, conflicts_with = "json")]
    pub watch: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `oef settings`
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Change a field
    #[arg(long, value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef events`
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Keep running and show new events
    #[arg(long, short)]
    pub follow: bool,
    /// Only events after this number [default: all that are kept; with --follow only new ones]
    #[arg(long, value_name = "N")]
    pub after: Option<u64>,
    /// Print JSON: one list; with --follow one document a line
    #[arg(long)]
    pub json: bool,
}

/// `oef top`
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Print one frame as text and end
    #[arg(long)]
    pub once: bool,
    /// Print what it shows as one JSON document and end
    #[arg(long, conflicts_with = "once")]
    pub json: bool,
}
