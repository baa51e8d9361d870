//! The arguments of `oef simulate`.

use super::values::{mechanism, named, positive, seconds};
use clap::{Args, ValueHint};
use oef_api::limits::USAGE_BOUND;
use oef_core::Mechanism;
use oef_sched::guard::Policy;
use oef_sched::{GangRule, Order, PlacementRule, RoundingRule};
use std::path::PathBuf;

/// Shown below `oef simulate --help`.
pub const EXAMPLES: &str = "\
Examples:
  oef simulate                                             24 GPUs, 8 tenants, half a day
  oef simulate --report out.html                           the same as a report to look at
  oef simulate --cluster c.toml --profiles p.csv --trace t.csv --mechanism cooperative,gavel
  oef simulate --trace last-month.txt --cluster c.toml     what `sacct -P` printed (see the book)
  oef simulate --load 1.5 --failures 7d,2h --seed 3        more work, and nodes that fail
  oef simulate --lie t3=rtx3090:1.5                        one tenant overstates its gain

Without a cluster, profiles or a trace, those of the demonstration or fitting ones are used,
and a note says so. Files are recognised: traces as CSV, Gavel's lines or `sacct -P` output;
profiles as CSV or Gavel's JSON; clusters as TOML, JSON or a list of nodes in CSV.";

/// `oef simulate`
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub input: SimulateInput,
    /// How to share, one run each [default:
    /// nash,cooperative,noncooperative,gavel,gandiva-fair,max-min]
    #[arg(long, short, value_delimiter = ',', value_name = "NAME,...", value_parser = mechanism())]
    pub mechanism: Vec<Mechanism>,
    /// The length of a round
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = above_zero)]
    pub round: f64,
    /// Seed of everything that is random; the same seed gives the same bytes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub scheduler: SchedulerArgs,
    #[command(flatten)]
    pub world: WorldArgs,
    /// Write a report: one HTML file that needs nothing else
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Write results, tenants, jobs, rounds and who ran where as CSV files into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub csv: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// What is simulated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct SimulateInput {
    /// The machines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cluster: Option<PathBuf>,
    /// How fast each model runs on each gpu type
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub profiles: Option<PathBuf>,
    /// Who submitted which jobs, and when
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Make the jobs longer or shorter, so that they offer this part of the cluster's GPU time
    #[arg(long, value_name = "X", value_parser = positive)]
    pub load: Option<f64>,
    /// Leave out bad rows, and say how many
    #[arg(long)]
    pub skip_bad_rows: bool,
    /// The column of the trace with the work [default: duration_s, else total_steps]
    #[arg(long, value_name = "NAME")]
    pub duration_column: Option<String>,
    /// The column of the trace that names the tenant [default: tenant; of accounting data: the account]
    #[arg(long, value_name = "NAME")]
    pub tenant_column: Option<String>,
    /// Assign the jobs of a trace without tenants to this many [default: each job is a tenant]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub tenants: Option<u32>,
}

/// How the scheduler works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scheduler")]
pub struct SchedulerArgs {
    /// How shares become whole GPUs
    #[arg(long, value_enum, default_value = "deficit")]
    pub rounding: RoundingName,
    /// How jobs find their GPUs
    #[arg(long, value_enum, default_value = "room")]
    pub placement: PlacementName,
    /// What shares know of gangs
    #[arg(long, value_enum, default_value = "rows")]
    pub gangs: GangsName,
    /// In which order the waiting jobs of a tenant start: who waited longest, the oldest, the shortest
    #[arg(long, value_name = "ORDER", default_value = "fair", value_parser = str::parse::<Order>)]
    pub order: Order,
    /// How long a job that was started runs at least [default: one round]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub min_run: Option<f64>,
    /// What stopping a job and starting it again costs [default: 14s, as measured]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub restart_cost: Option<f64>,
    /// The part of the GPU time that restarts may cost: the smaller, the longer a job runs once it was started; 0: turns
    /// do not depend on it [default: 0.03]
    #[arg(long, value_name = "PART", value_parser = part)]
    pub restart_part: Option<f64>,
    /// Past usage counts: what lies back by so long counts half [default: it does not count]
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    pub half_life: Option<f64>,
    /// What a weight is multiplied or divided by at most because of past usage
    /// [default: 2]
    #[arg(long, value_name = "X", value_parser = bound, requires = "half_life")]
    pub usage_bound: Option<f64>,
    /// The gpu type in which throughput is counted [default: the slowest for most jobs]
    #[arg(long, value_name = "TYPE")]
    pub reference: Option<String>,
}

/// What goes wrong.
#[derive(Debug, Args)]
#[command(next_help_heading = "World")]
pub struct WorldArgs {
    /// The scheduler gets profiles that are off by up to this part (0.1: 10 %) in either direction
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part)]
    pub profile_error: f64,
    /// A tenant that reports its throughput on these types multiplied by a factor
    #[arg(long, value_name = "TENANT=TYPE:FACTOR,...")]
    pub lie: Vec<String>,
    /// What is done about profiles that are not what jobs show
    #[arg(long, value_enum, default_value = "off")]
    pub guard: GuardName,
    /// Nodes fail: mean time between two failures of a node, and until it is back (`7d,2h`)
    #[arg(long, value_name = "MTBF,MTTR", value_parser = failures)]
    pub failures: Option<(f64, f64)>,
    /// End at this time of the trace [default: when all jobs have ended]
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    pub until: Option<f64>,
}

named! {
    /// Rounding by name.
    RoundingName for RoundingRule {
        /// By deficits: never more GPUs than there are, and none idle that a job could use
        Deficit,
        /// The paper's plain rule, for comparison
        Paper,
    }
}

named! {
    /// What is done about profiles that are not what jobs show, by name.
    GuardName for Policy {
        /// Nothing: everybody is believed
        Off,
        /// Whoever is found is named
        Report,
        /// Use what was observed instead of what was declared
        Replace,
    }
}

named! {
    /// What shares know of gangs, by name.
    GangsName for GangRule {
        /// How fast gangs of each size are on each type, on as few hosts as possible
        Rows,
        /// Nothing: every worker counts as if it were alone; for comparison
        Blind,
    }
}

named! {
    /// Placement by name.
    PlacementName for PlacementRule {
        /// Gangs on as few hosts as they need: small jobs make room, and gangs wait for it if that pays
        Room,
        /// Large gangs first, on one host if they fit; no job makes room; for comparison
        Packed,
        /// The first free GPUs, whatever the host; for comparison
        FirstFree,
    }
}

/// A time of at least a millisecond, the unit of the scheduler's clock.
fn above_zero(text: &str) -> Result<f64, String> {
    match seconds(text) {
        Ok(s) if s < 0.001 => Err("a time above 0 is needed".into()),
        other => other,
    }
}

/// A bound of what past usage does to a weight.
fn bound(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if USAGE_BOUND.contains(&x) => Ok(x),
        _ => Err("a number from 1 to 16 is needed".into()),
    }
}

fn part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.0..1.0).contains(&x) => Ok(x),
        _ => Err("a part from 0 to below 1 is needed, such as 0.1 for 10 %".into()),
    }
}

fn failures(text: &str) -> Result<(f64, f64), String> {
    let both = text.split_once(',').map(|(a, b)| (above_zero(a.trim()), above_zero(b.trim())));
    match both {
        Some((Ok(between), Ok(repair))) => Ok((between, repair)),
        _ => Err("write two times, such as 7d,2h".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_two_times() {
        assert_eq!(failures("7d, 2h"), Ok((604_800.0, 7_200.0)));
        for wrong in ["7d", "7d,", "0,1h", "a,b", "1h,2h,3h"] {
            assert!(failures(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_error_is_a_part_of_one() {
        assert_eq!(part("0.1"), Ok(0.1));
        for wrong in ["1", "-0.1", "nan", "10 %"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
