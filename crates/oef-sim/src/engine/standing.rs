//! How gangs stood on the hosts, and what that and restarts cost.

/// A job held GPUs for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stood {
    pub workers: u32,
    /// On more hosts than the gang needs.
    pub spread: bool,
    pub seconds: f64,
    /// The part of them in which it was starting again.
    pub restarting: f64,
    /// Normalised throughput, had it stood on as few hosts as it can.
    pub possible: f64,
}

/// GPU time of all jobs by how they stood, in GPU-seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Of jobs of one worker.
    pub single: f64,
    /// Of gangs on as few hosts as they need.
    pub together: f64,
    /// Of gangs on more hosts than they need.
    pub spread: f64,
    /// The part of all of it in which jobs started again.
    pub restarting: f64,
    /// Normalised throughput times seconds, had every gang stood on as few hosts as it can, without restarts.
    pub possible: f64,
}

impl Standing {
    pub(crate) fn add(&mut self, stood: &Stood) {
        let gpu_seconds = f64::from(stood.workers) * stood.seconds;
        match (stood.workers, stood.spread) {
            (0 | 1, _) => self.single += gpu_seconds,
            (_, false) => self.together += gpu_seconds,
            (_, true) => self.spread += gpu_seconds,
        }
        self.restarting += f64::from(stood.workers) * stood.restarting;
        self.possible += stood.possible * stood.seconds;
    }

    /// GPU time of all jobs.
    pub fn held(&self) -> f64 {
        self.single + self.together + self.spread
    }

    /// The part of the gangs' GPU time in which they stood on more hosts than they need; 0 without gangs.
    pub fn spread_part(&self) -> f64 {
        self.spread / (self.together + self.spread).max(f64::MIN_POSITIVE)
    }

    /// The part of all GPU time that went into starting again.
    pub fn restarting_part(&self) -> f64 {
        self.restarting / self.held().max(f64::MIN_POSITIVE)
    }
}
