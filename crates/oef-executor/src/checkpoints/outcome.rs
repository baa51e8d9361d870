//! What rsync says, as data: how far it is, how it ended, and why. Pure.

use crate::ending::length;
use oef_sched::Span;
use std::fmt;
use thiserror::Error;

/// Of rsync's own words, so much goes into a sentence.
const WORDS_MAX: usize = 300;

/// What ssh, or the shell on the other side, says when nobody is let in.
const NOT_LET_IN: [&str; 3] =
    ["Permission denied (", "Host key verification failed", "command not found"];

/// What a transfer cost, in rsync's own figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Regular files in the folder.
    pub files: u64,
    /// Of those, the ones that were not here in the same form.
    pub moved_files: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// Bytes of files that had to be sent as they are...
    pub sent_bytes: u64,
    /// ... and of the same files, those that were here already.
    pub matched_bytes: u64,
    /// Bytes that came over the line. Of a copy within one machine rsync calls them sent, and not received.
    pub line_bytes: u64,
    /// Bytes a second, both ways.
    pub rate: f64,
}

impl Report {
    /// From the output of `--stats`.
    pub(super) fn read(text: &str) -> Report {
        let mut report = Report::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(": ") else {
                if let Some(rate) = line.strip_suffix(" bytes/sec") {
                    let rate = rate.rsplit(' ').next().and_then(|word| word.parse().ok());
                    report.rate = rate.unwrap_or(report.rate);
                }
                continue;
            };
            let number = first_number(value);
            match name {
                "Number of files" => {
                    report.files = value.split_once("reg: ").map_or(0, |(_, n)| first_number(n));
                }
                "Number of regular files transferred" => report.moved_files = number,
                "Total file size" => report.total_bytes = number,
                "Literal data" => report.sent_bytes = number,
                "Matched data" => report.matched_bytes = number,
                "Total bytes received" | "Total bytes sent" => {
                    report.line_bytes = report.line_bytes.max(number);
                }
                _ => {}
            }
        }
        report
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, line) = (Size(self.total_bytes), Size(self.line_bytes));
        write!(f, "{total}, of which {line} had to be sent")
    }
}

fn first_number(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// How far a transfer is: bytes, and percent of all.
pub(super) fn progress(line: &str) -> Option<(u64, u8)> {
    let mut words = line.split_ascii_whitespace();
    let bytes = words.next()?.parse().ok()?;
    let percent = words.next()?.strip_suffix('%')?.parse().ok()?;
    Some((bytes, percent))
}

/// Why a checkpoint did not come.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BringError {
    /// There is no rsync here.
    #[error(
        "rsync is not installed on this host; install it, or keep checkpoints in a shared folder"
    )]
    NoRsync,
    /// It is there and cannot be started.
    #[error("rsync could not be started: {0}")]
    NotRun(String),
    /// What should be brought is not there.
    #[error("its folder is not there any more")]
    SourceMissing,
    /// It is there, with no file in it.
    #[error("its folder is empty there, although the job said that it saved its work")]
    SourceEmpty,
    /// The line was cut, or never came about.
    #[error("the connection broke: {0}")]
    Link(String),
    /// The line is there and nothing comes.
    #[error("nothing came any more: {0}")]
    Silence(String),
    /// The other side does not let this one in.
    #[error("the other side refused: {0}")]
    Refused(String),
    /// The password that is to be shown cannot be read, or others can read it.
    #[error("the password file (`password_file` in [checkpoints]) is of no use: {0}")]
    Password(String),
    /// There is no room here.
    #[error("there is no room for it on this host: {0}")]
    NoRoom(String),
    /// Files cannot be written here.
    #[error("it cannot be written here: {0}")]
    NotWritten(String),
    /// Files could not be read, or did not come whole.
    #[error("some of its files could not be read there, or did not come whole: {0}")]
    Incomplete(String),
    /// Files went away while they were read.
    #[error("some of its files went away while they were read: {0}")]
    Changed(String),
    /// One of the two rsyncs does not know what the other wants.
    #[error("the two rsyncs do not understand each other: {0}")]
    Versions(String),
    /// Somebody ended rsync.
    #[error("rsync was ended by somebody else: {0}")]
    Ended(String),
    /// The time is over.
    #[error("it took longer than the {} that it may take", length(*.0))]
    OverTime(Span),
    /// All came, and could not take its place.
    #[error("checkpoint transferred, but could not be moved into place: {0}")]
    NotPlaced(String),
    /// Something else.
    #[error("rsync ended with {0}")]
    Other(String),
}

impl BringError {
    /// From how rsync ended and what it said; `None` for a code is a signal.
    pub(super) fn read(code: Option<i32>, said: &str) -> BringError {
        let words = words(said);
        let has = |text: &str| said.contains(text);
        let Some(code) = code else { return BringError::Ended(words) };
        match code {
            // Only the beginning of all is a folder to change into.
            23 if has("change_dir ") && has("No such file or directory") => {
                BringError::SourceMissing
            }
            _ if has("No space left") || has("quota exceeded") || has("File too large") => {
                BringError::NoRoom(words)
            }
            // rsync may see the end of the line before it hears how ssh ended.
            12 if NOT_LET_IN.iter().any(|said| has(said)) => BringError::Refused(words),
            1 if has("password file") => BringError::Password(words),
            1 | 2 | 4 | 6 => BringError::Versions(words),
            3 | 11 => BringError::NotWritten(words),
            5 => BringError::Refused(words),
            10 | 12 => BringError::Link(words),
            13 | 14 | 126 | 127 | 255 => BringError::Refused(words),
            19 | 20 => BringError::Ended(words),
            23 | 25 => BringError::Incomplete(words),
            24 => BringError::Changed(words),
            30 | 35 => BringError::Silence(words),
            other => BringError::Other(format!("code {other}: {words}")),
        }
    }

    /// Whether another try at once would end the same.
    pub fn is_lasting(&self) -> bool {
        use BringError::{
            NoRoom, NoRsync, OverTime, Password, SourceEmpty, SourceMissing, Versions,
        };
        match self {
            NoRsync | SourceMissing | SourceEmpty | Versions(_) | OverTime(_) => true,
            // Its GPUs would be held, and others of this host kept from writing.
            NoRoom(_) | Password(_) => true,
            _ => false,
        }
    }
}

/// The first complaint: what comes after it is what followed from it.
fn words(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let first = lines.find(|line| !line.starts_with("Warning:")).or(last);
    let text = first.unwrap_or("it said nothing");
    match text.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// A size for people.
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let unit = UNITS.into_iter().find(|(size, _)| self.0 >= *size);
        match unit {
            // Tenths, rounded down: what is not there is not told.
            Some((size, name)) if self.0 < 10 * size => {
                let tenths = self.0 * 10 / size;
                write!(f, "{}.{} {name}", tenths / 10, tenths % 10)
            }
            Some((size, name)) => write!(f, "{} {name}", self.0 / size),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "\
Number of files: 5 (reg: 2, dir: 2, link: 1)
Number of created files: 2 (reg: 2)
Number of deleted files: 0
Number of regular files transferred: 1
Total file size: 8000012 bytes
Total transferred file size: 8000003 bytes
Literal data: 4429795 bytes
Matched data: 3570208 bytes
File list size: 157
Total bytes sent: 11430
Total bytes received: 4438690

sent 11430 bytes  received 4438690 bytes  8900240.00 bytes/sec
total size is 8000012  speedup is 1.80
";

    #[test]
    fn what_a_transfer_cost() {
        let expected = Report {
            files: 2,
            moved_files: 1,
            total_bytes: 8_000_012,
            sent_bytes: 4_429_795,
            matched_bytes: 3_570_208,
            line_bytes: 4_438_690,
            rate: 8_900_240.0,
        };
        assert_eq!(Report::read(STATS), expected);
        let local = "Total bytes sent: 1126445766\nTotal bytes received: 70";
        assert_eq!(Report::read(local).line_bytes, 1_126_445_766, "the sender is on this machine");
        assert_eq!(Report::read("Number of files: 1 (dir: 1)").files, 0);
        assert_eq!(Report::read("garbage: \u{20ac}\n: \n bytes/sec"), Report::default());
    }

    #[test]
    fn how_far_it_is() {
        let line = "        8000000  99%   79.47MB/s    0:00:00 (xfr#1, to-chk=2/5)";
        assert_eq!(progress(line), Some((8_000_000, 99)));
        assert_eq!(progress("Number of files: 5"), None);
        assert_eq!(progress(""), None);
    }

    #[test]
    fn every_exit_code_has_its_sentence() {
        let cases: &[(Option<i32>, &str, &str, bool)] = &[
            (
                Some(1),
                "ERROR: password file must not be other-accessible\nrsync error: syntax (code 1)",
                "is of no use: ERROR: password file must not be other-accessible",
                true,
            ),
            (Some(1), "unknown option", "do not understand each other: unknown option", true),
            (
                Some(5),
                "@ERROR: Unknown module 'x'\nrsync error: (code 5)",
                "the other side refused: @ERROR: Unknown module 'x'",
                false,
            ),
            (Some(10), "Connection refused (111)", "the connection broke: Connection", false),
            (Some(11), "write failed on \"x\": No space left on device (28)", "no room", true),
            (Some(12), "connection unexpectedly closed", "the connection broke", false),
            (
                Some(12),
                "oef@a-0: Permission denied (publickey).\nconnection unexpectedly closed",
                "the other side refused: oef@a-0: Permission denied",
                false,
            ),
            (
                Some(23),
                "rsync: [sender] change_dir \"/7\" (in oef) failed: No such file or directory (2)",
                "its folder is not there any more",
                true,
            ),
            (Some(23), "open \"x\": Permission denied (13)", "could not be read there", false),
            (Some(24), "file has vanished: \"x\"", "went away while they were read", false),
            (Some(30), "io timeout after 5 seconds", "nothing came any more", false),
            (Some(127), "bash: rsync: command not found", "the other side refused", false),
            (Some(255), "ssh: Could not resolve hostname a-0", "the other side refused", false),
            (Some(77), "", "rsync ended with code 77: it said nothing", false),
            (None, "", "ended by somebody else", false),
        ];
        for (code, said, words, is_lasting) in cases {
            let error = BringError::read(*code, said);
            assert!(error.to_string().contains(words), "{code:?}: {error}");
            assert_eq!(error.is_lasting(), *is_lasting, "{error}");
        }
        let long = BringError::read(Some(12), &"\u{e9}".repeat(1000)).to_string();
        assert!(long.len() < 1000 && long.ends_with("..."));
    }

    #[test]
    fn sizes_for_people() {
        let cases = [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (412 << 20, "412 MiB"),
            ((5 << 30) - 1, "4.9 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
