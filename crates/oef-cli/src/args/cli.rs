//! `oef` and its commands.

use super::cluster::ClusterCommand;
use super::daemon::DaemonCommand;
use super::generate::GenerateCommand;
use super::jobs::JobCommand;
use super::problem::ProblemCommand;
use super::simulate::{self, SimulateArgs};
use super::slurm::{self, SlurmCommand};
use super::tenants::TenantsCommand;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use oef_terminal::EXIT_CODES_HELP;
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const TOUR: &str = "\
Start here, with a cluster of real processes:
  oef up --demo                                  all of it on this machine; in a second terminal:
  oef submit -- python train.py                  a job; prints its number
  oef run -- bash                                a shell on a GPU, in this terminal
  oef profile job.toml                           how fast it is on each gpu type, measured
  oef jobs --watch                               what all jobs do, and why
  oef why 12                                     why it waits, and when it can start
  oef top                                        the cluster live in the terminal
  oef fairness                                   who was promised what, and who got it
  oef usage --since 30d                          GPU-hours of everybody; also by user, as CSV
  oef service install                            the daemon as a service, started at every boot

And without one:
  oef compare lab.toml                           all mechanisms side by side on one problem
  oef share lab.toml                             who gets which GPUs, with the fairness certificate
  oef explain lab.toml --tenant vision-lab       prices, what binds, why it holds these GPUs
  oef whatif lab.toml --add-gpu h100=8           what a change does to everybody
  oef lie lab.toml --tenant vision-lab           whether a false profile would pay
  oef share table.csv --counts K80=8,V100=8      a speedup table, one tenant per row
  oef simulate --report out.html                 a trace replayed under five mechanisms, as a report
  oef generate trace --jobs 1000 -o trace.csv    a load from a seed; also clusters and profiles
";

#[cfg(feature = "lab")]
const LAB_TOUR: &str = oef_lab::TOUR;
#[cfg(not(feature = "lab"))]
const LAB_TOUR: &str = "";

const PROBLEM_FILE: &str = "\
A problem file (TOML; JSON has the same fields):
  [[gpu]]
  type = \"rtx3070\"
  count = 8
  [[gpu]]
  type = \"rtx3090\"
  count = 8
  [[tenant]]
  name = \"vision-lab\"          # weight = 1.0 and demand = 12 (GPUs it can use) are optional
  [[tenant.workload]]
  name = \"vgg16\"
  throughput = { rtx3070 = 1.0, rtx3090 = 1.39 }   # any unit; missing or 0: cannot run there
";

/// Fair shares of mixed GPUs: as much training throughput as the cluster can give, with fairness
/// that is computed, checked and shown
#[derive(Debug, Parser)]
#[command(name = "oef", version, styles = STYLES, max_term_width = 110)]
#[command(after_help = format!("{TOUR}{LAB_TOUR}\n{PROBLEM_FILE}\n{EXIT_CODES_HELP}"), arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, the everyday ones first.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Daemon(DaemonCommand),
    #[command(flatten)]
    Job(JobCommand),
    #[command(flatten)]
    Tenants(TenantsCommand),
    #[command(flatten)]
    Cluster(ClusterCommand),
    #[command(flatten)]
    Problem(ProblemCommand),
    /// Replay a trace on a cluster under several mechanisms, and compare
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(Box<SimulateArgs>),
    /// Look at a Slurm cluster: is it ready for OEF, and what would OEF have done last month?
    #[command(subcommand, after_help = slurm::EXAMPLES)]
    Slurm(SlurmCommand),
    /// Make traces, clusters and profiles from a seed, or an example of a problem file
    #[command(subcommand)]
    Generate(GenerateCommand),
    #[cfg(feature = "lab")]
    #[command(flatten)]
    Lab(oef_lab::LabCommand),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write one page per command into a directory
    Man {
        /// Where to write the pages; without it `oef(1)` goes to stdout
        dir: Option<PathBuf>,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  oef completions bash > ~/.local/share/bash-completion/completions/oef
  oef completions zsh > ~/.zfunc/_oef
  oef completions fish > ~/.config/fish/completions/oef.fish";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Lines that we have broken ourselves would be broken once more.
    #[test]
    fn the_help_fits_a_screen_of_100_columns() {
        let mut wrong = Vec::new();
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long = help.lines().filter(|line| line.chars().count() > 100);
            wrong.extend(long.map(|line| format!("{}: {line}", command.get_name())));
            commands.extend(command.get_subcommands().cloned());
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
