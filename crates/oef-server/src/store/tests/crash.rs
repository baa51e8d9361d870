//! A writer that is killed in the middle loses nothing that it had acknowledged.

use super::{Folder, append, open, save_snapshot};
use crate::store::{Keep, OpenMode, Store, journal};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names the folder to the process that is to be killed.
const FOLDER: &str = "OEF_TEST_STORE_FOLDER";

/// Not a test by itself: the process that the test below kills. It says which records are acknowledged.
#[test]
#[ignore = "started by `a_killed_writer_leaves_everything_that_it_acknowledged`"]
fn writer_process() {
    let Ok(dir) = std::env::var(FOLDER) else { return };
    let mut store = Store::open(dir.as_ref(), OpenMode::Create).expect("the folder is free");
    let mut out = std::io::stdout();
    for turn in 1u64.. {
        append(&mut store, 1 + turn * 7 % 40);
        writeln!(out, "acknowledged {}", store.head()).expect("somebody listens");
        let archive = store.archive();
        match turn % 16 {
            5 => {
                save_snapshot(&archive, store.head(), turn, &format!("\"{}\"", "s".repeat(3 << 20)))
            }
            9 => archive.save_round(turn, turn, r#"{"round":true}"#),
            13 => archive.compact(&Keep { records: 100, rounds: 3, ..Keep::default() }).map(|_| ()),
            _ => Ok(()),
        }
        .expect("there is room");
    }
}

#[test]
fn a_killed_writer_leaves_everything_that_it_acknowledged() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let first = u64::from(now.subsec_nanos());
    let mut seed = first;
    let folder = Folder::new("killed");
    let mut last = 0;
    for round in 0..12 {
        // A step of splitmix64: where the kill falls need not be good chance.
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let lines = 1 + (seed ^ (seed >> 31)) % 40;
        last = run_and_kill(&folder, lines, Duration::from_micros(seed % 5_000)).max(last);
        let report = journal::check(folder.path(), &mut |_| Ok(())).expect("readable");
        assert!(report.is_sound(), "seed {first}, round {round}: {report:?}");
        assert!(
            report.last >= last,
            "seed {first}, round {round}: {last} was acknowledged, {report:?}"
        );
        let store = open(&folder);
        assert_eq!(store.head(), report.last);
        assert!(store.load().expect("readable").records.all(|r| r.is_ok()));
    }
    assert!(last > 100, "the writer hardly wrote: {last}");
}

/// Lets a writer acknowledge some times, kills it a little later, and returns what it last acknowledged.
fn run_and_kill(folder: &Folder, lines: u64, pause: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["store::tests::crash::writer_process", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started again");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let acknowledged =
        |line: &str| line.split_once("acknowledged ").and_then(|(_, n)| n.parse().ok());
    let mut heard = out.by_ref().map_while(Result::ok).filter_map(|line| acknowledged(&line));
    let mut last: u64 = heard.by_ref().take(lines as usize).last().expect("it writes");
    std::thread::sleep(pause);
    child.kill().expect("it still runs");
    // What it had said before it died counts as well.
    last = heard.last().unwrap_or(last);
    child.wait().expect("it ends");
    last
}
