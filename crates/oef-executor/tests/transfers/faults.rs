//! What else goes wrong: the last good checkpoint stays, and it is said what it was.

use crate::files::{MODEL_BYTES, Pair, noise, tree};
use crate::hosts::{Line, at, free_port, rsync_daemon};
use crate::namespaces::{SmallDisk, inside};
use oef_executor::checkpoints::{BringError, Brought, Look, NotBrought, Source};
use oef_sched::Span;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_damaged_byte_of_the_last_good_copy_is_mended() {
    let pair = Pair::new();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let fetch = pair.fetch(at(daemon.port));
    pair.brings(&fetch);
    // As a disk does it: same length, same time.
    let path = pair.live().join("model.bin");
    let time = fs::metadata(&path).and_then(|m| m.modified()).expect("a time");
    let mut bytes = fs::read(&path).expect("read");
    bytes[MODEL_BYTES / 2] ^= 1;
    fs::write(&path, bytes).expect("written");
    fs::File::options().write(true).open(&path).and_then(|f| f.set_modified(time)).expect("set");
    let report = pair.brings(&fetch);
    assert_eq!(report.moved_files, 1);
    pair.is_whole();
}

#[test]
fn a_damaged_half_is_not_built_upon() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let line = Line::to(daemon.port);
    let fetch = pair.fetch(at(line.port));
    line.cut_after(MODEL_BYTES as u64 / 2);
    pair.fails(&fetch);
    let half = pair.incoming().join(".oef-partial/model.bin");
    let mut bytes = fs::read(&half).expect("half of it");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 10].fill(0);
    fs::write(&half, bytes).expect("written");
    line.mend();
    pair.brings(&fetch);
    pair.is_whole();
}

#[test]
fn a_file_that_cannot_be_read_there_spoils_all() {
    let pair = Pair::new().with_last_good();
    // A disk error looks the same from here: the daemon is not let at the file.
    let module = pair.home.path().join("a");
    for folder in [pair.home.path(), &module, &pair.source()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("set");
    }
    let path = pair.source().join("settings.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("set");
    let daemon = match rustix::process::geteuid().is_root() {
        true => rsync_daemon(&module, "uid = nobody\ngid = nogroup"),
        false => rsync_daemon(&module, ""),
    };
    let error = pair.fails(&pair.fetch(at(daemon.port)));
    assert!(
        matches!(&error, BringError::Incomplete(why) if why.contains("Permission denied")),
        "{error}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
    let report = pair.brings(&pair.fetch(at(daemon.port)));
    assert!(report.line_bytes < 10_000, "what was whole is not sent again: {report:?}");
    pair.is_whole();
}

#[test]
fn a_source_that_is_gone() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    fs::remove_dir_all(pair.source()).expect("removed");
    let folder = Source::Folder { path: pair.source() };
    for source in [at(daemon.port), folder] {
        let mut fetch = pair.fetch(source);
        assert_eq!(pair.fails(&fetch), BringError::SourceMissing);
        // Nobody ever said that there is one: the job begins with what is there.
        fetch.is_known = false;
        assert_eq!(pair.bring(&fetch), Ok(Brought::Nothing));
        pair.has_last_good();
    }
    assert!(!pair.incoming().exists());
}

#[test]
fn an_empty_source_takes_nobodys_place() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    fs::remove_dir_all(pair.source()).expect("removed");
    fs::create_dir(pair.source()).expect("made");
    let mut fetch = pair.fetch(at(daemon.port));
    assert_eq!(pair.fails(&fetch), BringError::SourceEmpty);
    fetch.is_known = false;
    assert_eq!(pair.bring(&fetch), Ok(Brought::Nothing));
    pair.has_last_good();
}

#[test]
fn nobody_there_and_no_such_module() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut fetch = pair.fetch(at(free_port()));
    let error = pair.fails(&fetch);
    assert!(matches!(&error, BringError::Link(why) if why.contains("refused")), "{error}");
    let url = format!("rsync://127.0.0.1:{}/other/7", daemon.port);
    fetch.source = Source::Daemon { url, password_file: None };
    let error = pair.fails(&fetch);
    assert!(matches!(&error, BringError::Refused(why) if why.contains("other")), "{error}");
    // Nobody knows whether there is one as long as nobody answers.
    fetch.is_known = false;
    assert!(matches!(pair.fails(&fetch), BringError::Refused(_)));
}

#[test]
fn a_full_disk() {
    if !inside("faults::a_full_disk") {
        return;
    }
    let pair = Pair::new();
    let _disk = SmallDisk::new(&pair.home.path().join("b"), MODEL_BYTES / 2);
    let pair = pair.with_last_good();
    let error = pair.fails(&pair.fetch(Source::Folder { path: pair.source() }));
    assert!(matches!(error, BringError::NoRoom(_)), "{error}");
    // Jobs that run there must be able to save: half of what nobody can use is not kept.
    assert!(!pair.incoming().exists());
    fs::write(pair.home.path().join("b/8"), vec![0; MODEL_BYTES / 3]).expect("there is room");
}

#[test]
fn the_time_is_over() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut fetch = pair.fetch(at(daemon.port));
    (fetch.limits.time, fetch.limits.kib_per_second) = (Span(5000), Some(300));
    fetch.limits.tries = 100;
    assert_eq!(pair.fails(&fetch), BringError::OverTime(Span(5000)));
    let here = pair.half();
    assert!(here > 0, "what came is kept");
    (fetch.limits.time, fetch.limits.kib_per_second) = (Span(60_000), None);
    let report = pair.brings(&fetch);
    assert!(report.matched_bytes > here / 10 * 9, "{here}: {report:?}");
    pair.is_whole();
}

#[test]
fn told_to_stop_in_the_middle() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut fetch = pair.fetch(at(daemon.port));
    fetch.limits.kib_per_second = Some(500);
    let stopped = pair.bring_with(&fetch, &mut |progress| match progress.bytes {
        0 => Look::GoOn,
        _ => Look::Stop,
    });
    assert_eq!(stopped, Err(NotBrought::Stopped));
    pair.has_last_good();
    assert!(pair.half() > 0, "what came is kept");
}

#[test]
fn the_source_changes_between_two_tries() {
    // The files of the first try are linked to the last good copy: they must not be written through.
    let pair = Pair::new();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let line = Line::to(daemon.port);
    let fetch = pair.fetch(at(line.port));
    pair.brings(&fetch);
    let good = tree(&pair.live());
    pair.write("model.bin", &noise(3, MODEL_BYTES));
    line.cut_after(MODEL_BYTES as u64 / 2);
    assert!(pair.bring(&fetch).is_err());
    assert!(tree(&pair.live()) == good);
    pair.write("settings.json", b"{\"lr\": 0.2, \"new\": true}");
    line.cut_after(MODEL_BYTES as u64 / 4);
    assert!(pair.bring(&fetch).is_err());
    assert!(tree(&pair.live()) == good, "the last good copy was written to");
    line.mend();
    pair.brings(&fetch);
    pair.is_whole();
}

#[test]
fn halves_of_files_that_are_gone_there_go_here_too() {
    let pair = Pair::new();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let line = Line::to(daemon.port);
    let fetch = pair.fetch(at(line.port));
    line.cut_after(MODEL_BYTES as u64 / 2);
    assert!(pair.bring(&fetch).is_err());
    assert!(pair.half() > 0);
    fs::rename(pair.source().join("model.bin"), pair.source().join("model-2.bin")).expect("moved");
    line.mend();
    pair.brings(&fetch);
    pair.is_whole();
}
