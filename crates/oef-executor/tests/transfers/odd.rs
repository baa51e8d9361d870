//! Files that are not plain: names, links, holes, sockets.

use crate::files::{MODEL_BYTES, Pair, noise};
use crate::hosts::{at, rsync_daemon};
use oef_executor::checkpoints::Source;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// The length of a file of holes: much more than its blocks.
const HOLES: u64 = 256 << 20;

#[test]
fn names_that_only_look_strange() {
    let pair = Pair::new();
    let names: [&[u8]; 14] = [
        b"-rf",
        b"--rsh=touch x",
        b"a b",
        b" ",
        b"line\nbreak",
        b"8000000  99%\r100  1%",
        b"quo\"te's`x`",
        b"$(touch y)",
        "\u{e9}\u{20ac}".as_bytes(),
        b"\xff\xfe",
        b"x;y",
        b"host:path",
        b".hidden",
        b".model.bin.abc123",
    ];
    for name in names {
        fs::write(pair.source().join(OsStr::from_bytes(name)), name).expect("written");
    }
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    for source in [Source::Folder { path: pair.source() }, at(daemon.port)] {
        // The second time all is here.
        for _ in 0..2 {
            pair.brings(&pair.fetch(source.clone()));
            pair.is_whole();
            for name in names {
                let copy = fs::read(pair.live().join(OsStr::from_bytes(name)));
                assert_eq!(copy.expect("there"), name);
            }
        }
        fs::remove_dir_all(pair.live()).expect("removed");
    }
}

#[test]
fn links_are_brought_as_links_and_not_followed() {
    let pair = Pair::new();
    let outside = pair.home.path().join("secret");
    fs::write(&outside, "not of this job").expect("written");
    let links = [
        ("out", outside.as_path()),
        ("up", Path::new("../../secret")),
        ("gone", Path::new("/no/where")),
    ];
    for (name, target) in links {
        symlink(target, pair.source().join(name)).expect("a link");
    }
    symlink("/", pair.source().join("logs/everything")).expect("a link");
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    for _ in 0..2 {
        pair.brings(&pair.fetch(at(daemon.port)));
        pair.is_whole();
        for (name, target) in links {
            assert_eq!(fs::read_link(pair.live().join(name)).expect("a link"), target);
        }
    }
    assert_eq!(fs::read_to_string(&outside).expect("there"), "not of this job");
}

#[test]
fn a_copy_takes_no_more_room_than_what_it_is_of() {
    let pair = Pair::new();
    // Nothing but one page in the middle, and a file with two names.
    let holes = File::create(pair.source().join("holes")).expect("made");
    holes.set_len(HOLES).expect("grown");
    std::os::unix::fs::FileExt::write_at(&holes, &noise(9, 4096), HOLES / 2).expect("written");
    fs::hard_link(pair.source().join("model.bin"), pair.source().join("best.bin")).expect("linked");
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let about = |name: &str| fs::metadata(pair.live().join(name)).expect("there");
    let mut first = true;
    for changed in [false, true] {
        if changed {
            std::os::unix::fs::FileExt::write_at(&holes, b"new", HOLES / 2).expect("written");
        }
        let report = pair.brings(&pair.fetch(at(daemon.port)));
        assert_eq!(about("holes").len(), HOLES);
        assert!(about("holes").blocks() * 512 < 1 << 20, "{} blocks", about("holes").blocks());
        assert_eq!(about("model.bin").ino(), about("best.bin").ino());
        assert_eq!(about("model.bin").nlink(), 2, "nothing else has it any more");
        let model = MODEL_BYTES as u64;
        assert_eq!(report.moved_files, if first { 4 } else { 1 }, "{report:?}");
        assert!(!first || report.line_bytes < HOLES + 2 * model, "{report:?}");
        first = false;
    }
    let text = fs::read(pair.live().join("holes")).expect("read");
    assert!(text[usize::try_from(HOLES / 2).expect("small")..].starts_with(b"new"));
}

#[test]
fn what_cannot_be_brought_is_left_out_and_the_rest_comes() {
    let pair = Pair::new();
    // Each of them is named before the figures come: far more words than are kept.
    let made = Command::new("mkfifo")
        .args((0..1000).map(|i| pair.source().join(format!("a-channel-with-a-long-name-{i}"))))
        .status();
    assert!(made.expect("mkfifo").success());
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let report = pair.brings(&pair.fetch(at(daemon.port)));
    assert_eq!(report.files, 3, "{report:?}");
    assert_eq!(fs::read(pair.live().join("model.bin")).expect("there").len(), MODEL_BYTES);
}

#[test]
fn a_folder_that_may_not_be_changed_is_brought_twice() {
    use std::os::unix::fs::PermissionsExt as _;
    let pair = Pair::new();
    let logs = pair.source().join("logs");
    let mode = |mode| fs::set_permissions(&logs, fs::Permissions::from_mode(mode)).expect("set");
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    for text in ["one", "two", "three"] {
        mode(0o755);
        pair.write("logs/train.log", text.as_bytes());
        mode(0o555);
        pair.brings(&pair.fetch(at(daemon.port)));
        pair.is_whole();
    }
    // So that the test's own folder can go.
    mode(0o755);
    oef_executor::checkpoints::remove(&pair.live()).expect("removed");
    assert!(!pair.live().exists());
}
