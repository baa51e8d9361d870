//! Running Slurm's programs. Each has a limit: a controller that does not answer holds nobody up for ever.

use serde::Deserialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often a program that runs is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What is read of a reply. A cluster of 20,000 jobs prints some megabytes.
const REPLY_MAX: u64 = 256 << 20;

/// What is shown of what a program complains about.
const WORDS_MAX: usize = 600;

/// Why Slurm did not do something.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SlurmError {
    /// There is no such program.
    #[error(
        "there is no `{program}` here; install Slurm's client commands on this machine, or set [slurm] bin_dir"
    )]
    Missing {
        /// Its name.
        program: String,
    },
    /// It could not be started.
    #[error("`{program}` could not be run: {why}")]
    NotRun {
        /// Its name.
        program: String,
        /// What the system says.
        why: String,
    },
    /// It did not come back in time.
    #[error(
        "`{program}` did not answer within {seconds} s; is slurmctld running? (`scontrol ping` tells)"
    )]
    TimedOut {
        /// Its name.
        program: String,
        /// The limit.
        seconds: u64,
    },
    /// Nobody wanted its answer any more.
    #[error("`{program}` was given up")]
    GivenUp {
        /// Its name.
        program: String,
    },
    /// It refused.
    #[error("{program}: {words}{}", hint(words))]
    Refused {
        /// Its name.
        program: String,
        /// What it said, without its own name before every line.
        words: String,
    },
    /// It said something that nobody here understands.
    #[error(
        "the reply of `{program}` could not be read: {what}; nothing was decided from it (kept in `{kept}`)"
    )]
    Unreadable {
        /// Its name.
        program: String,
        /// Where it went wrong.
        what: String,
        /// The file with the reply.
        kept: String,
    },
}

impl SlurmError {
    /// The controller or the network is away, as opposed to a refusal.
    pub fn is_outage(&self) -> bool {
        match self {
            SlurmError::TimedOut { .. } | SlurmError::NotRun { .. } => true,
            SlurmError::Refused { words, .. } => {
                let signs = [
                    "Unable to contact",
                    "Socket timed out",
                    "Connection refused",
                    "connect failure",
                    "Zero Bytes were transmitted",
                    "Transport endpoint",
                    "backup mode",
                ];
                signs.iter().any(|sign| words.contains(sign))
            }
            _ => false,
        }
    }
}

impl SlurmError {
    /// Another form of the same question may be answered.
    pub(crate) fn is_about_form(&self) -> bool {
        let signs =
            ["unrecognized option", "nvalid option", "serializer", "data_parser", "openapi"];
        match self {
            SlurmError::Unreadable { .. } => true,
            SlurmError::Refused { words, .. } => signs.iter().any(|sign| words.contains(sign)),
            _ => false,
        }
    }
}

/// The way out of the commonest refusals.
fn hint(words: &str) -> &'static str {
    let hints = [
        ("Invalid partition", "; set [slurm] partition to one of `sinfo -o %P`"),
        ("invalid partition", "; set [slurm] partition to one of `sinfo -o %P`"),
        (
            "Invalid account",
            "; the submitting user needs an association: `sacctmgr add user NAME account=ACCOUNT`, or set [slurm] account",
        ),
        (
            "Invalid qos",
            "; set [slurm] qos to one that the account may use (`sacctmgr show assoc format=account,user,qos`)",
        ),
        (
            "not permitted to use this partition",
            "; the partition's AllowGroups or AllowAccounts leave this user out",
        ),
        (
            "Access/permission denied",
            "; this user may not do that: jobs as other users need root or SlurmUser",
        ),
        (
            "Invalid generic resource",
            "; slurm.conf needs GresTypes=gpu and Gres=gpu:TYPE:COUNT on its nodes",
        ),
    ];
    hints.iter().find(|(sign, _)| words.contains(sign)).map_or("", |(_, hint)| hint)
}

/// How Slurm is called here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slurm {
    /// Its `slurm.conf`; none: what this machine knows.
    pub conf: Option<PathBuf>,
    /// Where its programs are; none: in `PATH`.
    pub bin_dir: Option<PathBuf>,
    /// How long one may take.
    pub limit: Duration,
    /// In which form it is asked for jobs and nodes first; where that cannot be read, the other one is tried.
    pub form: Form,
    /// The folder in which replies are kept that nobody can read; none: the current one.
    pub keep: Option<PathBuf>,
}

/// In which form Slurm prints jobs and nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Columns of our own choosing: the same in all versions, and the least work.
    #[default]
    Text,
    /// `--json`, which has had another shape in almost every version since 21.08.
    Json,
}

impl Slurm {
    /// Runs a program and gives what it printed.
    pub fn call<T: Into<OsString> + Clone>(
        &self,
        program: &str,
        args: &[T],
    ) -> Result<String, SlurmError> {
        self.call_unless(program, args, &|| false)
    }

    /// The same, unless its answer is not wanted any more.
    pub fn call_unless<T: Into<OsString> + Clone>(
        &self,
        program: &str,
        args: &[T],
        give_up: &dyn Fn() -> bool,
    ) -> Result<String, SlurmError> {
        let not_run =
            |why: io::Error| SlurmError::NotRun { program: program.into(), why: why.to_string() };
        // Files and not pipes: what a program starts may keep a pipe open for longer than it runs.
        let (mut out, mut err) =
            (unnamed_file().map_err(not_run)?, unnamed_file().map_err(not_run)?);
        let mut command = self.command(program);
        command.args(args.iter().cloned().map(Into::into)).stdin(Stdio::null());
        command.stdout(out.try_clone().map_err(not_run)?);
        command.stderr(err.try_clone().map_err(not_run)?);
        let status = self.finish(command, program, give_up)?;
        if status.success() {
            return read_all(&mut out).map_err(not_run);
        }
        let words = read_all(&mut err).map_err(not_run)?;
        Err(SlurmError::Refused {
            program: program.into(),
            words: words_of(program, &words, status),
        })
    }

    /// The settings of the cluster, as lines of `NAME = VALUE`.
    pub fn show_config(&self) -> Result<String, SlurmError> {
        self.call("scontrol", &["show", "config"])
    }

    /// Keeps a reply that nobody understands, for whoever mends that.
    pub(crate) fn unreadable(&self, program: &str, what: String, text: &str) -> SlurmError {
        let folder = self.keep.clone().unwrap_or_default();
        let path = folder.join(format!("unreadable-{program}.txt"));
        let kept = match std::fs::write(&path, text) {
            Ok(()) => path.display().to_string(),
            Err(error) => format!("nowhere: {error}"),
        };
        SlurmError::Unreadable { program: program.into(), what, kept }
    }

    fn finish(
        &self,
        mut command: Command,
        program: &str,
        give_up: &dyn Fn() -> bool,
    ) -> Result<ExitStatus, SlurmError> {
        let program = program.to_string();
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SlurmError::Missing { program: program.clone() },
            _ => SlurmError::NotRun { program: program.clone(), why: error.to_string() },
        })?;
        let begun = Instant::now();
        loop {
            let ended = child.try_wait().map_err(|error| SlurmError::NotRun {
                program: program.clone(),
                why: error.to_string(),
            })?;
            if let Some(status) = ended {
                return Ok(status);
            }
            let is_late = begun.elapsed() >= self.limit;
            if is_late || give_up() {
                // It may have ended just now, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                let seconds = self.limit.as_secs();
                return Err(match is_late {
                    true => SlurmError::TimedOut { program, seconds },
                    false => SlurmError::GivenUp { program },
                });
            }
            sleep(LOOK);
        }
    }

    /// A command with what Slurm needs of the environment, and nothing else: what the daemon was given is not for
    /// jobs.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.path(program));
        command.env_clear();
        for name in ["PATH", "LANG", "TZ", "USER", "LOGNAME", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let conf = self.conf.as_ref().map(|path| path.clone().into_os_string());
        if let Some(conf) = conf.or_else(|| std::env::var_os("SLURM_CONF")) {
            command.env("SLURM_CONF", conf);
        }
        // Ctrl-C at the daemon's terminal is not for them.
        command.process_group(0);
        command
    }

    /// Where a program is.
    pub fn path(&self, program: &str) -> PathBuf {
        match &self.bin_dir {
            Some(folder) => folder.join(program),
            None => Path::new(program).to_path_buf(),
        }
    }
}

fn unnamed_file() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let flags =
        rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    match rustix::fs::open(&folder, flags, rustix::fs::Mode::from_raw_mode(0o600)) {
        Ok(file) => Ok(file.into()),
        Err(_) => named_file(&folder),
    }
}

/// Some file systems cannot make a file without a name.
fn named_file(folder: &Path) -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".oef-slurm-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn read_all(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(REPLY_MAX).read_to_end(&mut bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// What a program complained about, in one line.
fn words_of(program: &str, words: &str, status: ExitStatus) -> String {
    let prefix = format!("{program}: ");
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix(&prefix).unwrap_or(line);
        line.strip_prefix("error: ").unwrap_or(line).to_string()
    };
    let mut lines: Vec<String> = words.lines().map(line).filter(|line| !line.is_empty()).collect();
    lines.dedup();
    if lines.is_empty() {
        return format!("it ended with {status}");
    }
    let mut text = lines.join("; ");
    if let Some((at, _)) = text.char_indices().nth(WORDS_MAX) {
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm(folder: &Path, script: &str) -> Slurm {
        let path = folder.join("sbatch");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        let mut sh = Command::new("sh");
        sh.arg("-c").arg(format!("chmod 755 '{}'", path.display()));
        assert!(sh.status().expect("sh").success());
        Slurm { bin_dir: Some(folder.into()), limit: Duration::from_secs(20), ..Slurm::default() }
    }

    #[test]
    fn refusals_say_the_way_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1";
        let error = slurm(folder.path(), script).call("sbatch", &["a"]).expect_err("refused");
        let text = error.to_string();
        assert!(
            text.starts_with("sbatch: invalid partition specified: x; set [slurm] partition"),
            "{text}"
        );
        assert!(!error.is_outage());
        let missing = Slurm {
            bin_dir: Some("/nowhere".into()),
            limit: Duration::from_secs(1),
            ..Slurm::default()
        };
        let error = missing.call("squeue", &["-h"]).expect_err("missing");
        assert!(error.to_string().contains("there is no `squeue` here"), "{error}");
    }

    #[test]
    fn programs_that_hang_are_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hanging = slurm(folder.path(), "exec sleep 1000");
        let given_up = hanging.call_unless("sbatch", &["a"], &|| true);
        assert_eq!(given_up, Err(SlurmError::GivenUp { program: "sbatch".into() }));
        hanging.limit = Duration::from_millis(1);
        let late = hanging.call("sbatch", &["a"]).expect_err("late");
        assert!(late.is_outage() && matches!(late, SlurmError::TimedOut { .. }));
    }

    #[test]
    fn outages_are_told_from_refusals() {
        let refused =
            |words: &str| SlurmError::Refused { program: "sbatch".into(), words: words.into() };
        assert!(refused("Unable to contact slurm controller (connect failure)").is_outage());
        assert!(
            refused("Batch job submission failed: Socket timed out on send/recv operation")
                .is_outage()
        );
        assert!(!refused("Batch job submission failed: Invalid qos specification").is_outage());
    }
}
