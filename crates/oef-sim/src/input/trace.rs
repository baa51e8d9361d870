//! A trace: who submitted what, and when.

/// One job of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceJob {
    /// Who submitted it.
    pub tenant: String,
    /// Its name; unique in the trace.
    pub id: String,
    /// When, in seconds from the beginning of the trace.
    pub submit_s: f64,
    /// How many workers it has, each on one GPU.
    pub gpus: u32,
    /// How much there is to do.
    pub work: Work,
    /// What it trains; [`assign_models`](super::assign_models) draws one where the trace names none.
    pub model: Option<String>,
    /// With which batch size.
    pub batch_size: Option<u32>,
    /// Its class inside its tenant: a higher one goes first.
    pub priority: i32,
    /// The weight of its tenant, where the trace has it.
    pub weight: Option<f64>,
    /// The line of the file, counted from 1; 0 where it was made up.
    pub line: usize,
}

/// How much a job has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Seconds that the whole gang needs on the fastest type that the model runs on.
    DurationOnFastest(f64),
    /// Steps, in the unit of the model's throughput.
    Steps(f64),
    /// Seconds that the whole gang took on a gpu type, as accounting tells it.
    DurationOn {
        /// The type it ran on.
        gpu_type: String,
        /// For how long.
        seconds: f64,
    },
}

impl Work {
    /// The same, so many times as much.
    pub fn times(&self, factor: f64) -> Work {
        match self {
            Work::DurationOnFastest(s) => Work::DurationOnFastest(s * factor),
            Work::Steps(s) => Work::Steps(s * factor),
            Work::DurationOn { gpu_type, seconds } => {
                Work::DurationOn { gpu_type: gpu_type.clone(), seconds: seconds * factor }
            }
        }
    }
}

/// The jobs of a trace by submission; jobs of the same instant in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The jobs.
    pub jobs: Vec<TraceJob>,
}

impl Trace {
    /// The tenants in the order of their first job.
    pub fn tenants(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        let names = self.jobs.iter().map(|j| j.tenant.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Brings the jobs into order.
    pub(crate) fn sort(&mut self) {
        self.jobs.sort_by(|a, b| a.submit_s.total_cmp(&b.submit_s).then(a.line.cmp(&b.line)));
    }
}

/// What the user may say about a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Leave bad rows out instead of failing.
    pub skip_bad_rows: bool,
    /// The column with the work: a duration, or steps where its name begins with `total_steps`. Otherwise
    /// `duration_s`, then `total_steps`.
    pub duration_column: Option<String>,
    /// The column that names the tenant. Otherwise `tenant`, or the account of accounting data.
    pub tenant_column: Option<String>,
    /// Spread the jobs of a trace without tenants over so many; otherwise each job is a tenant of its own.
    pub tenants: Option<u32>,
}
