//! Whole transfers, small second ones, and lines that break.

use crate::files::{MODEL_BYTES, Pair, noise};
use crate::hosts::{Line, at, rsync_daemon, sshd};
use oef_executor::checkpoints::{BringError, Brought, FetchLimits, Look, NotBrought, Source};
use oef_sched::Span;
use std::fs;

#[test]
fn a_second_transfer_moves_only_what_is_new() {
    let pair = Pair::new();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let fetch = pair.fetch(at(daemon.port));
    let first = pair.brings(&fetch);
    pair.is_whole();
    assert_eq!((first.files, first.moved_files), (3, 3));
    assert!(first.line_bytes > MODEL_BYTES as u64);

    // Nothing is new.
    let again = pair.brings(&fetch);
    pair.is_whole();
    assert_eq!(again.moved_files, 0);
    assert!(again.line_bytes < 10_000, "{again:?}");

    // A new file, one that is gone, and some bytes in the middle of the largest.
    let mut model = noise(1, MODEL_BYTES);
    model[MODEL_BYTES / 2..MODEL_BYTES / 2 + 1000].fill(7);
    pair.write("model.bin", &model);
    pair.write("step-2.json", b"{}");
    fs::remove_file(pair.source().join("logs/train.log")).expect("removed");
    let third = pair.brings(&fetch);
    pair.is_whole();
    assert_eq!(third.moved_files, 2);
    assert!(third.line_bytes < MODEL_BYTES as u64 / 10, "{third:?}");
    assert!(third.matched_bytes > MODEL_BYTES as u64 / 10 * 9, "{third:?}");
}

#[test]
fn a_transfer_that_is_cut_goes_on_from_where_it_was() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let line = Line::to(daemon.port);
    let fetch = pair.fetch(at(line.port));
    let mut cuts = 0;
    for half in [MODEL_BYTES as u64 / 3, MODEL_BYTES as u64 / 3] {
        line.cut_after(half);
        let error = pair.fails(&fetch);
        assert!(matches!(error, BringError::Link(_)), "{error}");
        cuts += half;
        // What rsync held in its hands when the line was cut may be gone.
        assert!(pair.half() > cuts / 2, "{} of {cuts}", pair.half());
    }
    let (here, before) = (pair.half(), line.passed());
    line.mend();
    let report = pair.brings(&fetch);
    pair.is_whole();
    assert!(report.matched_bytes > here / 10 * 9, "{here} were here: {report:?}");
    let sent = line.passed() - before;
    assert!(sent < MODEL_BYTES as u64 - here / 10 * 9, "{here} were here, {sent} were sent");
}

#[test]
fn it_is_tried_again_by_itself() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let line = Line::to(daemon.port);
    let mut fetch = pair.fetch(at(line.port));
    fetch.limits.tries = 3;
    line.cut_after(MODEL_BYTES as u64 / 2);
    let mut said = String::new();
    let brought = pair.bring_with(&fetch, &mut |progress| {
        if progress.last.is_some() {
            pair_is_old(&pair, progress.percent);
            said = progress.to_string();
            line.mend();
        }
        Look::GoOn
    });
    let Ok(Brought::All(report)) = brought else { panic!("{brought:?}") };
    assert!(report.matched_bytes > 0, "{report:?}");
    assert!(said.contains("try 2; before: the connection broke"), "{said}");
    pair.is_whole();
}

/// Before the second try has begun, the last good one must be there.
fn pair_is_old(pair: &Pair, percent: Option<u8>) {
    if percent.is_none() {
        assert!(pair.live().join("model.bin").exists());
    }
}

#[test]
fn a_line_that_falls_silent_is_given_up() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let line = Line::to(daemon.port);
    let mut fetch = pair.fetch(at(line.port));
    // Long enough for rsync to send signs of life into the void, which count as life for it.
    fetch.limits.silence = Span(5000);
    line.hush_after(MODEL_BYTES as u64 / 2);
    let error = pair.fails(&fetch);
    assert!(matches!(error, BringError::Silence(_)), "{error}");
    line.mend();
    fetch.limits.silence = Span(20_000);
    let report = pair.brings(&fetch);
    assert!(report.matched_bytes > 0, "{report:?}");
    pair.is_whole();
}

#[test]
fn over_a_real_ssh() {
    let pair = Pair::new().with_last_good();
    let ssh = sshd();
    let source = |options: &[String]| Source::Ssh {
        destination: format!("{}@127.0.0.1", ssh.user),
        port: Some(ssh.service.port),
        options: options.to_vec(),
        path: pair.source(),
    };
    // A stranger is not let in, and is not asked for a password.
    let stranger = pair.fetch(source(&ssh.options[2..]));
    let error = pair.fails(&stranger);
    assert!(matches!(error, BringError::Refused(_)), "{error}");

    let fetch = pair.fetch(source(&ssh.options));
    let first = pair.brings(&fetch);
    pair.is_whole();
    let again = pair.brings(&fetch);
    assert!(again.line_bytes < first.line_bytes / 100, "{again:?}");

    fs::remove_dir_all(pair.source()).expect("removed");
    let gone = pair.bring(&fetch);
    let missing = BringError::SourceMissing;
    assert_eq!(gone, Err(NotBrought::Failed { from: "a-0".into(), error: missing, tries: 1 }));
}

#[test]
fn ssh_that_is_cut_goes_on_from_where_it_was() {
    let pair = Pair::new().with_last_good();
    let ssh = sshd();
    let line = Line::to(ssh.service.port);
    let fetch = pair.fetch(Source::Ssh {
        destination: format!("{}@127.0.0.1", ssh.user),
        port: Some(line.port),
        options: ssh.options.clone(),
        path: pair.source(),
    });
    line.cut_after(MODEL_BYTES as u64 / 2);
    let error = pair.fails(&fetch);
    assert!(matches!(error, BringError::Link(_) | BringError::Refused(_)), "{error}");
    let here = pair.half();
    line.mend();
    let report = pair.brings(&fetch);
    assert!(here > 0 && report.matched_bytes > here / 10 * 9, "{here}: {report:?}");
    pair.is_whole();
}

#[test]
fn hosts_of_one_machine_share_by_folder() {
    let pair = Pair::new().with_last_good();
    pair.brings(&pair.fetch(Source::Folder { path: pair.source() }));
    pair.is_whole();
}

#[test]
fn the_line_is_not_used_more_than_allowed() {
    let pair = Pair::new();
    pair.write("model.bin", &noise(2, 2 << 20));
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut fetch = pair.fetch(at(daemon.port));
    fetch.limits = FetchLimits { kib_per_second: Some(1024), ..fetch.limits };
    let report = pair.brings(&fetch);
    pair.is_whole();
    // rsync sends in bursts; a slow machine only makes it less.
    assert!(report.rate < 1.3 * 1024.0 * 1024.0, "{report:?}");
}
