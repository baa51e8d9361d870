//! Launchers: one for each tenant, interpreter and list of modules, started when a job needs it.
//!
//! A launcher is nobody's child and outlives the daemon, which finds it again by the lock in its folder,
//! `STATE/warm/KEY`. It ends by itself when nobody needs it, and when its socket is gone.

use super::open::Inner;
use super::spawn::{CALL_LIMIT, wait_for};
use crate::cgroup::ControlGroup;
use crate::event::LeaseEvent;
use crate::exhaustion::is_exhausted;
use crate::family::Process;
use crate::processes::{self, WARM_DIR};
use crate::records::{Durability, Lock, RunFolder, RunSpec, write_json};
use crate::remove_tree::remove_tree;
use crate::untrusted;
use crate::warm::{Warm, interpreter_words};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use tracing::{info, warn};

/// Launchers at the same time. Each holds what its modules take, half a gigabyte for a large one.
const LAUNCHERS_MAX: usize = 8;

/// A launcher that nobody asks for so long ends.
const IDLE_SECONDS: u32 = 3600;

/// And after so long it makes room for another, if there are as many as may be: otherwise the first tenants would
/// keep the others out.
const YIELDS_AFTER: Duration = Duration::from_secs(300);

/// After that long it is tried again whether a list of modules can be forked after all.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// One that could not be started is not tried again for this long, by all who wait for it now or come soon.
const FAILED_FOR: Duration = Duration::from_secs(60);
const FAILED: &str = "failed";

/// A lock that is only looked at is free again after this.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// Folders of launchers that ended so long ago are removed.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// The worker shows the folder of its start where the launcher had this variable: a path, and its name.
const ROOM: &str = "OEF_WARM_ROOM";
const ROOM_BYTES: usize = 8192;

/// Variables that modules read while they are imported, by their beginnings. The client has the same list
/// and refuses a launcher that differs in one of them.
const AT_IMPORT: [&str; 29] = [
    "PYTHON",
    "LD_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "NUMEXPR_",
    "TORCH",
    "PYTORCH_",
    "CUDA_",
    "CUBLAS_",
    "CUDNN_",
    "NCCL_",
    "NVIDIA_",
    "TF_",
    "XLA_",
    "JAX_",
    "HF_",
    "TRANSFORMERS_",
    "MALLOC_",
    "GLIBC_",
    "LC_",
    "XDG_",
    "LANG",
    "HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
];

/// And those that are read later, when CUDA starts or a stream is opened: the worker's own.
const AFTER_IMPORT: [&str; 4] =
    ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_", "PYTHONUNBUFFERED"];

/// What a launcher is given besides.
const GIVEN: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TZ",
    "TMPDIR",
    "LANGUAGE",
    // Where `python` is a script that looks for the version to run.
    "PYENV_ROOT",
    "PYENV_VERSION",
];

impl Inner {
    /// Sees to the launcher of a job that wants one, and leaves word for its workers. Whatever goes wrong,
    /// the job runs: then the plain way.
    pub(super) fn warm_up(&self, launch: &RunSpec, run: &RunFolder) {
        if launch.warm.is_empty() {
            return;
        }
        let launcher = match &launch.user {
            Some(user) => {
                Err(format!("launchers run as the daemon's user, and this job as `{}`", user.name))
            }
            None => self.launcher(launch),
        };
        let warm = launcher.unwrap_or_else(|why| {
            info!(job = %launch.job, %why, "started without a launcher");
            Warm::Plain(why)
        });
        let path = run.warm_file();
        if let Err(error) = write_json(&path, &warm, Durability::Process) {
            warn!(file = %path.display(), %error, "not written");
        }
    }

    /// Lets every launcher end. What they have started runs on.
    pub(super) fn end_launchers(&self) {
        let all = folders(&self.warm_dir());
        for folder in &all {
            let _ = fs::remove_file(folder.join("socket"));
        }
        let begun = Instant::now();
        while begun.elapsed() < ENDS_ITSELF && all.iter().any(|folder| is_held(folder)) {
            sleep(Duration::from_millis(20));
        }
        all.iter().for_each(|folder| self.kill_launcher(folder));
    }

    /// A launcher is the tenant's code: it ends when nobody needs it, whether it wants to or not.
    pub(super) fn end_idle_launchers(&self) {
        let limit = Duration::from_secs(u64::from(IDLE_SECONDS)) + ENDS_ITSELF;
        for folder in folders(&self.warm_dir()) {
            if age(&folder.join(USED)).is_some_and(|idle| idle > limit) {
                self.kill_launcher(&folder);
            }
        }
    }

    /// No launcher outlives its tenant.
    pub(super) fn end_launchers_of(&self, tenant: &str) -> io::Result<()> {
        if let Err(error) = fs::read_dir(self.warm_dir())
            && is_exhausted(&error)
        {
            return Err(error);
        }
        for folder in folders(&self.warm_dir()) {
            match untrusted::read(&folder.join(TENANT), 4096) {
                Ok(name) if name == tenant.as_bytes() => {
                    info!(%tenant, folder = %folder.display(), "its tenant is gone: the launcher is ended");
                    self.kill_launcher(&folder);
                }
                Err(error) if is_exhausted(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn kill_launcher(&self, folder: &Path) {
        let _ = fs::remove_file(folder.join("socket"));
        if let Some(group) = self.launcher_group(folder) {
            // Jobs that were forked from it run on, unless an old package left them in the wrong group.
            let is_job = |pid: i32| {
                let run =
                    processes::run_of(pid, self.runs.path()).and_then(|run| RunFolder::at(&run));
                run.is_some_and(|run| self.is_watched(&run))
            };
            let own = group.processes().into_iter().filter(|pid| !is_job(*pid));
            own.filter_map(Process::of).for_each(|process| process.kill());
            group.remove();
        }
        if processes::kill_launcher(folder) {
            warn!(folder = %folder.display(), "a launcher did not end by itself: killed");
        }
    }

    fn launcher_group(&self, folder: &Path) -> Option<ControlGroup> {
        let name = format!("warm-{}", folder.file_name()?.to_str()?);
        self.groups.as_ref().map(|groups| groups.named(&name))
    }

    fn warm_dir(&self) -> PathBuf {
        self.config.dir.join("warm")
    }

    fn launcher(&self, launch: &RunSpec) -> Result<Warm, String> {
        let wanted = Wanted::new(launch)?;
        let folder = self.warm_dir().join(wanted.key());
        let unusable = |error: io::Error| format!("`{}`: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        if is_free(&folder).map_err(unusable)? {
            let waits = LeaseEvent::Preparing("waits for its launcher".to_string());
            self.events.lease(launch.job, launch.generation, waits);
        }
        // Jobs that need the same launcher at the same time: the first starts it.
        let is_to_stop = || self.lanes.is_to_stop(launch.job, launch.generation);
        let give_up = || self.is_closed() || is_to_stop();
        let starting = Lock::take_within(&folder.join("starting"), 2 * CALL_LIMIT, give_up);
        let Some(_starting) = starting.map_err(unusable)? else {
            return Err("its launcher was waited for in vain".to_string());
        };
        if is_free(&folder).map_err(unusable)? {
            if let Some(why) = refusal(&folder) {
                return Err(why);
            }
            self.make_room(&folder)?;
            let group = self.launcher_group(&folder).filter(|group| group.make().is_ok());
            wanted
                .spawn(&folder, group.as_ref(), give_up)
                .inspect_err(|why| note_failure(&folder, why))?;
            let (tenant, modules) = (&launch.tenant, launch.warm.join(","));
            info!(%tenant, %modules, folder = %folder.display(), "a launcher was started");
        }
        let client = untrusted::read(&folder.join("client"), 4096).map_err(unusable)?;
        let client = String::from_utf8_lossy(&client).into_owned();
        mark_used(&folder).map_err(unusable)?;
        Ok(Warm::Launcher { socket: folder.join("socket"), client: client.trim_end().into() })
    }

    /// Removes what ended launchers left, and lets one end that nobody needs, if there are too many.
    fn make_room(&self, own: &Path) -> Result<(), String> {
        let mut living = Vec::new();
        for folder in folders(&self.warm_dir()).into_iter().filter(|folder| folder != own) {
            match Lock::try_take(&folder.join("lock")) {
                Ok(Some(_lock)) if age(&folder).is_some_and(|age| age > KEPT_FOR) => {
                    let _ = remove_tree(&folder);
                }
                // Without its socket it is about to end.
                Ok(None) if folder.join("socket").exists() => living.push(folder),
                _ => {}
            }
        }
        if living.len() < LAUNCHERS_MAX {
            return Ok(());
        }
        let count = living.len();
        let idle = |folder: &PathBuf| age(&folder.join(USED)).unwrap_or(Duration::ZERO);
        match living.into_iter().max_by_key(idle).filter(|folder| idle(folder) > YIELDS_AFTER) {
            Some(folder) => {
                info!(folder = %folder.display(), "a launcher that nobody needs makes room");
                fs::remove_file(folder.join("socket")).map_err(|error| error.to_string())
            }
            None => Err(format!("{count} launchers run already, and there may be {LAUNCHERS_MAX}")),
        }
    }
}

/// A launcher as it would be started.
#[derive(Debug)]
struct Wanted<'a> {
    launch: &'a RunSpec,
    interpreter: PathBuf,
    /// Of the interpreter.
    options: &'a [String],
    /// Everything but what belongs to OEF, and what changes from start to start.
    variables: BTreeMap<OsString, OsString>,
}

impl Wanted<'_> {
    fn new(launch: &RunSpec) -> Result<Wanted<'_>, String> {
        let words = interpreter_words(&launch.command);
        let words = words.ok_or("its command is not a script in Python")?;
        // Nothing of the daemon's own environment but what jobs are given: it is the tenant's code that runs there.
        let own = launch.env.iter().map(|(name, value)| (OsString::from(name), value.into()));
        let is_given =
            |name: &OsString| GIVEN.iter().any(|given| name == given) || is_read_at_import(name);
        let variables: BTreeMap<OsString, OsString> =
            own.filter(|(name, _)| is_given(name)).collect();
        let program = &launch.command[0];
        let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let interpreter = find(program, &launch.workdir, &path);
        let interpreter = interpreter.ok_or_else(|| format!("there is no program `{program}`"))?;
        Ok(Wanted { launch, interpreter, options: &launch.command[1..words], variables })
    }

    /// A name for all that tells launchers apart.
    fn key(&self) -> String {
        let mut hash = Fnv::default();
        hash.word(self.launch.tenant.as_bytes());
        hash.word(self.interpreter.as_os_str().as_encoded_bytes());
        hash.word(self.launch.warm.join(",").as_bytes());
        self.options.iter().for_each(|option| hash.word(option.as_bytes()));
        for (name, value) in self.variables.iter().filter(|(name, _)| is_read_at_import(name)) {
            hash.word(name.as_encoded_bytes());
            hash.word(value.as_encoded_bytes());
        }
        format!("{:016x}", hash.0)
    }

    /// Starts it. It listens when this returns, and imports meanwhile.
    fn spawn(
        &self,
        folder: &Path,
        group: Option<&ControlGroup>,
        give_up: impl Fn() -> bool,
    ) -> Result<(), String> {
        let failed = |error: io::Error| format!("its launcher could not be started: {error}");
        let log = folder.join("log");
        let (out, err) = untrusted::create(&log)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(failed)?;
        fs::write(folder.join(TENANT), &self.launch.tenant).map_err(failed)?;
        // The shell goes into the group, so that everything after it is there.
        let procs = group.map(|group| group.path().join("cgroup.procs"));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "[ -z \"$0\" ] || echo 0 > \"$0\"; exec \"$@\""]);
        command.arg(procs.unwrap_or_default()).arg(&self.interpreter);
        command.args(self.options).args(["-m", "oef.launcher", "--detach"]);
        command.arg("--preload").arg(self.launch.warm.join(","));
        command.arg("--socket").arg(folder.join("socket"));
        command.arg("--tenant").arg(&self.launch.tenant);
        command.arg("--idle").arg(IDLE_SECONDS.to_string());
        command
            .env_clear()
            .envs(&self.variables)
            .env(WARM_DIR, folder)
            .env(ROOM, "x".repeat(ROOM_BYTES));
        command.current_dir("/").stdin(Stdio::null()).stdout(out).stderr(err);
        let mut child = command.spawn().map_err(failed)?;
        match wait_for(&mut child, give_up).map_err(failed)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let said = untrusted::read(&log, 1 << 20).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                let last = said.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.map_or_else(|| status.to_string(), str::to_string);
                Err(format!("its launcher could not be started: {last}"))
            }
            None => Err("its launcher did not start in time".to_string()),
        }
    }
}

/// Whether no launcher has this folder. Whoever looks has its lock for a moment, and so has a process that is forked
/// in that moment, until it is another program: only a launcher has a socket too.
fn is_free(folder: &Path) -> io::Result<bool> {
    let is_served = || folder.join("socket").exists();
    let lock = Lock::take_within(&folder.join("lock"), LOOKED_AT, is_served)?;
    Ok(lock.is_some())
}

/// Whose a launcher is.
const TENANT: &str = "tenant";

/// A launcher whose socket is gone ends within this; what stands in its place is killed then.
const ENDS_ITSELF: Duration = Duration::from_secs(2);

/// Whether a launcher has this folder.
fn is_held(folder: &Path) -> bool {
    matches!(Lock::try_take(&folder.join("lock")), Ok(None))
}

/// By the time of this file it is known when a launcher was last needed.
const USED: &str = "used";

fn mark_used(folder: &Path) -> io::Result<()> {
    untrusted::open_or_create(&folder.join(USED))?.set_modified(SystemTime::now())
}

/// Why a launcher with these modules gave up lately, or could not be started just now.
fn refusal(folder: &Path) -> Option<String> {
    [("refused", REFUSED_FOR), (FAILED, FAILED_FOR)].into_iter().find_map(|(name, how_long)| {
        let path = folder.join(name);
        let is_recent = age(&path).is_some_and(|age| age < how_long);
        let why = untrusted::read(&path, 64 << 10).ok().filter(|_| is_recent)?;
        Some(String::from_utf8_lossy(&why).trim_end().to_string())
    })
}

/// Leaves word for those who wait for the same launcher.
fn note_failure(folder: &Path, why: &str) {
    if let Err(error) = fs::write(folder.join(FAILED), why) {
        warn!(folder = %folder.display(), %error, "not written");
    }
}

fn age(path: &Path) -> Option<Duration> {
    SystemTime::now().duration_since(fs::metadata(path).ok()?.modified().ok()?).ok()
}

fn folders(warm: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(warm).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn is_read_at_import(name: &OsStr) -> bool {
    begins(name, &AT_IMPORT) && !begins(name, &AFTER_IMPORT)
}

fn begins(name: &OsStr, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes()))
}

/// A program as the system finds it for somebody in that folder.
fn find(program: &str, workdir: &Path, path: &OsStr) -> Option<PathBuf> {
    let places: Vec<PathBuf> = match program.contains('/') {
        true => vec![workdir.to_path_buf()],
        false => std::env::split_paths(path).map(|folder| workdir.join(folder)).collect(),
    };
    places.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// FNV-1a. Two launchers with the same name are not taken for one another: a launcher knows its tenant, and
/// asks for the rest.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn word(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_knows_the_same_variables() {
        let client = include_str!("../../../../python/src/oef/warm.py");
        let listed = |name: &str| -> Vec<String> {
            let (_, rest) = client.split_once(&format!("\n{name} = (")).expect("the list");
            let (list, _) = rest.split_once(')').expect("its end");
            list.split('"').skip(1).step_by(2).map(str::to_string).collect()
        };
        assert_eq!(listed("_AT_IMPORT"), AT_IMPORT);
        assert_eq!(listed("_AFTER_IMPORT"), AFTER_IMPORT);
    }
}
