//! The arguments of the commands about tenants, groups, workloads and tokens.

use super::notify::{self, NotifyArgs};
use super::values::{Removable, named, removable, seconds};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use oef_api::parsed::{TenantName, Weight};
use oef_api::types::{JobOrder, Role};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Who shares, with what weight, and who may do what.
#[derive(Debug, Subcommand)]
pub enum TenantsCommand {
    /// List the tenants with their shares, GPUs and balances
    #[command(after_help = "Examples:\n  oef tenants\n  oef tenants --watch")]
    Tenants(WatchArgs),
    /// Create, change, suspend, resume, remove or show a tenant
    #[command(subcommand, after_help = TENANT_EXAMPLES)]
    Tenant(TenantCommand),
    /// List the groups of tenants
    #[command(after_help = "Example:\n  oef groups")]
    Groups(FormArgs),
    /// Set up or remove a group of tenants
    #[command(subcommand, after_help = GROUP_EXAMPLES)]
    Group(GroupCommand),
    /// List the workloads with their profiles
    #[command(after_help = "Examples:\n  oef workloads\n  oef workloads --tenant vision-lab")]
    Workloads(WorkloadsArgs),
    /// Set up a workload
    #[command(subcommand, after_help = WORKLOAD_EXAMPLES)]
    Workload(WorkloadCommand),
    /// Measure how fast a workload runs on each gpu type, by running a job of it for a few batches; or show what is known
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(Box<ProfileArgs>),
    /// Create, list or revoke tokens
    #[command(subcommand, after_help = TOKEN_EXAMPLES)]
    Token(TokenCommand),
    /// Send a request or run a command when jobs change their state
    #[command(after_help = notify::EXAMPLES)]
    Notify(NotifyArgs),
}

const TENANT_EXAMPLES: &str = "\
Examples:
  oef tenant create vision-lab --weight 2 --group research --max-gpus 16
  oef tenant set vision-lab --weight 3 --max-jobs none
  oef tenant set vision-lab --guarantee a100=4,v100=2 --limit a100=8
  oef tenant suspend vision-lab
  oef tenant remove vision-lab";

const GROUP_EXAMPLES: &str = "\
Examples:
  oef group set research --weight 3
  oef group set vision --parent research
  oef group set vision --guarantee a100=8 --limit h100=4
  oef group remove vision";

const WORKLOAD_EXAMPLES: &str = "\
Examples:
  oef workload set vision-lab/vgg16 --throughput rtx3070=1,rtx3080=1.2,rtx3090=1.39
  oef workload set nlp/bert --throughput k80=1,a100=10 --gang 8:a100=9.2,k80=0.8
  oef workload set vision-lab/vgg16 --weight 2";

const PROFILE_EXAMPLES: &str = "\
Examples:
  oef profile job.toml
  oef profile job.toml --types rtx3070,rtx3090 --workers 1,2,4
  oef profile job.toml --again --limit 5m
  oef profile show vision-lab/vgg16

Profile runs are jobs of the tenant: they wait for their turn, count in its share, and
`oef jobs` lists them. They never touch the checkpoints of the job.";

const TOKEN_EXAMPLES: &str = "\
Examples:
  oef token create --role tenant --tenant vision-lab --note 'for Ada' --expires 90d
  OEF_TOKEN=$(oef token create --role viewer) oef jobs
  oef token revoke 3";

/// Only the form of the result.
#[derive(Debug, Args)]
pub struct FormArgs {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// The form of the result, and whether to stay.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Keep running and update whenever something happens
    #[arg(long, short, conflicts_with = "json")]
    pub watch: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef tenant ...`
#[derive(Debug, Subcommand)]
pub enum TenantCommand {
    /// Create a tenant
    Create(TenantSetArgs),
    /// Change its weight, group, guarantees or limits
    Set(TenantSetArgs),
    /// Let its jobs stop and wait
    Suspend(TenantArgs),
    /// Let its jobs run again
    Resume(TenantArgs),
    /// Remove it, and cancel its jobs
    Remove(TenantArgs),
    /// Show it
    Show(TenantArgs),
}

/// Which tenant.
#[derive(Debug, Args)]
pub struct TenantArgs {
    /// The tenant's name
    pub name: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// What to set.
#[derive(Debug, Args)]
pub struct TenantSetArgs {
    /// The tenant's name
    pub name: String,
    /// What it is entitled to, relative to the others
    #[arg(long, value_name = "W")]
    pub weight: Option<Weight>,
    /// The group that it belongs to; `none` takes it out
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// GPUs at once, at most; `none` for no limit
    #[arg(long, value_name = "N", value_parser = limit)]
    pub max_gpus: Option<Removable<u32>>,
    /// Jobs that have not ended, at most; `none` for no limit
    #[arg(long, value_name = "N", value_parser = limit)]
    pub max_jobs: Option<Removable<u32>>,
    /// GPUs by gpu type that it gets before anybody's share, while it can use them; `none` for no guarantee
    #[arg(long, value_name = "TYPE=N,...", value_parser = by_type)]
    pub guarantee: Option<BTreeMap<String, u32>>,
    /// GPUs by gpu type that it may have at most; `none` for no limit by type
    #[arg(long, value_name = "TYPE=N,...", value_parser = by_type)]
    pub limit: Option<BTreeMap<String, u32>>,
    /// The Unix user that its jobs run as; `none` for the daemon's
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// In which order its waiting jobs of equal priority start
    #[arg(long, value_name = "ORDER", value_parser = order())]
    pub order: Option<JobOrder>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// Orders by the names of the interface.
fn order() -> impl TypedValueParser<Value = JobOrder> {
    let known = |name: String| JobOrder::ALL.into_iter().find(|order| order.name() == name);
    PossibleValuesParser::new(JobOrder::ALL.map(JobOrder::name))
        .try_map(move |name| known(name).ok_or("there is no such order"))
}

fn limit(text: &str) -> Result<Removable<u32>, String> {
    removable(text, "none", |text| {
        text.parse().map_err(|_| "write a whole number, or `none`".into())
    })
}

/// GPUs by gpu type.
fn by_type(text: &str) -> Result<BTreeMap<String, u32>, String> {
    let mut map = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|_| text != "none") {
        let wrong =
            || format!("`{entry}` is not TYPE=N; write for instance a100=4,v100=2, or `none`");
        let (name, gpus) = entry.split_once('=').ok_or_else(wrong)?;
        let gpus: u32 = gpus.trim().parse().map_err(|_| wrong())?;
        if name.trim().is_empty() {
            return Err(wrong());
        }
        if map.insert(name.trim().to_string(), gpus).is_some() {
            return Err(format!("`{}` occurs twice", name.trim()));
        }
    }
    Ok(map)
}

/// `oef group ...`
#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    /// Create a group, or change it
    Set(GroupSetArgs),
    /// Remove a group without members
    Remove(GroupArgs),
}

/// Which group.
#[derive(Debug, Args)]
pub struct GroupArgs {
    /// The group's name
    pub name: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// What to set.
#[derive(Debug, Args)]
pub struct GroupSetArgs {
    /// The group's name
    pub name: String,
    /// Its weight, divided among its active members [default: as it was, or 1]
    #[arg(long, value_name = "W")]
    pub weight: Option<Weight>,
    /// The group that it belongs to; `none` takes it out [default: unchanged]
    #[arg(long, value_name = "GROUP")]
    pub parent: Option<String>,
    /// GPUs by gpu type that it, with all tenants in it together, gets before anybody's share, while it can use them; `none` for no guarantee
    #[arg(long, value_name = "TYPE=N,...", value_parser = by_type)]
    pub guarantee: Option<BTreeMap<String, u32>>,
    /// GPUs by gpu type that it, with all tenants in it together, may have at most; `none` for no limit by type
    #[arg(long, value_name = "TYPE=N,...", value_parser = by_type)]
    pub limit: Option<BTreeMap<String, u32>>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef workloads`
#[derive(Debug, Args)]
pub struct WorkloadsArgs {
    /// Only of this tenant
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `oef workload ...`
#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// Create a workload, or change it
    Set(WorkloadSetArgs),
}

/// What to set.
#[derive(Debug, Args)]
pub struct WorkloadSetArgs {
    /// The workload
    #[arg(value_name = "TENANT/NAME", value_parser = workload)]
    pub workload: WorkloadPath,
    /// How fast it runs on each gpu type, in any unit; a type that is left out: it cannot run there
    #[arg(long, value_name = "TYPE=X,...", value_delimiter = ',', value_parser = speed)]
    pub throughput: Vec<(String, f64)>,
    /// What is known of gangs, per GPU and in the unit of the throughput: `8:a100=9.2` for 8 workers on one host,
    /// `8:spread:a100=3.1` for 8 over several; may be given several times
    #[arg(long, value_name = "WORKERS[:spread]:TYPE=X,...", value_parser = gang, requires = "throughput")]
    pub gang: Vec<GangSpeeds>,
    /// Its part in the tenant's weight, relative to the tenant's other workloads
    #[arg(long, value_name = "W")]
    pub weight: Option<Weight>,
    /// The throughput was measured, not only declared (for admins)
    #[arg(long, requires = "throughput")]
    pub measured: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef profile ...`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ProfileArgs {
    /// What is to be done with what is known.
    #[command(subcommand)]
    pub command: Option<ProfileCommand>,
    /// What is to be measured.
    #[command(flatten)]
    pub run: ProfileRunArgs,
}

/// What is to be measured.
#[derive(Debug, Args)]
pub struct ProfileRunArgs {
    /// A typical job of its workload: a file as for `oef submit --file`
    #[arg(value_name = "JOBFILE", required = true)]
    pub file: Option<PathBuf>,
    /// Who owns it; goes before the file
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<TenantName>,
    /// Create the tenant with weight 1 if it does not exist; with an admin's token
    #[arg(long)]
    pub create_tenant: bool,
    /// On these gpu types, or on `all`
    #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "all")]
    pub types: Vec<String>,
    /// With these numbers of workers: more than 1 measures how gangs scale [default: 1 and the workers of the job]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Vec<u32>,
    /// Batches of which the median counts [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1000))]
    pub batches: Option<u32>,
    /// Batches before, which do not count [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warmup: Option<u32>,
    /// Measure for at least this long [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub least: Option<f64>,
    /// Measure it within this time, once it runs [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub limit: Option<f64>,
    /// Measure also what was measured lately
    #[arg(long)]
    pub again: bool,
    /// What was measured within this time is not measured again [default: 30d]
    #[arg(long, value_name = "TIME", value_parser = seconds, conflicts_with = "again")]
    pub fresh: Option<f64>,
    /// Do not wait for the results
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// What can be done with a profile.
#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Show a profile with its provenance and history
    Show(ProfileShowArgs),
}

/// Which profile.
#[derive(Debug, Args)]
pub struct ProfileShowArgs {
    /// The workload
    #[arg(value_name = "TENANT/WORKLOAD", value_parser = workload)]
    pub workload: WorkloadPath,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// A workload of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadPath {
    /// The tenant.
    pub tenant: String,
    /// The workload.
    pub name: String,
}

fn workload(text: &str) -> Result<WorkloadPath, String> {
    match text.split_once('/') {
        Some((tenant, name)) if !tenant.is_empty() && !name.is_empty() => {
            Ok(WorkloadPath { tenant: tenant.into(), name: name.into() })
        }
        _ => Err("write TENANT/WORKLOAD, such as vision-lab/vgg16".into()),
    }
}

fn speed(text: &str) -> Result<(String, f64), String> {
    let wrong = || {
        "write gpu types with throughputs of 0 or more, such as rtx3070=1,rtx3090=1.4".to_string()
    };
    let (gpu, value) = text.rsplit_once('=').ok_or_else(wrong)?;
    match value.trim().parse::<f64>() {
        Ok(x) if x.is_finite() && x >= 0.0 && !gpu.trim().is_empty() => Ok((gpu.trim().into(), x)),
        _ => Err(wrong()),
    }
}

/// What is known of gangs of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct GangSpeeds {
    /// Workers of the gang.
    pub workers: u32,
    /// Over several hosts, and not on one.
    pub spread: bool,
    /// Throughput per GPU, by gpu type.
    pub speeds: Vec<(String, f64)>,
}

fn gang(text: &str) -> Result<GangSpeeds, String> {
    let wrong = || {
        "write the workers, `spread` where they stood on several hosts, and gpu types with the throughput of each GPU: \
         8:a100=9.2,k80=1.1 or 8:spread:a100=3.1"
            .to_string()
    };
    let (workers, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (spread, rest) = match rest.split_once(':') {
        Some(("spread", rest)) => (true, rest),
        _ => (false, rest),
    };
    let workers = workers.trim().parse().ok().filter(|n| *n >= 2).ok_or_else(wrong)?;
    let speeds = rest.split(',').map(speed).collect::<Result<_, _>>().map_err(|_| wrong())?;
    Ok(GangSpeeds { workers, spread, speeds })
}

/// `oef token ...`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token; its secret is printed only this once
    Create(TokenCreateArgs),
    /// List the tokens, without their secrets
    List(FormArgs),
    /// Make a token void
    Revoke(TokenRevokeArgs),
}

/// `oef token create`
#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// What its holder may do
    #[arg(long, value_enum)]
    pub role: RoleName,
    /// For which tenant
    #[arg(long, short, value_name = "TENANT", required_if_eq("role", "tenant"))]
    pub tenant: Option<String>,
    /// Whose it is, what it is for
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Valid for this long (`90d`) [default: without end]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub expires: Option<f64>,
    /// Print one JSON document instead of the secret
    #[arg(long)]
    pub json: bool,
}

/// `oef token revoke`
#[derive(Debug, Args)]
pub struct TokenRevokeArgs {
    /// The token's number
    pub id: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

named! {
    /// Roles by name.
    RoleName for Role {
        /// Everything
        Admin,
        /// Run the cluster: jobs of all (not their logs), nodes, tenants; no tokens and settings
        Operator,
        /// One tenant's jobs, workloads and logs
        Tenant,
        /// Look at everything but logs, commands and environments
        Viewer,
    }
}
