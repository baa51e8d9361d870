//! What the executor asks of a Slurm cluster.

use super::ask::fresh_mark;
use super::cluster::{GpuNode, NodeState, Told};
use super::command::SlurmError;
use super::parse::{self, JobRow, JobState, lease_of};
use super::settings::SlurmConfig;
use super::spec::SlurmSpec;
use super::submit;
use super::users::uid_of;
use crate::checkpoints::with_leftovers;
use crate::device::{Device, DeviceId};
use crate::error::ExecutorError;
use crate::launch::{Launch, RunAs};
use crate::local::site::{Fate, Site};
use crate::records::{Durability, RunFolder, RunSpec, read_json, write_json};
use crate::users::{User, job_user};
use oef_sched::{Generation, JobId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Programs of Slurm that submit at the same time. More would only wait for each other in the controller.
const SUBMITS_MAX: usize = 8;

/// How long a start of the daemon waits until what nobody holds is gone. Later it is ended on the way.
const KILL_LIMIT: Duration = Duration::from_secs(15);

/// A grace time that nobody can read any more counts as this.
const GRACE_UNKNOWN: Duration = Duration::from_secs(30);

/// A lease.
pub(super) type Key = (JobId, Generation);

/// A cluster that Slurm runs.
#[derive(Debug)]
pub(crate) struct SlurmSite {
    pub(super) config: SlurmConfig,
    /// By this word the jobs of this state folder are told from those of another.
    pub(super) tag: String,
    uid: u32,
    state: Mutex<State>,
    pub(super) changed: Condvar,
    submits: Mutex<usize>,
    submit_over: Condvar,
}

/// What is known of the cluster.
#[derive(Debug, Default)]
pub(super) struct State {
    /// By their names in OEF; none: Slurm has not told them yet.
    pub(super) nodes: Option<BTreeMap<String, GpuNode>>,
    pub(super) told: BTreeMap<String, Told>,
    /// Jobs of ours, when Slurm was asked last.
    pub(super) jobs: BTreeMap<Key, Vec<JobRow>>,
    /// When that question was put.
    pub(super) asked: Option<Instant>,
    /// When Slurm took a start.
    pub(super) taken: BTreeMap<Key, Instant>,
    /// The GPUs of starts that are not acknowledged as ended.
    pub(super) held: BTreeMap<Key, Vec<DeviceId>>,
    /// Starts that are to stop.
    pub(super) stops: BTreeMap<Key, Stop>,
    /// The users of starts that do not run as the daemon.
    pub(super) uids: BTreeMap<Key, u32>,
    /// Why Slurm does not answer, if it does not.
    pub(super) outage: Option<String>,
    pub(super) is_resumed: bool,
    pub(super) is_closed: bool,
}

/// A start that is to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) since: Instant,
    /// The time that it has to save its work.
    pub(super) grace: Duration,
    /// When Slurm was last asked to pass it on.
    pub(super) told: Option<Instant>,
}

/// What is noted of a submission, so that it is looked for before it is made again.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Attempt {
    tries: u32,
    id: Option<u64>,
}

impl SlurmSite {
    pub(super) fn new(config: SlurmConfig) -> Result<SlurmSite, ExecutorError> {
        let path = config.dir.join("slurm-tag");
        let tag = tag_in(&path).map_err(ExecutorError::file(&path, "written"))?;
        Ok(SlurmSite {
            config,
            tag,
            uid: rustix::process::getuid().as_raw(),
            state: Mutex::default(),
            changed: Condvar::new(),
            submits: Mutex::new(0),
            submit_over: Condvar::new(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where jobs may run as other users, these have to reach their own folders, and see no others.
    pub(super) fn open_folders(&self) -> Result<(), ExecutorError> {
        if self.uid != 0 {
            return Ok(());
        }
        for folder in
            [self.config.dir.clone(), self.config.dir.join("runs"), self.config.dir.join("jobs")]
        {
            fs::create_dir_all(&folder).map_err(ExecutorError::file(&folder, "made"))?;
            let opened = fs::set_permissions(&folder, Permissions::from_mode(0o711));
            opened.map_err(ExecutorError::file(&folder, "opened"))?;
        }
        Ok(())
    }

    pub(super) fn resumed(&self) {
        self.state().is_resumed = true;
    }

    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// The rows that are ours, by lease. A row of another user with our name and comment is not.
    pub(super) fn ours(&self, rows: Vec<JobRow>) -> BTreeMap<Key, Vec<JobRow>> {
        let mut found: BTreeMap<Key, Vec<JobRow>> = BTreeMap::new();
        for row in rows {
            let Some(key) = lease_of(&row, &self.tag) else { continue };
            if row.uid == self.uid || Some(row.uid) == self.uid_of(key) {
                found.entry(key).or_default().push(row);
            } else {
                warn!(
                    id = row.id,
                    uid = row.uid,
                    name = row.name,
                    "a Slurm job of another user has the name of one of ours; left alone"
                );
            }
        }
        found
    }

    /// The user that a start was submitted for, if not the daemon's.
    fn uid_of(&self, key: Key) -> Option<u32> {
        if let Some(uid) = self.state().uids.get(&key) {
            return Some(*uid);
        }
        let file = self.config.dir.join(format!("runs/{}/{}/launch.json", key.0, key.1));
        let spec: RunSpec = read_json(&file).ok().flatten()?;
        let uid = uid_of(&spec.slurm?.user?)?.uid;
        self.state().uids.insert(key, uid);
        Some(uid)
    }

    /// Asks for all jobs, or those of one name.
    pub(super) fn ask_jobs(
        &self,
        name: Option<&str>,
    ) -> Result<BTreeMap<Key, Vec<JobRow>>, SlurmError> {
        self.config.slurm.jobs(name).map(|rows| self.ours(rows))
    }

    /// The Slurm job of a lease that is not over, if there is one.
    pub(super) fn live_id(state: &State, key: Key) -> Option<(u64, JobState)> {
        let rows = state.jobs.get(&key)?;
        let live = rows.iter().filter(|row| row.state.is_live());
        live.map(|row| (row.id, row.state.clone())).min_by_key(|(id, _)| *id)
    }

    fn submit(
        &self,
        run: &RunFolder,
        spec: &RunSpec,
        give_up: &dyn Fn() -> bool,
    ) -> Result<u64, SlurmError> {
        let Some(slurm) = &spec.slurm else {
            return Err(SlurmError::GivenUp { program: "sbatch".into() });
        };
        let _turn = self.turn(give_up);
        if give_up() {
            return Err(SlurmError::GivenUp { program: "sbatch".into() });
        }
        let arguments = submit::arguments(spec, slurm, run);
        let text = self.config.slurm.call_unless("sbatch", &arguments, give_up)?;
        let id = text.trim().split(';').next().unwrap_or_default();
        let bad = |_| self.config.slurm.unreadable("sbatch", format!("`{}`", text.trim()), &text);
        id.parse().map_err(bad)
    }

    /// Notes the GPUs of a start that was begun before the daemon was.
    fn note_held(&self, run: &RunFolder) {
        let key = (run.job(), run.generation());
        if self.state().held.contains_key(&key) {
            return;
        }
        if let Ok(Some(spec)) = read_json::<RunSpec>(&run.launch_file()) {
            let devices = spec.devices.iter().map(Device::id).collect();
            self.state().held.insert(key, devices);
        }
    }

    /// Waits for one of the few places of programs that submit.
    fn turn(&self, give_up: &dyn Fn() -> bool) -> Turn<'_> {
        let mut busy = self.submits.lock().unwrap_or_else(PoisonError::into_inner);
        while *busy >= SUBMITS_MAX && !give_up() {
            let waited = self.submit_over.wait_timeout(busy, Duration::from_millis(100));
            (busy, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *busy += 1;
        Turn(self)
    }

    fn took(&self, run: &RunFolder, spec: &RunSpec) {
        let key = (run.job(), run.generation());
        let mut state = self.state();
        state.taken.insert(key, Instant::now());
        state.held.insert(key, spec.devices.iter().map(Device::id).collect());
        drop(state);
        self.changed.notify_all();
    }

    /// The user whose name is given to Slurm.
    fn user_for(&self, launch: &Launch) -> Option<String> {
        match &launch.run_as {
            RunAs::User(name) => Some(name.clone()),
            RunAs::Daemon => self.config.rules.user_for(&launch.tenant),
        }
    }

    fn error(run: &RunFolder, error: &SlurmError) -> ExecutorError {
        ExecutorError::Slurm { job: run.job(), detail: error.to_string() }
    }
}

struct Turn<'a>(&'a SlurmSite);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut busy = self.0.submits.lock().unwrap_or_else(PoisonError::into_inner);
        *busy = busy.saturating_sub(1);
        self.0.submit_over.notify_one();
    }
}

impl Site for SlurmSite {
    fn user(&self, launch: &Launch) -> Result<Option<User>, String> {
        let Some(user) = self.user_for(launch) else { return Ok(None) };
        match uid_of(&user) {
            None => Err(format!("it is to run as `{user}`, and there is no such user here")),
            Some(found) if found.uid != self.uid && self.uid != 0 => Err(format!(
                "it is to run as `{user}`, and only a daemon that runs as root may submit for others; \
                 remove [slurm] user_of to run all jobs as the daemon's user"
            )),
            Some(_) => job_user(&user),
        }
    }

    fn devices(&self, wanted: &[DeviceId]) -> Result<Result<Vec<Device>, String>, ExecutorError> {
        let state = self.state();
        let Some(nodes) = &state.nodes else {
            let why =
                state.outage.clone().unwrap_or_else(|| "Slurm has not listed its nodes yet".into());
            return Err(ExecutorError::NoNodes { why });
        };
        let mut found = Vec::new();
        for id in wanted {
            let node = nodes.values().find(|node| node.device_ids().contains(id));
            let Some(node) = node else { return Ok(Err("its GPUs are not here any more".into())) };
            match (&node.state, state.told.get(&node.host)) {
                (NodeState::Silent(why), _) => {
                    let why = format!("node {} is {why}", node.node);
                    return Err(ExecutorError::NoNodes { why });
                }
                (NodeState::Drained(why) | NodeState::Down(why), _) => {
                    return Ok(Err(format!("node {} is {why}", node.node)));
                }
                (NodeState::Up, Some(Told::Usable { foreign, .. })) if foreign.contains(id) => {
                    return Ok(Err(format!("another job of the cluster uses the GPU {id}")));
                }
                _ => {}
            }
            found.extend(node.devices().into_iter().find(|device| device.id() == *id));
        }
        Ok(Ok(found))
    }

    fn hosts(&self) -> BTreeSet<String> {
        self.state().nodes.iter().flat_map(|nodes| nodes.keys().cloned()).collect()
    }

    fn complete(&self, spec: &mut RunSpec, launch: &Launch) {
        let rules = &self.config.rules;
        let submit = rules.submit_for(&launch.tenant, &launch.workload);
        let state = self.state();
        let nodes = state.nodes.clone().unwrap_or_default();
        drop(state);
        let worker = |device: &Device| {
            let node = nodes.get(&device.host);
            let name = node.map_or(&device.host, |node| &node.node).clone();
            let gpu_type = node.and_then(|node| node.slurm_type.clone());
            submit::WorkerPlace { node: name, gpu_type, host: device.host.clone() }
        };
        let workers: Vec<_> = spec.devices.iter().map(worker).collect();
        let (parts, places) = submit::parts(&workers);
        let first = spec.devices.first().and_then(|device| nodes.get(&device.host));
        spec.master_addr = first.map(|node| node.address.clone());
        spec.command = submit.wrap(std::mem::take(&mut spec.command));
        // Programs are not kept warm on a node that may be another one the next time.
        spec.warm = Vec::new();
        let user = self.user_for(launch);
        if user.is_some() {
            drop_own_variables(&mut spec.env);
        }
        spec.slurm = Some(SlurmSpec {
            name: parse::name_of(&self.tag, launch.job),
            comment: parse::comment_of(&self.tag, launch.job, launch.generation),
            user,
            parts,
            places,
            options: submit::options(&submit),
            lines: submit::lines(&submit),
            srun: self.config.slurm.path("srun"),
        });
    }

    fn spawn(&self, run: &RunFolder, give_up: &dyn Fn() -> bool) -> Result<(), ExecutorError> {
        let path = run.launch_file();
        let spec: Option<RunSpec> = read_json(&path).map_err(ExecutorError::file(&path, "read"))?;
        let Some(spec) = spec else { return Ok(()) };
        let Some(slurm) = &spec.slurm else { return Ok(()) };
        let file = run.path().join("slurm.json");
        let known = read_json::<Attempt>(&file).map_err(ExecutorError::file(&file, "read"))?;
        let mut attempt = known.unwrap_or_default();
        if attempt.tries > 0 {
            // It may have been taken although nobody heard so.
            let found =
                self.ask_jobs(Some(&slurm.name)).map_err(|error| Self::error(run, &error))?;
            if found.contains_key(&(run.job(), run.generation())) {
                self.took(run, &spec);
                return Ok(());
            }
        }
        let script = submit::script_file(run);
        let text = submit::script(&spec, slurm, run, &self.config.runner);
        fs::write(&script, text).map_err(ExecutorError::file(&script, "written"))?;
        attempt.tries += 1;
        let noted = write_json(&file, &attempt, Durability::Disk);
        noted.map_err(ExecutorError::file(&file, "written"))?;
        let id = self.submit(run, &spec, give_up).map_err(|error| Self::error(run, &error))?;
        info!(job = %run.job(), generation = %run.generation(), slurm_job = id, "submitted");
        self.took(run, &spec);
        attempt.id = Some(id);
        // For people who look.
        let _ = write_json(&file, &attempt, Durability::Process);
        Ok(())
    }

    fn stop(&self, run: &RunFolder) {
        let spec = read_json::<RunSpec>(&run.launch_file()).ok().flatten();
        let grace = spec.map_or(GRACE_UNKNOWN, |spec| Duration::from_millis(spec.grace.0));
        let stop = Stop { since: Instant::now(), grace, told: None };
        self.state().stops.entry((run.job(), run.generation())).or_insert(stop);
        self.changed.notify_all();
    }

    fn fate(&self, run: &RunFolder, since: Instant, has_begun: bool) -> Fate {
        let key = (run.job(), run.generation());
        self.note_held(run);
        let state = self.state();
        let Some(asked) = state.asked else { return Fate::Alive };
        let known = state.taken.get(&key).copied().unwrap_or(since);
        let Some(rows) = state.jobs.get(&key).filter(|rows| !rows.is_empty()) else {
            return match known < asked {
                false => Fate::Alive,
                true if has_begun => Fate::Over("Slurm does not know its job any more".to_string()),
                // Submitted and forgotten, or being submitted just now.
                true if state.taken.contains_key(&key) => Fate::Lost,
                true => Fate::Alive,
            };
        };
        if let Some(row) = rows.iter().find(|row| row.state.is_live()) {
            return match row.state {
                JobState::Pending if !has_begun => Fate::Waits(waiting(row)),
                _ => Fate::Alive,
            };
        }
        match rows.first() {
            Some(row) if known < asked => Fate::Over(over(row)),
            _ => Fate::Alive,
        }
    }

    fn kill_unheld(&self, held: &BTreeSet<Key>) {
        let began = Instant::now();
        loop {
            let unheld: Vec<u64> = match self.ask_jobs(None) {
                Ok(jobs) => {
                    let unheld = jobs.iter().filter(|(key, _)| !held.contains(key));
                    let rows = unheld.flat_map(|(_, rows)| rows);
                    rows.filter(|row| row.state.is_live()).map(|row| row.id).collect()
                }
                Err(error) => {
                    warn!(%error, "Slurm does not answer; what nobody holds is ended later");
                    return;
                }
            };
            if unheld.is_empty() || began.elapsed() > KILL_LIMIT {
                return;
            }
            warn!(?unheld, "nobody holds these Slurm jobs: killed");
            self.cancel(&["--signal=KILL", "--full"], &unheld);
            // A job that waits hears no signal.
            self.cancel(&[], &unheld);
            sleep(Duration::from_millis(100));
        }
    }

    fn kill(&self, run: &RunFolder) {
        let id = Self::live_id(&self.state(), (run.job(), run.generation()));
        if let Some((id, _)) = id {
            self.cancel(&["--signal=KILL", "--full"], &[id]);
            self.cancel(&[], &[id]);
        }
    }

    fn remove_copies(
        &self,
        spec: &RunSpec,
        host: &str,
        folder: &Path,
    ) -> Result<(), ExecutorError> {
        let Some(slurm) = &spec.slurm else { return Ok(()) };
        let nodes = self.state().nodes.clone();
        let Some(nodes) = nodes else {
            let why = "Slurm has not listed its nodes yet".into();
            return Err(ExecutorError::NoNodes { why });
        };
        // What is on a node that is gone is gone with it.
        let Some(node) = nodes.get(host) else { return Ok(()) };
        let words = submit::cleaning(&self.tag, slurm, &node.node, &with_leftovers(folder));
        let detail =
            |error: SlurmError| ExecutorError::Slurm { job: spec.job, detail: error.to_string() };
        self.config.slurm.call("sbatch", &words).map_err(detail)?;
        info!(job = %spec.job, host, "old copies of its checkpoints are removed there");
        Ok(())
    }

    fn forget(&self, job: JobId, generation: Generation) {
        let mut state = self.state();
        let key = (job, generation);
        state.taken.remove(&key);
        state.held.remove(&key);
        state.stops.remove(&key);
        state.uids.remove(&key);
    }
}

impl SlurmSite {
    /// Cancels Slurm jobs, or sends them a signal.
    pub(super) fn cancel(&self, options: &[&str], ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        let mut words: Vec<String> = vec!["--quiet".into()];
        words.extend(options.iter().map(|option| option.to_string()));
        words.extend(ids.iter().map(u64::to_string));
        if let Err(error) = self.config.slurm.call("scancel", &words) {
            warn!(%error, ?ids, "scancel did not work; it is tried again");
        }
    }
}

/// What the daemon passes on of its own belongs to its user; the script sets the job's.
fn drop_own_variables(env: &mut BTreeMap<String, String>) {
    for name in ["HOME", "USER", "LOGNAME", "SHELL", "MAIL", "TMPDIR", "XDG_RUNTIME_DIR"] {
        if std::env::var(name).ok().as_ref() == env.get(name) {
            env.remove(name);
        }
    }
}

/// Why a job waits, in words.
fn waiting(row: &JobRow) -> String {
    let reason = match row.reason.as_str() {
        "None" | "" => return "waits in Slurm".to_string(),
        "Resources" | "Priority" => "GPUs or cores of its node are still in use",
        "Dependency" => "its earlier Slurm job has not ended",
        "QOSMaxGRESPerUser" | "AssocGrpGRES" | "AssocMaxGRESPerJob" => {
            "a limit of its account or QOS"
        }
        reason => reason,
    };
    format!("waits in Slurm: {reason} (Slurm job {})", row.id)
}

/// What Slurm says of a job that is over.
fn over(row: &JobRow) -> String {
    let JobState::Over(word) = &row.state else { return format!("Slurm job {} is over", row.id) };
    let (id, nodes) = (row.id, row.nodes.join(","));
    match word.as_str() {
        "NODE_FAIL" => format!("Slurm lost its node {nodes} (NODE_FAIL, Slurm job {id})"),
        "CANCELLED" => format!(
            "its Slurm job {id} was cancelled outside of OEF (scancel); `oef cancel` ends a job for good"
        ),
        "TIMEOUT" => format!("its Slurm job {id} reached the time limit of its partition"),
        "OUT_OF_MEMORY" => format!("Slurm ended it on {nodes}: out of memory (Slurm job {id})"),
        word => format!("Slurm ended its job {id} on {nodes}: {word}"),
    }
}

fn tag_in(path: &Path) -> io::Result<String> {
    let is_tag = |tag: &str| tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Ok(known) = fs::read_to_string(path)
        && is_tag(known.trim())
    {
        return Ok(known.trim().to_string());
    }
    let tag = fresh_mark()[1..9].to_string();
    fs::write(path, format!("{tag}\n"))?;
    fs::File::open(path)?.sync_all()?;
    Ok(tag)
}
