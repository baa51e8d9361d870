//! The command line of rsync. Pure.

use super::fetch::{Fetch, Source};
use oef_sched::Span;
use std::ffi::OsString;
use std::path::Path;

/// Where rsync keeps what it has of a file, in every folder.
pub(super) const PARTIAL: &str = ".oef-partial";

/// How long a connection may take to come about, in seconds.
const CONNECT_SECONDS: u32 = 30;

/// What holds for ssh unless the options say otherwise: nobody is there to answer a question, and no
/// process may stay behind to share the connection with others.
const SSH_DEFAULTS: [&str; 3] = ["BatchMode=yes", "ControlMaster=no", "ConnectTimeout=30"];

/// What holds for every transfer. What is too much is removed when all has arrived.
const ALWAYS: [&str; 12] = [
    "--recursive",
    "--links",
    // A file with two names stays one file, and holes stay holes: a copy takes no more room than what it is of.
    "--hard-links",
    "--sparse",
    "--perms",
    "--times",
    "--delete-delay",
    // The sum of all sizes is known from the beginning: for the percentage.
    "--no-inc-recursive",
    "--stats",
    "--no-human-readable",
    "--info=progress2",
    "--outbuf=L",
];

/// What is on this host before a try.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here<'a> {
    /// The last good copy, if there is one: what it has already is linked, not sent.
    pub(super) basis: Option<&'a Path>,
    /// Where the files arrive.
    pub(super) staging: &'a Path,
    /// Whether either has a file. Then every file is compared by its checksum and not by its time: a damaged
    /// byte is mended. If not, there is nothing to compare, and nobody has to read all files twice.
    pub(super) has_files: bool,
}

/// The arguments that bring a folder here. A line on which nothing comes for `silence` is given up.
pub(super) fn arguments(fetch: &Fetch, here: &Here<'_>, silence: Span) -> Vec<OsString> {
    let Here { basis, staging, has_files } = here;
    let mut args: Vec<OsString> = ALWAYS.iter().map(OsString::from).collect();
    if *has_files {
        args.push("--checksum".into());
    }
    args.push(format!("--partial-dir={PARTIAL}").into());
    args.push(format!("--timeout={}", silence.0.div_ceil(1000).max(1)).into());
    if let Some(limit) = fetch.limits.kib_per_second {
        args.push(format!("--bwlimit={}", limit.max(1)).into());
    }
    if let Some(basis) = basis {
        args.push(joined("--link-dest=", basis));
    }
    match &fetch.source {
        Source::Folder { path } => {
            args.push("--".into());
            args.push(folder(path.into()));
        }
        Source::Ssh { destination, port, options, path } => {
            args.push(format!("--rsh={}", shell(*port, options)).into());
            args.push("--".into());
            args.push(folder(joined(&format!("{destination}:"), path)));
        }
        Source::Daemon { url, password_file } => {
            args.push(format!("--contimeout={CONNECT_SECONDS}").into());
            args.extend(password_file.as_deref().map(|file| joined("--password-file=", file)));
            args.push("--".into());
            args.push(folder(url.into()));
        }
    }
    args.push(folder(staging.as_os_str().into()));
    args
}

fn joined(before: &str, path: &Path) -> OsString {
    let mut text = OsString::from(before);
    text.push(path);
    text
}

/// With a slash at its end: what is in it, not the folder itself.
fn folder(mut name: OsString) -> OsString {
    if !name.as_encoded_bytes().ends_with(b"/") {
        name.push("/");
    }
    name
}

/// The remote shell as rsync takes it apart again. The first word on a matter is the one that ssh heeds.
fn shell(port: Option<u16>, options: &[String]) -> String {
    let mut words = vec!["ssh".to_string()];
    words.extend(options.iter().map(|option| quoted(option)));
    words.extend(port.map(|port| format!("-p {port}")));
    words.extend(SSH_DEFAULTS.iter().map(|option| format!("-o {option}")));
    words.join(" ")
}

/// A word in rsync's own quotes: a quote inside is doubled.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::super::fetch::FetchLimits;
    use super::*;

    fn line(source: Source, limits: FetchLimits, basis: Option<&str>) -> String {
        let fetch = Fetch { from: "a-0".into(), source, is_known: true, limits };
        let staging = Path::new("/n/b/.7.oef-incoming");
        let here = Here { basis: basis.map(Path::new), staging, has_files: basis.is_some() };
        let args = arguments(&fetch, &here, limits.silence);
        let words: Vec<String> =
            args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let (always, rest) = words.split_at(ALWAYS.len());
        assert_eq!(always, ALWAYS);
        rest.join(" ")
    }

    #[test]
    fn what_rsync_is_told() {
        let plain = FetchLimits { silence: Span(1500), ..FetchLimits::default() };
        let slow = FetchLimits { kib_per_second: Some(512), ..FetchLimits::default() };
        let end = "/n/b/.7.oef-incoming/";
        assert_eq!(
            line(Source::Folder { path: "/n/a/7".into() }, plain, Some("/n/b/7")),
            format!(
                "--checksum --partial-dir=.oef-partial --timeout=2 --link-dest=/n/b/7 -- /n/a/7/ {end}"
            )
        );
        let ssh = Source::Ssh {
            destination: "oef@a-0".into(),
            port: Some(2222),
            options: vec!["-i".into(), "/k e/y's".into()],
            path: "/n/a/7".into(),
        };
        assert_eq!(
            line(ssh, slow, None),
            format!(
                "--partial-dir=.oef-partial --timeout=120 --bwlimit=512 --rsh=ssh -i '/k e/y''s' -p 2222 \
                 -o BatchMode=yes -o ControlMaster=no -o ConnectTimeout=30 -- oef@a-0:/n/a/7/ {end}"
            )
        );
        let daemon = Source::Daemon {
            url: "rsync://a-0:8730/oef/7/".into(),
            password_file: Some("/etc/oef.secret".into()),
        };
        assert_eq!(
            line(daemon, plain, None),
            format!(
                "--partial-dir=.oef-partial --timeout=2 --contimeout=30 --password-file=/etc/oef.secret -- \
                 rsync://a-0:8730/oef/7/ {end}"
            )
        );
    }
}
