//! A large cluster, as its Slurm would print it.

use super::run::Figure;
use oef_executor::checkpoints::CheckpointConfig;
use oef_executor::slurm::{Rules, Slurm, SlurmConfig, SlurmExecutor};
use oef_executor::{Cursor, Event, Executor, Known};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

const NODES: usize = 1000;
const GPUS: usize = 8;
const JOBS: usize = 20_000;

/// Reads 1,000 nodes and 20,000 jobs, and tells the nodes.
pub(super) fn read(dir: &Path) -> Result<Figure, String> {
    let dir = std::path::absolute(dir.join("recorded")).map_err(|error| error.to_string())?;
    write_programs(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let begun = Instant::now();
    let executor = SlurmExecutor::open(SlurmConfig {
        dir: dir.join("state"),
        runner: vec!["oef".into()],
        checkpoints: CheckpointConfig::default(),
        slurm: Slurm { conf: None, bin_dir: Some(dir.join("bin")), limit: Duration::from_secs(60) },
        partition: None,
        nodes: None,
        poll: Duration::from_secs(60),
        rules: Rules::default(),
    });
    let executor = executor.map_err(|error| error.to_string())?;
    // Asks for all jobs, and compares them with those that are held.
    executor.resume(Known::default()).map_err(|error| error.to_string())?;
    let mut cursor = Cursor(0);
    let mut told = 0;
    loop {
        let events = executor.events(cursor, Duration::from_millis(20));
        cursor = events.last().map_or(cursor, |(cursor, _)| *cursor);
        told += events.iter().filter(|(_, event)| matches!(event, Event::Node(_))).count();
        if events.iter().any(|(_, event)| *event == Event::NodesListed) {
            break;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err("a recorded cluster was not read within 60 s".to_string());
        }
    }
    let value = begun.elapsed().as_secs_f64();
    match told >= NODES {
        true => Ok(Figure {
            name: format!("{NODES} nodes and {JOBS} jobs are read"),
            value,
            unit: "s",
            bar: 1.0,
        }),
        false => Err(format!("only {told} of {NODES} nodes were told")),
    }
}

/// Programs that print what was recorded, with the word of the call put in.
fn write_programs(dir: &Path) -> std::io::Result<()> {
    let bin = dir.join("bin");
    fs::create_dir_all(&bin)?;
    let (mut jobs, mut nodes) = (String::new(), String::new());
    for id in 0..JOBS {
        let (state, node) = if id % 3 == 0 {
            ("PENDING", String::new())
        } else {
            ("RUNNING", format!("node{:04}", id % NODES))
        };
        let _ = writeln!(
            jobs,
            "@@|{id}|{state}|{}|{node}|gres/gpu:a100:1|None|train-{id}|(null)",
            1000 + id % 300
        );
    }
    for id in 0..NODES {
        let _ = writeln!(
            nodes,
            "node{id:04}@@mixed@@gpu:a100:{GPUS}(S:0-1)@@gpu:a100:4(IDX:0-3)@@10.0.0.1@@none@@"
        );
    }
    for (program, text, word) in [("squeue", &jobs, "--format"), ("sinfo", &nodes, "--Format=")] {
        fs::write(bin.join(format!("{program}.txt")), text)?;
        // The word of the call is between the two first `@` of the argument that has the columns.
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do case $word in *@*@*) mark=${{word#*@}}; mark=@${{mark%%@*}}@;; esac; done\n\
             # {word}\nsed \"s/@@/$mark/g\" {}/{program}.txt\n",
            bin.display()
        );
        fs::write(bin.join(program), script)?;
        fs::set_permissions(bin.join(program), Permissions::from_mode(0o755))?;
    }
    Ok(())
}
