//! Orders, written down for the runners.

use super::check::check;
use super::isolation::{closed_to_others, make_runners_part, own_folder};
use super::lanes::Work;
use super::open::Inner;
use super::watch::Watched;
use crate::clock::now_ms;
use crate::device::{Device, DeviceId, DeviceKind};
use crate::ending::Ending;
use crate::error::ExecutorError;
use crate::event::LeaseEvent;
use crate::exhaustion::is_exhausted;
use crate::launch::{Launch, Program, Shell};
use crate::records::{Durability, JobFolder, RunFolder, RunSpec, Status, StopOrder, Wanted};
use crate::records::{Reader, read_json, write_json, write_json_for};
use crate::remove_tree::remove_tree;
use crate::untrusted;
use crate::users::User;
use oef_sched::JobId;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, fchown};
use std::path::Path;
use tracing::{info, warn};

/// Starts of a job whose output is kept. Each is bounded by the job's log limit.
const KEPT_STARTS: usize = 10;

/// Shells that an order names: a runner sees them within a second.
const SHELLS_MAX: usize = 16;

/// What comes before a script that names no interpreter.
const SHELL: &[u8] = b"#!/bin/sh\n";

impl Inner {
    /// Does one thing for a job. An error: it could not be done now, and is to be tried again.
    pub(super) fn carry_out(&self, job: JobId, work: &Work) -> Result<(), ExecutorError> {
        match work {
            Work::Start(launch) => self.start(launch),
            Work::Resume(held) => self.take_up(held),
            Work::Keep { generation, until } => {
                let run = self.runs.run(job, *generation);
                match run.launch_file().exists() {
                    true => self.want(&run, Durability::Process, |wanted| wanted.until = *until),
                    // It has not begun, or is long over.
                    false => Ok(()),
                }
            }
            Work::Stop { generation, why } => self.stop(&self.runs.run(job, *generation), why),
            Work::Shell { generation, shell } => {
                let run = self.runs.run(job, *generation);
                match run.launch_file().exists() {
                    true => self.want(&run, Durability::Process, |wanted| {
                        let old = (wanted.shells.len() + 1).saturating_sub(SHELLS_MAX);
                        wanted.shells.drain(..old);
                        wanted.shells.push(Shell::clone(shell));
                    }),
                    false => Ok(()),
                }
            }
            Work::Discard { host } => self.discard(job, host),
            Work::Respawn { generation } => self.respawn(&self.runs.run(job, *generation)),
        }
    }

    fn start(&self, launch: &Launch) -> Result<(), ExecutorError> {
        let run = self.runs.run(launch.job, launch.generation);
        match self.fence(&run) {
            Ok(Fence::Known) if self.is_watched(&run) => Ok(()),
            Ok(Fence::Known) => self.find_again(&run),
            Ok(Fence::New) => self.begin(launch, &run),
            Err(error @ ExecutorError::Stale { .. }) => {
                self.tell_unbegun(&run, Ending::Refused { why: error.to_string() });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a start down and spawns its runner; or tells that it can never be.
    pub(super) fn begin(&self, launch: &Launch, run: &RunFolder) -> Result<(), ExecutorError> {
        let user = || match &self.site {
            Some(site) => site.user(launch),
            None => self.user_of(&launch.run_as),
        };
        let user = match check(launch, self.site.is_none()).map_or_else(user, Err) {
            Ok(user) => user,
            Err(why) => {
                self.tell_unbegun(run, Ending::Impossible { why });
                return Ok(());
            }
        };
        let devices = match &self.site {
            Some(site) => site.devices(&launch.devices)?,
            None => {
                self.devices_of(launch).ok_or_else(|| "its GPUs are not here any more".to_string())
            }
        };
        let devices = match devices {
            Ok(devices) => devices,
            Err(why) => {
                self.tell_unbegun(run, Ending::Refused { why });
                return Ok(());
            }
        };
        // Elsewhere the runner itself is the job's user, and what it needs of the user it has.
        let of_workers = user.clone().filter(|_| self.site.is_none());
        let mut spec = RunSpec { user: of_workers, ..self.spec(launch, devices) };
        let user = user.as_ref();
        if let Some(site) = &self.site {
            site.complete(&mut spec, launch);
        }
        let job_folder = run.job_folder();
        self.tidy(&job_folder);
        let taken = own_folder(job_folder.path(), user);
        taken.map_err(ExecutorError::file(job_folder.path(), "made"))?;
        let path = job_folder.generation_file();
        job_folder.raise_newest(run.generation()).map_err(ExecutorError::file(&path, "written"))?;
        let dir = self.locations.job_dir(launch.job);
        make_folders(&dir, launch, &self.locations.kept(&spec), user)
            .map_err(ExecutorError::file(&dir, "made"))?;
        self.hand_over_folders(&spec, user).map_err(ExecutorError::file(&dir, "handed over"))?;
        let spec = self.with_group(spec)?;
        make_durably(run, user).map_err(ExecutorError::file(run.path(), "made"))?;
        let part = self.make_jobs_part(run, user);
        part.map_err(ExecutorError::file(&run.jobs_part(), "made"))?;
        if let Some(user) = user.filter(|_| self.site.is_some()) {
            let part = make_runners_part(run, &spec, user);
            part.map_err(ExecutorError::file(&run.runners_part(), "made"))?;
        }

        let path = run.launch_file();
        let written = write_json(&path, &spec, Durability::Disk);
        written.map_err(ExecutorError::file(&path, "written"))?;
        if self.site.is_none() {
            self.warm_up(&spec, run);
        }
        // That may have taken a while. The order to stop is the next in the lane, and tells the ending.
        let spawned = match self.lanes.is_to_stop(run.job(), run.generation()) {
            true => None,
            false => Some(self.spawn_runner(run)),
        };
        if !matches!(spawned, Some(Ok(()))) {
            // A runner that comes late finds nothing to run. A cluster may have taken it all the same: then it is
            // looked for at the next try.
            if self.site.is_none() || spawned.is_none() {
                let _ = fs::remove_file(&path);
            }
            return spawned.unwrap_or(Ok(()));
        }
        info!(job = %run.job(), generation = %run.generation(), workers = spec.devices.len(), "started");
        self.watch(Watched::new(run.clone()));
        Ok(())
    }

    /// The folders that the executor keeps for a job belong to whom it runs as.
    fn hand_over_folders(&self, spec: &RunSpec, user: Option<&User>) -> io::Result<()> {
        let Some(user) = user else { return Ok(()) };
        // A folder outside is that of a host, and those of a cluster have disks of their own.
        let is_here = |folder: &&Path| self.site.is_none() || folder.starts_with(&self.config.dir);
        for folder in self.locations.kept(spec).into_iter().filter(is_here) {
            if !folder.starts_with(&self.config.dir) {
                closed_to_others(folder)?;
            }
            if fs::symlink_metadata(folder).is_err() {
                fs::create_dir_all(folder)?;
            }
            self.hand_over(folder, user)?;
        }
        let script = self.locations.job_dir(spec.job).join("script");
        if script.exists() { self.let_pass(&script) } else { Ok(()) }
    }

    /// With a control group, where there are some.
    fn with_group(&self, spec: RunSpec) -> Result<RunSpec, ExecutorError> {
        let Some(groups) = &self.groups else { return Ok(spec) };
        let limits = &self.config.isolation.limits;
        let path = groups.group(spec.job, spec.generation).path().to_path_buf();
        let group = groups.make(spec.job, spec.generation, limits);
        group.map_err(ExecutorError::file(&path, "made"))?;
        Ok(RunSpec { cgroup: Some(path), ..spec })
    }

    /// Whether a start is new, known, or void.
    pub(super) fn fence(&self, run: &RunFolder) -> Result<Fence, ExecutorError> {
        let folder = run.job_folder();
        let path = folder.generation_file();
        match folder.newest().map_err(ExecutorError::file(&path, "read"))? {
            Some(newest) if newest > run.generation() => {
                Err(ExecutorError::Stale { job: run.job(), newest, given: run.generation() })
            }
            Some(newest) if newest == run.generation() && run.launch_file().exists() => {
                Ok(Fence::Known)
            }
            _ => Ok(Fence::New),
        }
    }

    fn stop(&self, run: &RunFolder, why: &str) -> Result<(), ExecutorError> {
        info!(job = %run.job(), generation = %run.generation(), %why, "stopping");
        // A start that waits in the lane is not needed any more, whether it would begin or find again.
        self.lanes.take_start(run.job(), run.generation());
        if !run.launch_file().exists() && !self.is_watched(run) {
            return self.stop_unbegun(run, why);
        }
        if let Some(site) = &self.site
            && !self.is_watched(run)
            && !run.status_file().exists()
        {
            // It was not taken, as far as anybody heard. If it was, it finds this order, and that it is over.
            self.want_stop(run, why)?;
            site.stop(run);
            return self.stop_unbegun(run, why);
        }
        // Whatever becomes of the order: from now on its time runs.
        self.time_stop(run, why);
        let stopped = self.want_stop(run, why).and_then(|()| match self.is_watched(run) {
            true => Ok(()),
            // It was begun before the daemon was restarted, or ended long ago.
            false => self.find_again(run).inspect(|()| self.time_stop(run, why)),
        });
        if let Some(site) = &self.site {
            site.stop(run);
        }
        self.or_give_up(run, stopped)
    }

    /// A cluster has lost a start before it began: it is started again, unless it has begun or ended meanwhile.
    fn respawn(&self, run: &RunFolder) -> Result<(), ExecutorError> {
        match run.launch_file().exists() && self.is_watched(run) && !run.status_file().exists() {
            true => self.spawn_runner(run),
            false => Ok(()),
        }
    }

    /// Sees to it that a lease never begins, and tells so.
    pub(super) fn stop_unbegun(&self, run: &RunFolder, why: &str) -> Result<(), ExecutorError> {
        let detail = format!("{why}; it had not begun");
        self.end_unbegun(run, Ending::Stopped { detail })
    }

    /// Tells the ending of a start of which nothing was written.
    fn tell_unbegun(&self, run: &RunFolder, ending: Ending) {
        warn!(job = %run.job(), generation = %run.generation(), %ending, "not started");
        let ended = LeaseEvent::Ended { ending, exits: Vec::new(), at_ms: now_ms() };
        self.events.lease(run.job(), run.generation(), ended);
    }

    pub(super) fn want_stop(&self, run: &RunFolder, why: &str) -> Result<(), ExecutorError> {
        self.want(run, Durability::Disk, |wanted| {
            // The first reason is the one that counts.
            wanted.stop.get_or_insert(StopOrder { why: why.to_string() });
        })
    }

    fn want(
        &self,
        run: &RunFolder,
        durability: Durability,
        change: impl FnOnce(&mut Wanted),
    ) -> Result<(), ExecutorError> {
        let path = run.order_file();
        // One that cannot be read any more is written anew: only the job can have done that.
        let known = match read_json::<Wanted>(&path) {
            Err(error) if is_exhausted(&error) => {
                return Err(ExecutorError::file(&path, "read")(error));
            }
            known => known.unwrap_or_default(),
        };
        let mut wanted = known.clone().unwrap_or_default();
        change(&mut wanted);
        if known.as_ref() == Some(&wanted) {
            return Ok(());
        }
        let reader = run.runners_user().map_or(Reader::Nobody, |(uid, gid)| Reader::User(uid, gid));
        let written = write_json_for(&path, &wanted, durability, reader);
        written.map_err(ExecutorError::file(&path, "written"))
    }

    fn devices_of(&self, launch: &Launch) -> Option<Vec<Device>> {
        let known = &self.config.devices;
        let find = |id: &DeviceId| known.iter().find(|device| device.id() == *id).cloned();
        launch.devices.iter().map(find).collect()
    }

    /// A launch with everything found.
    pub(super) fn spec(&self, launch: &Launch, devices: Vec<Device>) -> RunSpec {
        let dir = self.locations.job_dir(launch.job);
        let host = devices.first().map_or("", |first| first.host.as_str());
        let (checkpoint_dir, fetch) = self.locations.folder_for(launch, host);
        let mut env = launch.env.clone();
        let is_part = |device: &Device| matches!(device.kind, DeviceKind::Mps { .. });
        if let Some(pipe) = &self.config.mps_pipe_dir
            && devices.iter().any(is_part)
        {
            env.insert("CUDA_MPS_PIPE_DIRECTORY".to_string(), pipe.display().to_string());
        }
        RunSpec {
            job: launch.job,
            generation: launch.generation,
            tenant: launch.tenant.clone(),
            workload: launch.workload.clone(),
            name: launch.name.clone(),
            command: match &launch.program {
                Program::Command(words) => words.clone(),
                Program::Script(_) => vec![dir.join("script").to_string_lossy().into_owned()],
            },
            env,
            workdir: launch.workdir.clone().unwrap_or_else(|| dir.join("work")),
            checkpoint_dir,
            fetch,
            saved_before: Some(launch.checkpoints.saved),
            devices,
            // All nodes are this machine.
            master_addr: None,
            restart: launch.restart,
            finished: launch.finished.clone(),
            stop_signal: launch.stop_signal,
            grace: launch.grace,
            max_run: launch.max_run,
            until: launch.until,
            log_limit_bytes: launch.log_limit_bytes,
            warm: launch.warm.clone(),
            probe: launch.probe,
            slurm: None,
            user: None,
            cgroup: None,
            terminal: launch.terminal.clone(),
        }
    }

    /// Removes the output of starts long ago.
    fn tidy(&self, job: &JobFolder) {
        let runs = job.runs().unwrap_or_default();
        let many = (runs.len() + 1).saturating_sub(KEPT_STARTS);
        for run in runs.iter().take(many) {
            let is_ended = matches!(Status::read(run), Ok(Some(status)) if status.is_ended());
            if is_ended && let Err(error) = remove_tree(run.path()) {
                warn!(folder = %run.path().display(), %error, "not removed");
            }
        }
    }
}

/// Makes a job's own folders, and writes its script.
pub(super) fn make_folders(
    dir: &Path,
    launch: &Launch,
    kept: &[&Path],
    user: Option<&User>,
) -> io::Result<()> {
    let mut kept = kept.iter().filter(|folder| folder.starts_with(dir)).peekable();
    if kept.peek().is_some() || matches!(launch.program, Program::Script(_)) {
        own_folder(dir, user)?;
    }
    for folder in kept.filter(|folder| fs::symlink_metadata(folder).is_err()) {
        fs::create_dir_all(folder)?;
    }
    let Program::Script(text) = &launch.program else { return Ok(()) };
    let first = if text.starts_with(b"#!") { &[] } else { SHELL };
    let draft = dir.join("script.new");
    let mut file = untrusted::create(&draft)?;
    file.write_all(&[first, text.as_slice()].concat())?;
    file.set_permissions(Permissions::from_mode(0o700))?;
    // Nobody but its user may read it.
    user.map_or(Ok(()), |user| fchown(&file, Some(user.uid), Some(user.gid)))?;
    drop(file);
    fs::rename(&draft, dir.join("script"))
}

fn make_durably(run: &RunFolder, user: Option<&User>) -> io::Result<()> {
    own_folder(run.path(), user)?;
    fs::File::open(run.job_folder().path())?.sync_all()
}

/// What is known of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// It may be begun.
    New,
    /// It was begun.
    Known,
}
