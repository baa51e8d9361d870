//! How much a trace asks of a cluster, and how to make it more or less.

use super::profile::ProfileTable;
use super::read::{InputError, Source};
use super::trace::{Trace, TraceJob, Work};

/// Seconds that a job needs on the fastest type of the table. A scale factor that the table does not have is
/// reckoned from the nearest as if a gang twice as large were twice as fast. `None` where the table says
/// nothing about its model.
pub fn seconds_on_fastest(job: &TraceJob, profiles: &ProfileTable) -> Option<f64> {
    if let Work::DurationOnFastest(seconds) = job.work {
        return Some(seconds);
    }
    let row = profiles.nearest_scale(job.model.as_deref()?, job.batch_size, job.gpus)?;
    let fastest = row.fastest()?;
    let units = row.units_of(&job.work, &profiles.types)?;
    Some(match job.work {
        Work::Steps(_) => units / (fastest * f64::from(job.gpus) / f64::from(row.scale_factor)),
        _ => units / fastest,
    })
}

/// Offered GPU time divided by what `gpus` GPUs give in `span_s` seconds, all of it in time of the fastest type.
pub fn offered_load(trace: &Trace, profiles: &ProfileTable, gpus: u64, span_s: f64) -> f64 {
    let seconds = |job| seconds_on_fastest(job, profiles).unwrap_or(0.0) * f64::from(job.gpus);
    trace.jobs.iter().map(seconds).sum::<f64>() / (gpus as f64 * span_s)
}

/// The time from the first to the last submission.
pub fn span_s(trace: &Trace) -> f64 {
    let times = || trace.jobs.iter().map(|job| job.submit_s);
    let (first, last) = (times().reduce(f64::min), times().reduce(f64::max));
    last.unwrap_or(0.0) - first.unwrap_or(0.0)
}

/// Makes every job's work longer or shorter by the same factor, so that the offered load is `load`; submissions
/// stay where they are. `span_s`: the time over which the load is reckoned, otherwise from the first to the last
/// submission. Gives the factor.
pub fn scale_to_load(
    trace: &mut Trace,
    profiles: &ProfileTable,
    gpus: u64,
    span: Option<f64>,
    load: f64,
) -> Result<f64, InputError> {
    let span = span.unwrap_or_else(|| span_s(trace));
    let offered = offered_load(trace, profiles, gpus, span);
    let factor = load / offered;
    if !(factor.is_finite() && factor > 0.0) {
        let (message, hint) = if span > 0.0 {
            ("the jobs offer no work, so their load cannot be changed", "check the durations")
        } else {
            ("all jobs come at once, so there is no time to reckon a load over", "leave --load out")
        };
        return Err(InputError::one(Source::new("--load", "").whole(message).hint(hint)));
    }
    trace.jobs.iter_mut().for_each(|job| job.work = job.work.times(factor));
    Ok(factor)
}

/// Settles the types that jobs are said to have run on: a name becomes that of the table (`nvidia_a100-sxm4` is
/// `a100`), and where the table has no such type the duration counts as on the fastest.
/// Gives a note per unknown type.
pub fn resolve_types(trace: &mut Trace, profiles: &ProfileTable) -> Vec<String> {
    let mut unknown = std::collections::BTreeMap::<String, usize>::new();
    for job in &mut trace.jobs {
        let Work::DurationOn { gpu_type, seconds } = &job.work else { continue };
        let seconds = *seconds;
        match super::matching::find_type(gpu_type, &profiles.types) {
            Some(index) => {
                let gpu_type = profiles.types[index].clone();
                job.work = Work::DurationOn { gpu_type, seconds };
            }
            None => {
                *unknown.entry(gpu_type.clone()).or_default() += 1;
                job.work = Work::DurationOnFastest(seconds);
            }
        }
    }
    let note = |(name, count): (&String, &usize)| {
        format!("jobs on `{name}`, which has no profiles and counts as the fastest type: {count}")
    };
    unknown.iter().map(note).collect()
}
