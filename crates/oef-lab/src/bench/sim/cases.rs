//! What is measured, and the bar that each case must clear.

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in words.
    pub about: &'static str,
    /// What is done.
    pub work: Work,
    /// What is asked of it.
    pub bar: Bar,
    /// What others need for the same, where that is known.
    pub reference: Option<&'static str>,
    /// Whether it is quick enough for a first look.
    pub quick: bool,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Three days of Philly: 50 tenants on 24 GPUs, five mechanisms.
    ThreeDays,
    /// 300 tenants with a job each on 108 GPUs.
    SingleJobs,
    /// 100,000 jobs on 6,212 GPUs.
    Large,
    /// One round of 10,000 jobs on 10,000 GPUs.
    Planning,
    /// Gangs of up to 64 GPUs on hosts of 8, before and after.
    Gangs,
}

/// What a case must clear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Take less time than this, in seconds.
    Seconds(f64),
    /// Simulate so many rounds a second.
    RoundsPerSecond(f64),
    /// Take less time (in seconds) and memory (in bytes) than this.
    SecondsAndBytes(f64, u64),
    /// Every part holds what it is asked.
    Parts(&'static str),
}

const GIB: u64 = 1 << 30;

/// Every case, in the order in which they are measured.
pub const ALL: [Case; 5] = [
    Case {
        name: "three-days",
        about: "1,000 jobs of 50 tenants on 24 GPUs, 3 days, 5 mechanisms",
        work: Work::ThreeDays,
        bar: Bar::Seconds(15.0),
        reference: None,
        quick: true,
    },
    Case {
        name: "single-jobs",
        about: "300 single-job tenants on 108 GPUs, 6-minute rounds, noncooperative",
        work: Work::SingleJobs,
        bar: Bar::RoundsPerSecond(5_000.0),
        reference: Some("Gavel's simulator: 58 rounds/s"),
        quick: true,
    },
    Case {
        name: "large",
        about: "100,000 jobs of 500 tenants on 6,212 GPUs, 30 days, noncooperative",
        work: Work::Large,
        bar: Bar::SecondsAndBytes(300.0, 2 * GIB),
        reference: None,
        quick: false,
    },
    Case {
        name: "planning",
        about: "one round: 10,000 jobs of 500 tenants on 10,000 GPUs in 1,500 nodes",
        work: Work::Planning,
        bar: Bar::Seconds(0.1),
        reference: None,
        quick: true,
    },
    Case {
        name: "gangs",
        about: "24,000 jobs of 10 tenants with gangs of up to 64 on 192 GPUs of 3 types in hosts of 8, 14 days",
        work: Work::Gangs,
        bar: Bar::Parts(
            "0.9 of promised, each 0.85; 0.9 of the equal split; half the restarts; 0.95 of one host",
        ),
        reference: None,
        quick: false,
    },
];

impl crate::bench::choose::Case for Case {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_quick(&self) -> bool {
        self.quick
    }
}
