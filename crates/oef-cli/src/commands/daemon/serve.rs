//! `oef up` and `oef serve`: a daemon until it is told to stop.

use super::config::read;
use crate::args::daemon::{ServeArgs, UpArgs};
use oef_server::RunError;
use oef_server::config::{Config, Length};
use oef_server::serve::run;
use oef_server::slurm::ExecutorKind;
use oef_server::up::Mode;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::sync::Arc;

/// `oef up`
pub fn up(args: &UpArgs) -> Result<Exit, Failure> {
    let mut config = Config::default();
    config.listen = args.listen.unwrap_or(config.listen);
    config.state_dir.clone_from(&args.state);
    config.gpus.emulated.clone_from(&args.gpus);
    config.gpus.mps.clone_from(&args.mps);
    if args.slurm {
        config.executor.kind = ExecutorKind::Slurm;
        config.slurm.partition.clone_from(&args.partition);
    }
    config.trust_tenants = args.trust_tenants;
    let commands = args.notify_command.iter().cloned();
    config.notify.commands = commands.map(|(name, path)| (name, vec![path])).collect();
    config.scheduling.round = args.round.map(Length);
    config.scheduling.mechanism = args.mechanism;
    config.checkpoints.place = args.checkpoints.into();
    start(config, Mode::Up { demo: args.demo })
}

/// `oef serve`
pub fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    let config = read(&args.config)?;
    start(config, Mode::Serve { file: args.config.clone() })
}

fn start(config: Config, mode: Mode) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        let complaint = Complaint::new(format!("this program cannot find itself: {error}"));
        complaint.hint("call it by its full path")
    })?;
    let talk = Arc::new(|text: &str| Printer::default().note(text));
    run(config, mode, program, talk).map_err(failure)?;
    Ok(Exit::Done)
}

/// The messages of the server name the thing and the way out in one sentence, and keep their causes.
fn failure(error: RunError) -> Failure {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        let text = deeper.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = deeper.source();
    }
    Complaint::new(message).into()
}
