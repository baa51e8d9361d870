//! Jobs of one workload on gpu types, with the noise of the real world.

use crate::guard::{Guard, Judged, Notice, Policy, RunPlace, Word};
use crate::ids::{Generation, JobId, WorkloadKey};
use crate::profile::{Profile, Provenance};
use crate::testing::dice::Dice;
use crate::time::{Span, Time};

pub const WORKLOAD: WorkloadKey = WorkloadKey(0);
/// Words of a job in a round.
const WORDS: u64 = 10;
const BETWEEN: Span = Span(30_000);

/// How an honest job is off.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    None,
    /// Anything from 20 % less to 20 % more.
    Uniform,
    /// Either 20 % less or 20 % more.
    Bimodal,
}

impl Noise {
    fn draw(self, dice: &mut Dice) -> f64 {
        match self {
            Noise::None => 1.0,
            Noise::Uniform => 0.8 + 0.4 * dice.real(),
            Noise::Bimodal => [0.8, 1.2][dice.below(2)],
        }
    }
}

/// What the jobs are like.
#[derive(Clone, Debug)]
pub struct Setup {
    /// True steps per second, by type.
    pub truth: Vec<f64>,
    /// What the tenant says.
    pub said: Vec<f64>,
    pub jobs: u64,
    /// Every job is another program with other steps.
    pub differ: bool,
    /// A job has another GPU, often of another type, once in so many rounds.
    pub moves: usize,
    /// Of whole runs, and of windows.
    pub noise: (Noise, Noise),
    pub seed: u64,
}

/// Jobs that run.
pub struct Lab {
    pub guard: Guard,
    pub profile: Profile,
    pub at: Time,
    pub round: u64,
    setup: Setup,
    dice: Dice,
    jobs: Vec<Job>,
}

struct Job {
    id: JobId,
    generation: u64,
    gpu: usize,
    steps: f64,
    luck: f64,
    own: f64,
}

impl Lab {
    pub fn new(setup: Setup) -> Lab {
        let profile = Profile::new(setup.said.clone(), Provenance::Declared);
        let mut lab = Lab {
            guard: Guard::default(),
            profile,
            at: Time(0),
            round: 0,
            dice: Dice(setup.seed),
            jobs: Vec::new(),
            setup,
        };
        for id in 0..lab.setup.jobs {
            let own = if lab.setup.differ { 1.0 + lab.dice.below(20) as f64 } else { 1.0 };
            let mut job = Job { id: JobId(id), generation: 0, gpu: 0, steps: 0.0, luck: 1.0, own };
            lab.start(&mut job);
            lab.jobs.push(job);
        }
        lab
    }

    fn start(&mut self, job: &mut Job) {
        job.generation += 1;
        job.gpu = self.dice.below(self.setup.truth.len());
        job.luck = self.setup.noise.0.draw(&mut self.dice);
    }

    /// Runs until the lie is reported, which takes fewer rounds than these.
    pub fn until_found(&mut self, rounds: u64) {
        while self.guard.found(WORKLOAD).is_none() {
            self.round(Policy::Report);
            assert!(self.round < rounds, "not found");
        }
    }

    /// One round: jobs move or stay, run and tell, and the guard looks.
    pub fn round(&mut self, policy: Policy) -> Judged {
        self.round += 1;
        let mut jobs = std::mem::take(&mut self.jobs);
        for job in &mut jobs {
            if self.round > 1 && self.dice.below(self.setup.moves) == 0 {
                self.guard.ended(WORKLOAD, job.id);
                self.start(job);
            }
        }
        for _ in 0..WORDS {
            self.at = self.at + BETWEEN;
            for job in &mut jobs {
                self.tell(job, 1.0, None);
            }
        }
        self.jobs = jobs;
        let judged = self.guard.judge(WORKLOAD, &self.profile, policy);
        if let Some(profile) = &judged.profile {
            let throughput = profile.throughput.clone();
            self.profile = Profile::new(throughput, Provenance::Measured);
        }
        judged
    }

    /// Words for a while, all jobs slowed down by a factor, waiting for data a part of the time.
    pub fn while_slowed(&mut self, words: u64, factor: f64, wait: Option<f64>) -> Vec<Notice> {
        let mut jobs = std::mem::take(&mut self.jobs);
        let mut noticed = Vec::new();
        for _ in 0..words {
            self.at = self.at + BETWEEN;
            for job in &mut jobs {
                noticed.extend(self.tell(job, factor, wait));
            }
        }
        self.jobs = jobs;
        noticed
    }

    fn tell(&mut self, job: &mut Job, factor: f64, wait: Option<f64>) -> Option<Notice> {
        let noise = self.setup.noise.1.draw(&mut self.dice);
        let rate = self.setup.truth[job.gpu] * job.own * job.luck * noise * factor;
        job.steps += rate * BETWEEN.seconds();
        let word = Word {
            job: job.id,
            generation: Generation(job.generation),
            workload: WORKLOAD,
            place: RunPlace {
                gpu_type: job.gpu,
                workers: 1,
                nodes: 1,
                node: job.gpu,
                kind: if self.setup.differ { job.id.0 } else { 0 },
            },
            steps: job.steps,
            checkpoint: None,
            wait,
            clock_ms: Some(self.at.0 + 17),
        };
        self.guard.word(self.at, &word)
    }
}
