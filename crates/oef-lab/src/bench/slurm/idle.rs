//! What a daemon that drives Slurm takes of a core while nothing changes.

use super::run::{BenchSlurmArgs, Figure};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(20);
/// A daemon that is not ready by then has failed.
const PATIENCE: Duration = Duration::from_secs(120);
/// After it is ready, so long until it has nothing to do but to look.
const SETTLES: Duration = Duration::from_secs(5);

/// The whole daemon, with the settings that it has by default, and the programs by which it asks Slurm.
pub(super) fn measure(args: &BenchSlurmArgs) -> Result<Figure, String> {
    let dir = std::path::absolute(args.state.join("idle")).map_err(|error| error.to_string())?;
    let at = |error: std::io::Error| format!("{}: {error}", dir.display());
    fs::create_dir_all(&dir).map_err(at)?;
    fs::write(dir.join("oef.toml"), settings(args, &dir)).map_err(at)?;
    let log = fs::File::create(dir.join("daemon.log")).map_err(at)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["serve", "--config"]).arg(dir.join("oef.toml")).env("XDG_STATE_HOME", &dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let daemon = Daemon(command.spawn().map_err(at)?);
    let begun = Instant::now();
    while !dir.join("oef.sock").exists() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the daemon did not come up; see {}/daemon.log", dir.display()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(SETTLES);
    let used = || daemon.processor_seconds().ok_or("the daemon has ended");
    let before = used()?;
    std::thread::sleep(WATCHED);
    let value = 100.0 * (used()? - before) / WATCHED.as_secs_f64();
    let name = "the daemon while nothing changes".to_string();
    Ok(Figure { name, value, unit: "% of a core", bar: 3.0 })
}

fn settings(args: &BenchSlurmArgs, dir: &Path) -> String {
    let line = |name: &str, value: Option<String>| {
        value.map_or_else(String::new, |value| format!("{name} = {value:?}\n"))
    };
    let conf = args.conf.as_ref().map(|conf| conf.display().to_string());
    format!(
        "listen = \"127.0.0.1:0\"\nstate_dir = \"{0}/state\"\n[executor]\nkind = \"slurm\"\n[slurm]\n{1}{2}[socket]\npath = \"{0}/oef.sock\"\n",
        dir.display(),
        line("conf", conf),
        line("partition", args.partition.clone())
    )
}

/// A daemon that ends with this.
struct Daemon(Child);

impl Daemon {
    /// What it and its ended children have used of a processor.
    fn processor_seconds(&self) -> Option<f64> {
        /// What Linux shows times in, on every machine of today.
        const TICKS: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let times = rest.split_whitespace().skip(11).take(4).map(|word| word.parse::<f64>().ok());
        Some(times.sum::<Option<f64>>()? / TICKS)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
