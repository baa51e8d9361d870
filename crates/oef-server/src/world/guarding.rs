//! What jobs show, compared with the profiles of their workloads.

use super::{GangEntry, Mark, ProfileEntry, Rejection, World};
use oef_api::types::{EventTopic, FigureSource, JobState, Provenance};
use oef_report::format::counted;
use oef_sched::guard::{
    Corrected, Judgement, News, Notice, Policy, ProfileVerdict, RunPlace, SeenGang, Told, Word,
};
use oef_sched::{JobId, Stands, WorkloadKey};

/// The source of a profile that the guard wrote.
const SEEN: &str = "seen while its jobs ran";

impl World {
    /// A job told how far it is.
    pub(super) fn listen(&mut self, id: JobId) {
        // A profile run is a measurement of its own.
        let Some(job) = self.jobs.get(&id).filter(|job| job.spec.probe.is_none()) else { return };
        let Some(run) = job.run().filter(|_| job.state == JobState::Running) else { return };
        let (generation, told, workload) = (run.generation, &job.telemetry, job.workload);
        let Some(place) = self.place(id, kind(&job.spec)) else { return };
        let word = Word {
            job: id,
            generation,
            workload,
            place,
            steps: told.steps,
            checkpoint: told.checkpoint,
            wait: told.wait,
            clock_ms: told.clock_ms,
        };
        let noticed = self.guard.word(self.at, &word);
        if let Some(notice) = noticed.filter(|_| self.settings.guard != Policy::Off) {
            self.noticed(notice);
        }
    }

    /// What a job tells no longer counts: it stops, or has stopped.
    pub(super) fn stop_listening(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get(&id) {
            self.guard.ended(job.workload, id);
        }
    }

    /// Where a job runs; `None`: not on GPUs of one type.
    fn place(&self, id: JobId, kind: u64) -> Option<RunPlace> {
        let gpus = &self.sched.job(id)?.lease()?.gpus;
        let cluster = self.sched.cluster();
        let node = gpus.first()?.node.0;
        let gpu_type = cluster.nodes().get(node)?.gpu_type();
        let mut nodes: Vec<usize> = gpus.iter().map(|gpu| gpu.node.0).collect();
        nodes.sort();
        nodes.dedup();
        let of_type = |n: &usize| cluster.nodes().get(*n).is_some_and(|n| n.gpu_type() == gpu_type);
        let (workers, count) = (gpus.len() as u32, nodes.len() as u32);
        nodes.iter().all(of_type).then_some(RunPlace {
            gpu_type: gpu_type.0,
            workers,
            nodes: count,
            node,
            kind,
        })
    }

    fn noticed(&mut self, notice: Notice) {
        match notice {
            Notice::HostBound(workload) => {
                let Some(entry) = self.workloads.get(&workload) else { return };
                let tenant = entry.tenant.clone();
                let message = format!(
                    "jobs of {tenant}/{} wait for their data most of the time, not for the GPU",
                    entry.name
                );
                self.note(EventTopic::Tenant, Some(&tenant), message);
            }
            Notice::Crowded(node) => {
                let nodes = self.sched.cluster().nodes();
                let place = match node.and_then(|node| nodes.get(node)) {
                    Some(node) => format!("on {}", node.name()),
                    None => "on all nodes together".into(),
                };
                let message = format!(
                    "most jobs {place} became much slower at the same time; that says nothing about their profiles \
                     and is not counted"
                );
                self.note(EventTopic::Cluster, None, message);
            }
        }
    }

    /// What is to be made of what was seen of every workload, once in a round.
    pub(super) fn judgements(&self) -> Vec<Judgement> {
        let known = |key: &WorkloadKey| self.workloads.get(key).map(|entry| (*key, entry));
        let fresh = self.guard.fresh();
        let judged = fresh.iter().filter_map(known).filter_map(|(key, entry)| {
            let told = self.for_scheduler(&entry.profile);
            self.guard.judgement(key, &told, self.settings.guard)
        });
        judged.collect()
    }

    /// Judges as whoever reads the record (before records meant 2).
    pub(super) fn judge(&mut self) -> Result<(), Rejection> {
        for key in self.guard.fresh() {
            let Some(entry) = self.workloads.get(&key) else { continue };
            let told = self.for_scheduler(&entry.profile);
            if let Some(judgement) = self.guard.judgement(key, &told, self.settings.guard) {
                self.judged(&[judgement])?;
            }
        }
        Ok(())
    }

    /// What jobs showed was compared with the profiles of their workloads.
    pub(super) fn judged(&mut self, judgements: &[Judgement]) -> Result<(), Rejection> {
        for judgement in judgements {
            let key = judgement.workload;
            let Some(entry) = self.workloads.get(&key) else { continue };
            let (tenant, name) = (entry.tenant.clone(), format!("{}/{}", entry.tenant, entry.name));
            let who = match entry.profile.provenance {
                Provenance::Measured => "has a measured profile saying",
                Provenance::Declared | Provenance::Estimated => "says",
            };
            self.guard.settle(judgement);
            let counts =
                if judgement.profile.is_some() { "; what was seen counts now" } else { "" };
            if let Some(seen) = &judgement.profile {
                self.write_seen(key, seen)?;
            }
            self.gangs_seen(key, &judgement.gangs)?;
            let message = match judgement.news {
                None => continue,
                Some(News::Found(verdict)) => {
                    self.totals.false_profiles += u64::from(!verdict.may_be_honest());
                    format!("{}{counts}", self.sentence(&name, who, &verdict))
                }
                Some(News::Replaced(verdict)) => {
                    format!("{}{counts}", self.sentence(&name, who, &verdict))
                }
                Some(News::Cleared) => {
                    format!("what the jobs of {name} show fits its profile again")
                }
                Some(News::Learnt) => {
                    format!("the profile of {name} was an estimate; now it is what its jobs showed")
                }
                Some(News::Refined) => {
                    format!("the profile of {name} follows what more of its jobs showed")
                }
            };
            self.note(EventTopic::Tenant, Some(&tenant), message);
        }
        Ok(())
    }

    /// What is to be made of a profile that somebody tells; `None`: it is believed as it is.
    pub(super) fn told_judgement(
        &self,
        tenant: &str,
        workload: &str,
        profile: &ProfileEntry,
    ) -> Option<Told> {
        if profile.provenance != Provenance::Declared {
            return None;
        }
        // Nothing was seen of one that is new.
        let known = self.tenants.get(tenant).and_then(|tenant| tenant.workloads.get(workload));
        Some(known.map_or_else(Told::default, |key| self.made_of(*key, profile)))
    }

    fn made_of(&self, key: WorkloadKey, profile: &ProfileEntry) -> Told {
        let throughput = self.for_scheduler(profile).throughput;
        self.guard.told_judgement(key, &throughput, self.settings.guard)
    }

    /// Somebody tells a profile: where the operator wants it, what was seen counts all the same.
    pub(super) fn told_profile(
        &mut self,
        key: WorkloadKey,
        profile: &ProfileEntry,
        judged: Option<&Told>,
    ) -> Result<(), Rejection> {
        let mut told = profile.clone();
        if let Some(entry) = self.workloads.get(&key)
            && profile.provenance == Provenance::Declared
        {
            told.keep_seen_gangs(&entry.profile);
        }
        self.replace_profile(key, told, true)?;
        if profile.provenance != Provenance::Declared {
            self.guard.trusted(key);
            return Ok(());
        }
        let judged = judged.cloned().unwrap_or_else(|| self.made_of(key, profile));
        self.guard.settle_told(key, &judged);
        let Some(seen) = &judged.seen else { return Ok(()) };
        self.write_seen(key, seen)?;
        let Some(entry) = self.workloads.get(&key) else { return Ok(()) };
        let (tenant, name) = (entry.tenant.clone(), format!("{}/{}", entry.tenant, entry.name));
        let message = match judged.verdict {
            Some(verdict) => {
                self.totals.false_profiles += u64::from(!verdict.may_be_honest());
                format!("{}; what was seen counts", self.sentence(&name, "says", &verdict))
            }
            None => format!("of {name} what was seen counts, not what it says now"),
        };
        self.note(EventTopic::Tenant, Some(&tenant), message);
        Ok(())
    }

    /// What was seen becomes the profile of a workload.
    fn write_seen(&mut self, key: WorkloadKey, seen: &Corrected) -> Result<(), Rejection> {
        let Some(before) = self.workloads.get(&key).map(|entry| entry.profile.clone()) else {
            return Ok(());
        };
        let told = Mark {
            provenance: before.provenance,
            since_ms: before.since_ms,
            spread: None,
            batches: None,
            cost_s: None,
            detail: Some(before.source.clone()),
            was: None,
        };
        let (provenance, since_ms) = (Provenance::Measured, self.at.0);
        let mut profile = ProfileEntry { provenance, since_ms, source: SEEN.into(), ..before };
        for (index, gpu) in self.sched.cluster().types().iter().enumerate() {
            let on = seen.throughput.get(index).copied().unwrap_or(0.0);
            if on <= 0.0 {
                // That it cannot run there was told, and stays so.
                profile.marks.entry(gpu.clone()).or_insert_with(|| told.clone());
                continue;
            }
            let is_seen = seen.seen.get(index).copied().unwrap_or(false);
            let (provenance, detail) = match is_seen {
                true => (Provenance::Measured, SEEN),
                false => (
                    Provenance::Estimated,
                    "not observed yet; as declared, corrected by what was observed on other types",
                ),
            };
            profile.throughput.insert(gpu.clone(), on);
            let detail = Some(detail.to_string());
            let mark = Mark {
                provenance,
                since_ms,
                spread: None,
                batches: None,
                cost_s: None,
                detail,
                was: None,
            };
            profile.marks.insert(gpu.clone(), mark);
        }
        self.replace_profile(key, profile, true)
    }

    /// What was seen of gangs counts in the profile of a workload.
    fn gangs_seen(&mut self, key: WorkloadKey, gangs: &[SeenGang]) -> Result<(), Rejection> {
        let Some(entry) = self.workloads.get(&key) else { return Ok(()) };
        let (tenant, name) = (entry.tenant.clone(), format!("{}/{}", entry.tenant, entry.name));
        let mut profile = entry.profile.clone();
        for gang in gangs {
            let types = self.sched.cluster().types();
            let Some(gpu_type) = types.get(gang.gpu).cloned() else { continue };
            let what = seen_gang(&name, &gpu_type, gang);
            if gang.counts {
                profile.set_gang(GangEntry {
                    gpu_type,
                    workers: gang.workers,
                    stands: gang.stands,
                    kept: Some(gang.kept),
                    steps: None,
                    source: FigureSource::Seen,
                    since_ms: self.at.0,
                    detail: Some(windows_of(gang.windows, gang.runs)),
                });
            }
            self.note(EventTopic::Tenant, Some(&tenant), what);
        }
        match gangs.iter().any(|gang| gang.counts) {
            true => self.replace_profile(key, profile, false),
            false => Ok(()),
        }
    }

    /// What does not fit, in a sentence.
    pub(crate) fn sentence(&self, name: &str, who: &str, verdict: &ProfileVerdict) -> String {
        let types = self.sched.cluster().types();
        let gpu = |index: usize| types.get(index).map_or("?", String::as_str);
        let ProfileVerdict { fast, slow, said, seen, windows, runs, .. } = *verdict;
        let waits = match verdict.host_bound {
            true => ", which wait for their data most of the time,",
            false => "",
        };
        let good_faith = match verdict.may_be_honest() {
            true => "; a measurement may well be off by as much",
            false => "",
        };
        format!(
            "{name} {who} that {} is {said:.1} times {}; its jobs{waits} showed {seen:.1} ({}{good_faith})",
            gpu(fast),
            gpu(slow),
            windows_of(windows, runs)
        )
    }
}

/// What was seen of a gang, in a sentence.
fn seen_gang(name: &str, gpu_type: &str, gang: &SeenGang) -> String {
    let place = match gang.stands {
        Stands::Together => "on one host",
        Stands::Spread => "over several hosts",
    };
    let percent = |kept: f64| format!("{:.0} %", 100.0 * kept);
    let said = gang.said.map(|said| format!(", not {}", percent(said))).unwrap_or_default();
    let counts = if gang.counts { "; that counts now" } else { "" };
    format!(
        "gangs of {} of {name} keep {} of a single worker's throughput {place} on {gpu_type}{said} (seen in {}){counts}",
        gang.workers,
        percent(gang.kept),
        windows_of(gang.windows, gang.runs)
    )
}

/// `120 windows of 6 runs`.
fn windows_of(windows: u32, runs: u32) -> String {
    format!("{} of {}", counted(windows as usize, "window"), counted(runs as usize, "run"))
}

/// A number that is the same for jobs whose steps are alike: the same program with the same arguments (FNV-1a,
/// which is the same everywhere).
fn kind(spec: &oef_api::types::JobSubmit) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    spec.command.iter().for_each(|word| add(word));
    add(spec.script.as_deref().unwrap_or_default());
    for (name, value) in &spec.env {
        add(name);
        add(value);
    }
    hash
}
