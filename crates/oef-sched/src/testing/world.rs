//! A world around the scheduler: an executor that answers, and a clock.

use super::dice::Dice;
use crate::state::invariants::{broken, idle_in_vain};
use crate::*;
use oef_core::Options;

/// When jobs that are told to stop have stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answers {
    /// Within the same instant.
    AtOnce,
    /// Somewhen; each is as likely to be the next event as any other.
    Late,
}

/// Where shares are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Solving {
    /// When a round begins.
    Inside,
    /// Aside, and brought in before the round begins.
    Aside,
    /// Aside; the answers come somewhen.
    Late,
}

/// The scheduler with its executor.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub state: State,
    pub now: Time,
    pub answers: Answers,
    pub solving: Solving,
    /// A question that is being answered.
    pub asked: Option<Question>,
    /// Jobs that were told to stop.
    pub stopping: Vec<(JobId, Generation)>,
    /// Everything that happened, to be replayed.
    pub log: Vec<Event>,
    /// Every step is checked.
    pub checked: bool,
    /// Who decides.
    pub planner: fn(&State, Scope) -> Plan,
    /// Why the last event was not taken, if it was not.
    pub refused: Option<Refusal>,
    next_job: u64,
}

impl World {
    pub fn new(settings: Settings, nodes: &[(&str, u32, u32)]) -> Self {
        let mut specs = Vec::new();
        for &(gpu_type, hosts, gpus) in nodes {
            for host in 0..hosts {
                let name = format!("{gpu_type}-{host}");
                specs.push(NodeSpec { name, gpu_type: gpu_type.into(), gpus });
            }
        }
        World {
            state: State::with_nodes(settings, &specs),
            now: Time(0),
            answers: Answers::AtOnce,
            solving: Solving::Inside,
            asked: None,
            stopping: Vec::new(),
            log: Vec::new(),
            checked: true,
            planner: plan,
            refused: None,
            next_job: 0,
        }
    }

    /// A tenant with one workload.
    pub fn tenant(&mut self, name: &str, weight: f64, speeds: &[f64]) -> WorkloadKey {
        let tenant = self.state.tenant(name, weight);
        self.workload(tenant, "w", 1.0, speeds)
    }

    pub fn workload(
        &mut self,
        tenant: TenantKey,
        name: &str,
        weight: f64,
        speeds: &[f64],
    ) -> WorkloadKey {
        let profile = Profile::new(speeds.to_vec(), Provenance::Declared);
        self.state.workload(tenant, name, weight, profile).expect("the tenant is there")
    }

    /// What a new job would be.
    pub fn spec(&mut self, workload: WorkloadKey, workers: u32) -> JobSpec {
        self.next_job += 1;
        let tenant = self.state.workloads()[workload.0].tenant;
        let id = JobId(self.next_job);
        JobSpec::new(id, tenant, workload, workers)
    }

    pub fn submit(&mut self, workload: WorkloadKey, workers: u32) -> JobId {
        let spec = self.spec(workload, workers);
        self.submit_spec(spec)
    }

    pub fn submit_many(&mut self, workload: WorkloadKey, workers: u32, count: u32) {
        for _ in 0..count {
            self.submit(workload, workers);
        }
    }

    pub fn submit_spec(&mut self, spec: JobSpec) -> JobId {
        let id = spec.id;
        self.happen(EventKind::Submitted(spec));
        id
    }

    /// Lets something happen now, answers for the executor, and checks the state.
    pub fn happen(&mut self, kind: EventKind) -> Vec<Action> {
        let mut all = self.just(kind);
        while self.answers == Answers::AtOnce && !self.stopping.is_empty() {
            all.extend(self.answer(0));
        }
        all
    }

    /// The same without answers.
    fn just(&mut self, kind: EventKind) -> Vec<Action> {
        let event = Event { at: self.now, kind };
        self.log.push(event.clone());
        let scope = event.kind.calls_for();
        let mut actions = match apply(&mut self.state, event.clone()) {
            Ok(actions) => actions,
            Err(refusal) => {
                self.refused = Some(refusal);
                return Vec::new();
            }
        };
        self.refused = None;
        let plan =
            scope.map(|scope| (self.planner)(&self.state, scope)).filter(|plan| !plan.is_empty());
        if let Some(plan) = plan {
            let decided = Event { at: self.now, kind: EventKind::Planned(Box::new(plan)) };
            self.log.push(decided.clone());
            let done = apply(&mut self.state, decided);
            actions.extend(done.unwrap_or_else(|refusal| panic!("after {event:?}: {refusal}")));
        }
        for action in &actions {
            if let Action::Preempt { job, generation, .. }
            | Action::Migrate { job, generation, .. } = action
            {
                self.stopping.push((*job, *generation));
            }
        }
        if self.checked {
            self.check(&event);
            self.check_limits(&actions);
        }
        actions
    }

    fn check(&self, event: &Event) {
        let wrong = broken(&self.state);
        assert!(wrong.is_empty(), "after {event:?}: {wrong:#?}");
        let deficit = self.state.settings().rounding == RoundingRule::Deficit;
        if deficit && self.state.round().0 > 0 {
            let idle = idle_in_vain(&self.state);
            assert!(idle.is_empty(), "after {event:?}: {idle:#?}");
        }
    }

    /// Nobody starts beyond its tenant's limit.
    fn check_limits(&self, actions: &[Action]) {
        for action in actions {
            let Action::Start { job, .. } = action else { continue };
            let Some(job) = self.state.job(*job) else { continue };
            let tenant = &self.state.tenants()[job.spec().tenant.0];
            let within = tenant.limit().is_none_or(|limit| tenant.holds() <= limit);
            assert!(within, "{action:?} of a tenant with {} GPUs", tenant.holds());
            self.check_type_limits(action, job.spec().tenant);
        }
    }

    /// Nobody starts beyond a limit by gpu type, of its tenant or of a group.
    fn check_type_limits(&self, action: &Action, tenant: TenantKey) {
        let state = &self.state;
        let own = (vec![tenant], state.tenants()[tenant.0].promises());
        let groups = state.groups_of(tenant).map(|group| {
            let keys = (0..state.tenants().len()).map(TenantKey);
            let below = keys.filter(|&t| state.groups_of(t).any(|g| g == group)).collect();
            (below, &state.groups()[group.0].promises)
        });
        for (tenants, promises) in std::iter::once(own).chain(groups) {
            for (name, &limit) in &promises.limit {
                let held = tenants.iter().map(|&t| held_on(state, t, name)).sum::<u32>();
                let started = match action {
                    Action::Start { lease, .. } => lease
                        .gpus
                        .iter()
                        .any(|&g| state.cluster().types()[state.cluster().type_of(g).0] == *name),
                    _ => false,
                };
                assert!(!started || held <= limit, "{action:?}: {held} of {name}, limit {limit}");
            }
        }
    }

    /// A job that was told to stop has stopped.
    pub fn answer(&mut self, which: usize) -> Vec<Action> {
        let (job, generation) = self.stopping.remove(which);
        // It may have ended meanwhile, or been lost.
        let stops = |job: &Job| job.state() == JobState::Stopping;
        if !self.state.job(job).is_some_and(stops) || self.generation(job) != generation {
            return Vec::new();
        }
        self.just(EventKind::Preempted { job, generation })
    }

    /// Of the lease under which a job runs.
    pub fn generation(&self, job: JobId) -> Generation {
        let lease = self.state.job(job).and_then(|job| job.lease());
        lease.map_or(Generation(0), |lease| lease.generation)
    }

    /// A job's owner holds it, or no longer.
    pub fn hold(&mut self, job: JobId, held: bool) -> Vec<Action> {
        let gate = self.state.job(job).map_or(Gate::OPEN, |job| job.spec().gate.clone());
        self.change(job, JobChange { gate: Some(Gate { held, ..gate }), ..JobChange::default() })
    }

    /// Something about a job is changed.
    pub fn change(&mut self, job: JobId, change: JobChange) -> Vec<Action> {
        self.happen(EventKind::Changed { job, change })
    }

    pub fn state_of(&self, job: JobId) -> Option<JobState> {
        self.state.job(job).map(Job::state)
    }

    pub fn finish(&mut self, job: JobId) -> Vec<Action> {
        let generation = self.generation(job);
        self.happen(EventKind::Finished { job, generation })
    }

    pub fn wait(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// A round begins: the first now, each other one round after the last.
    pub fn tick(&mut self) -> Vec<Action> {
        if self.state.round().0 > 0 {
            let round = self.state.settings().round;
            self.now = (self.state.plan().began + round).max(self.now);
        }
        self.begin_round()
    }

    /// A round begins now.
    pub fn begin_round(&mut self) -> Vec<Action> {
        match self.solving {
            Solving::Inside => refresh_shares(&mut self.state, self.now),
            Solving::Aside => {
                self.asked = self.state.question();
                self.answer_question();
            }
            Solving::Late => self.asked = self.asked.take().or_else(|| self.state.question()),
        }
        self.happen(EventKind::Tick)
    }

    /// The answer to the question that was asked is there.
    pub fn answer_question(&mut self) {
        if let Some(question) = self.asked.take() {
            let answer = question.answer(&Options::default());
            let actions = self.happen(EventKind::Shares(Box::new(answer)));
            assert_eq!(actions, [], "shares start nothing and stop nobody");
        }
    }

    pub fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            self.tick();
        }
    }

    pub fn runs(&self, job: JobId) -> bool {
        self.state.job(job).is_some_and(|job| job.state() == JobState::Running)
    }

    /// The name of the type that a job runs on; `-`: it does not; `+`: several.
    pub fn runs_on(&self, job: JobId) -> &str {
        let Some(lease) = self.state.job(job).filter(|_| self.runs(job)).and_then(|j| j.lease())
        else {
            return "-";
        };
        match self.state.single_type(&lease.gpus) {
            Some(gpu) => &self.state.cluster().types()[gpu],
            None => "+",
        }
    }

    /// The hosts that a job runs on.
    pub fn hosts(&self, job: JobId) -> Vec<usize> {
        let lease = self.state.job(job).filter(|_| self.runs(job)).and_then(|job| job.lease());
        let mut hosts: Vec<usize> =
            lease.map_or(Vec::new(), |lease| lease.gpus.iter().map(|g| g.node.0).collect());
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// A job of those that run.
    pub fn any_running(&self, dice: &mut Dice) -> Option<JobId> {
        let running: Vec<JobId> =
            self.state.jobs().filter(|j| j.lease().is_some()).map(|j| j.spec().id).collect();
        (!running.is_empty()).then(|| running[dice.below(running.len())])
    }
}

/// GPUs of a type that the jobs of a tenant hold, those that are being stopped included.
pub(crate) fn held_on(state: &State, tenant: TenantKey, gpu: &str) -> u32 {
    let cluster = state.cluster();
    let nodes = (0..cluster.nodes().len()).map(NodeId);
    let held = nodes.flat_map(|node| cluster.gpus_of(node)).filter(|&g| {
        let of = cluster.holder(g).map(|slot| state.at(slot).spec.tenant);
        of == Some(tenant) && cluster.types()[cluster.type_of(g).0] == gpu
    });
    held.count() as u32
}
