//! `kill -9` of the daemon, of runners, of jobs and of all at once, at random instants, again and again.
//!
//! The promises are checked from what the jobs themselves wrote down, not from what the daemon says:
//! no acknowledged job is lost, none runs twice at the same time, none does a step again that its last
//! checkpoint holds, and rounds and history go on where they were.
//!
//! `OEF_CRASH_SECONDS` says for how long (a minute by default, an hour with `OEF_LONG`), `OEF_SEED` repeats
//! the choices of an earlier run.

#![expect(clippy::print_stdout, reason = "a seed that fails is to be run again")]

mod dice;
mod lab;
mod trace;

use dice::Dice;
use lab::Lab;
use std::time::{Duration, Instant};

/// What may be hit.
#[derive(Clone, Copy, Debug)]
enum Target {
    Daemon,
    Runner,
    Job,
    All,
}

#[test]
fn nothing_is_lost_whatever_is_killed() {
    let seed = seed();
    let length = length();
    println!("seed {seed}, {} s", length.as_secs());
    let mut dice = Dice(seed);
    let mut lab = Lab::new();
    lab.start_daemon();
    let began = Instant::now();
    let (mut kills, mut rounds) = ([0_u32; 4], Vec::new());
    while began.elapsed() < length {
        for _ in 0..dice.below(3) {
            // Not more than what can be finished afterwards.
            if lab.live() < 12 {
                lab.submit(&mut dice);
            }
        }
        let target = dice.one_of(&[Target::Daemon, Target::Runner, Target::Job, Target::All]);
        std::thread::sleep(Duration::from_millis(dice.below(900)));
        match target {
            Target::Daemon => lab.kill_daemon(),
            Target::Runner => lab.kill_one(lab::runners, &mut dice),
            Target::Job => lab.kill_one(lab::workers, &mut dice),
            Target::All => lab.kill_all(),
        }
        kills[target as usize] += 1;
        std::thread::sleep(Duration::from_millis(dice.below(400)));
        lab.start_daemon();
        rounds.push(lab.round());
    }
    println!(
        "killed: daemon {}, a runner {}, a job {}, everything {}; {} jobs acknowledged",
        kills[0],
        kills[1],
        kills[2],
        kills[3],
        lab.acknowledged.len()
    );
    lab.wait_for_all();
    assert!(rounds.is_sorted(), "seed {seed}: rounds went back: {rounds:?}");
    let traces = lab.traces();
    let mut broken = Vec::new();
    for (job, trace) in &traces {
        broken.extend(trace::broken_promises(*job, trace));
    }
    let starts: usize = traces.iter().map(|(_, t)| trace::starts(t)).sum();
    println!("{} starts of {} jobs", starts, traces.len());
    assert!(broken.is_empty(), "seed {seed}:\n{}", broken.join("\n"));
    assert!(
        starts > traces.len(),
        "seed {seed}: nothing was ever interrupted, so nothing was tested"
    );
    lab.check_journal();
}

fn seed() -> u64 {
    let given = std::env::var("OEF_SEED").ok().and_then(|s| s.parse().ok());
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    given.unwrap_or_else(|| now().map_or(1, |t| t.as_nanos() as u64))
}

fn length() -> Duration {
    let given = std::env::var("OEF_CRASH_SECONDS").ok().and_then(|s| s.parse().ok());
    let long = std::env::var_os("OEF_LONG").is_some();
    Duration::from_secs(given.unwrap_or(if long { 3600 } else { 60 }))
}
