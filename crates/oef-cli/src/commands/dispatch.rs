//! Which command goes where.

use super::client::select::Deed;
use super::client::{
    cluster, edit, events, fairness, groups, job, jobs, logs, node, notify, open, profile, round,
    select, settings, submit, tenants, tokens, top, usage, why, workloads,
};
use super::daemon::{config, journal, serve};
use super::problem::{compare, explain, lie, mechanisms, share, whatif};
use super::{interactive, service};
use crate::args::cluster::ClusterCommand;
use crate::args::daemon::DaemonCommand;
use crate::args::jobs::JobCommand;
use crate::args::problem::ProblemCommand;
use crate::args::tenants::TenantsCommand;
use oef_api::client::Client;
use oef_terminal::{Exit, Failure, Printer};

/// Commands that are a daemon, or look after its state folder.
pub fn daemon(command: &DaemonCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        DaemonCommand::Up(args) => serve::up(args),
        DaemonCommand::Serve(args) => serve::serve(args),
        DaemonCommand::Config(command) => config::run(command, printer),
        DaemonCommand::Journal(command) => journal::run(command, printer),
        DaemonCommand::Service(command) => service::run(command, printer),
        DaemonCommand::Backup(args) => journal::backup(args, printer),
    }
}

/// Commands about jobs.
pub fn job(command: &JobCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        JobCommand::Submit(args) => submit::run(args, printer),
        JobCommand::Run(args) => interactive::run::run(args, printer),
        JobCommand::Shell(args) => interactive::shell::run(args),
        JobCommand::Jobs(args) => jobs::run(args, &Client::find()?, printer),
        JobCommand::Job(args) => job::run(args, &Client::find()?, printer),
        JobCommand::Why(args) => why::run(args, &Client::find()?, printer),
        JobCommand::Cancel(args) => select::run(Deed::Cancel, args, &Client::find()?, printer),
        JobCommand::Hold(args) => select::run(Deed::Hold, args, &Client::find()?, printer),
        JobCommand::Release(args) => select::run(Deed::Release, args, &Client::find()?, printer),
        JobCommand::Edit(args) => edit::run(args, &Client::find()?, printer),
        JobCommand::Resubmit(args) => edit::resubmit(args, &Client::find()?, printer),
        JobCommand::Logs(args) => logs::run(args, &Client::find()?, printer),
    }
}

/// Commands about tenants.
pub fn tenants(command: &TenantsCommand, printer: &Printer) -> Result<Exit, Failure> {
    let client = Client::find()?;
    match command {
        TenantsCommand::Tenants(args) => tenants::list(args, &client, printer),
        TenantsCommand::Tenant(command) => tenants::run(command, &client, printer),
        TenantsCommand::Groups(args) => groups::list(args, &client, printer),
        TenantsCommand::Group(command) => groups::run(command, &client, printer),
        TenantsCommand::Workloads(args) => workloads::list(args, &client, printer),
        TenantsCommand::Workload(command) => workloads::run(command, &client, printer),
        TenantsCommand::Profile(command) => profile::run(command, &client, printer),
        TenantsCommand::Token(command) => tokens::run(command, &client, printer),
        TenantsCommand::Notify(args) => notify::run(args, &client, printer),
    }
}

/// Commands about the cluster.
pub fn cluster(command: &ClusterCommand, printer: &Printer) -> Result<Exit, Failure> {
    let client = Client::find()?;
    match command {
        ClusterCommand::Cluster(args) => cluster::run(args, &client, printer),
        ClusterCommand::Node(command) => node::run(command, &client, printer),
        ClusterCommand::Reserve(args) => node::reserve(args, &client, printer),
        ClusterCommand::Round(args) => round::run(args, &client, printer),
        ClusterCommand::Fairness(args) => fairness::run(args, &client, printer),
        ClusterCommand::Usage(args) => usage::run(args, &client, printer),
        ClusterCommand::Settings(args) => settings::run(args, &client, printer),
        ClusterCommand::Events(args) => events::run(args, &client, printer),
        ClusterCommand::Open(args) => open::run(args, &client, printer),
        ClusterCommand::Top(args) => top::run(args, client, printer),
    }
}

/// Commands about a problem file.
pub fn problem(command: &ProblemCommand, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        ProblemCommand::Share(args) => share::run(args, printer),
        ProblemCommand::Compare(args) => compare::run(args, printer),
        ProblemCommand::Explain(args) => explain::run(args, printer),
        ProblemCommand::Whatif(args) => whatif::run(args, printer),
        ProblemCommand::Lie(args) => lie::run(args, printer),
        ProblemCommand::Mechanisms(args) => mechanisms::run(args, printer),
    }
}
