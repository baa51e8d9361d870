//! The one measurement that needs a clock.

use crate::bench::shares::instances;
use crate::experiment::SolveTime;
use oef_core::{Mechanism, Options, solve};
use oef_terminal::{Complaint, Failure};
use std::time::Instant;

const MECHANISMS: [Mechanism; 2] = [Mechanism::Noncooperative, Mechanism::Cooperative];
const TENANTS: [usize; 6] = [10, 30, 100, 300, 600, 1_000];
const TENANTS_QUICK: [usize; 4] = [10, 30, 100, 300];
/// Solves of which the median counts.
const REPEAT: usize = 3;

/// Times for the shares against the number of tenants.
pub fn measure(quick: bool, seed: u64) -> Result<Vec<SolveTime>, Failure> {
    let counts: &[usize] = if quick { &TENANTS_QUICK } else { &TENANTS };
    let mut times = Vec::new();
    for mechanism in MECHANISMS {
        for &tenants in counts {
            let spec = instances::spec(tenants, tenants, seed);
            let problem = spec.validate().map_err(|invalid| {
                Failure::from(Complaint::new(format!("the instance is not valid: {invalid}")))
            })?;
            let mut seconds = Vec::new();
            for _ in 0..REPEAT {
                let start = Instant::now();
                solve(&problem, mechanism, &Options::default())?;
                seconds.push(start.elapsed().as_secs_f64());
            }
            seconds.sort_by(f64::total_cmp);
            times.push(SolveTime { mechanism, tenants, seconds: seconds[REPEAT / 2] });
        }
    }
    Ok(times)
}
