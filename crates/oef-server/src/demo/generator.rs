//! Which job comes next: the same ones every time.

use oef_api::parsed::Workers;
use oef_api::types::JobSubmit;

/// A tenant of the demonstration.
pub(super) struct DemoTenant {
    pub name: &'static str,
    pub weight: f64,
    pub models: &'static [&'static str],
}

/// Four tenants that gain differently from fast GPUs.
pub(super) const TENANTS: [DemoTenant; 4] = [
    DemoTenant { name: "vision", weight: 1.0, models: &["vgg16", "resnet50"] },
    DemoTenant { name: "speech", weight: 1.0, models: &["lstm"] },
    DemoTenant { name: "language", weight: 2.0, models: &["transformer"] },
    DemoTenant { name: "recsys", weight: 1.0, models: &["resnet50", "lstm"] },
];

/// Jobs that are live at least and at most; in between the wanted number wanders.
const LIVE: std::ops::RangeInclusive<usize> = 10..=20;
/// A step on a GPU of speed 1, in milliseconds; the job's own GPU divides it.
const STEP_MS: u32 = 600;

/// Makes jobs in a fixed sequence.
pub(super) struct Generator {
    program: String,
    dice: u64,
    made: usize,
    wanted: usize,
}

impl Generator {
    pub fn new(program: String) -> Self {
        Generator { program, dice: 0x0EF, made: 0, wanted: *LIVE.start() + 4 }
    }

    /// How many jobs should be live.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// The next job, no larger than the largest gpu type.
    pub fn job(&mut self, largest: u32) -> JobSubmit {
        self.made += 1;
        if self.made.is_multiple_of(4) {
            let next = if self.roll(2) == 0 { self.wanted - 1 } else { self.wanted + 1 };
            self.wanted = next.clamp(*LIVE.start(), *LIVE.end());
        }
        let tenant = &TENANTS[self.roll(TENANTS.len() as u64) as usize];
        let model = tenant.models[self.roll(tenant.models.len() as u64) as usize];
        let workers = [1, 1, 1, 2, 2, 4][self.roll(6) as usize].min(largest);
        let steps = 100 + 50 * self.roll(7);
        let arguments =
            ["--model", model, "--steps", &steps.to_string(), "--step-ms", &STEP_MS.to_string()];
        let command = [self.program.as_str(), "demo-job"].into_iter().chain(arguments);
        JobSubmit {
            tenant: tenant.name.parse().ok(),
            workload: model.parse().ok(),
            name: Some(format!("{model}-{}", self.made)),
            command: command.map(String::from).collect(),
            workers: Workers::up_to(workers),
            ..JobSubmit::default()
        }
    }

    /// A number below `sides` (xorshift: plain, and the same everywhere).
    fn roll(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 33) % sides
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_jobs_every_time_within_bounds() {
        let jobs = |largest| {
            let mut generator = Generator::new("oef".into());
            let job = |_| {
                let job = generator.job(largest);
                assert!(LIVE.contains(&generator.wanted()));
                job
            };
            (0..500).map(job).collect::<Vec<_>>()
        };
        assert_eq!(jobs(8), jobs(8));
        let tenants: BTreeSet<_> = jobs(8).into_iter().filter_map(|job| job.tenant).collect();
        assert_eq!(tenants.len(), TENANTS.len(), "everybody has jobs");
        assert!(jobs(8).iter().any(|job| *job.workers == 4));
        assert!(jobs(3).iter().all(|job| (1..=3).contains(&*job.workers)));
        assert!(jobs(8).iter().all(|job| job.command.len() == 8 && job.command[1] == "demo-job"));
    }
}
