//! `oef shell`: a shell beside a running job, in its environment and on its GPUs. The runner of the job starts it, wherever
//! that is, and the daemon passes its terminal on.

use super::line::Line;
use super::run::{Keys, PATIENCE, talk};
use crate::args::interactive::ShellArgs;
use oef_api::client::{Client, Seat};
use oef_api::types::{ShellCreate, Terminal};
use oef_terminal::{Complaint, Exit, Failure};
use std::io::{self, IsTerminal as _};
use std::time::Duration;

/// What programs need to know of the terminal here.
const FROM_HERE: [&str; 3] = ["TERM", "LANG", "LC_ALL"];
/// A runner starts it within a second; one that was not heard of for so long does not.
const ALONE_MAX: Duration = Duration::from_secs(30);

/// Runs the shell; ends the process with its exit code.
pub fn run(args: &ShellArgs) -> Result<Exit, Failure> {
    let client = Client::find()?;
    let pty = io::stdin().is_terminal() && io::stdout().is_terminal();
    let made = oef_server::terminal::new_key();
    let (key, key_hash) = made.map_err(|problem| Complaint::new(problem.detail))?;
    let here = |name: &&str| Some((name.to_string(), std::env::var(name).ok()?));
    let shell = ShellCreate {
        worker: args.worker,
        command: args.command.clone(),
        env: FROM_HERE.iter().filter_map(here).collect(),
        terminal: Terminal { pty, key_hash },
    };
    let opened = client.open_shell(args.job, &shell)?;
    let seat = Seat::Client { key, run: Some(opened.run), shell: Some(opened.shell) };
    let line = Line::new(client, args.job, seat, Some(PATIENCE)).not_alone_for(ALONE_MAX);
    if let Some(code) = talk(line, &Keys::default(), pty)? {
        std::process::exit(i32::from(code));
    }
    let what = format!("the shell of job {} is over: the job ended or was stopped", args.job);
    Err(Complaint::new(what).hint("`oef job` says how it is").into())
}
