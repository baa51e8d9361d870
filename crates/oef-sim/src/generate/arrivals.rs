//! When jobs arrive, and whose they are.

use super::math;
use super::random::Random;

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Seconds from the beginning, whole.
    pub submit_s: f64,
    /// The tenant's number.
    pub tenant: usize,
}

/// Jobs of a burst on average: people submit sweeps, not single jobs.
const BURST_JOBS: f64 = 4.0;
/// Seconds between the jobs of a burst on average.
const BURST_GAP_S: f64 = 90.0;
/// How much the rate swings around its mean in a day; it is highest at three in the afternoon.
const DAY_SWING: f64 = 0.6;
const PEAK_OF_DAY: f64 = 15.0 / 24.0;
/// The rate on the last two days of each week.
const WEEKEND: f64 = 0.6;

/// Bursts of tenants, with some that submit far more than others, in the rhythm of days and weeks.
pub fn bursts(jobs: usize, tenants: usize, span: f64, random: &mut Random) -> Vec<Arrival> {
    // Zipf: the second most active tenant has half of the bursts of the first, and so on.
    let activity: Vec<f64> = (1..=tenants).map(|rank| 1.0 / rank as f64).collect();
    let mut sum = 0.0;
    let cumulative: Vec<f64> = activity.iter().map(|a| (sum += a, sum).1).collect();
    let mut arrivals = Vec::with_capacity(jobs);
    for burst in 0.. {
        if arrivals.len() >= jobs {
            break;
        }
        // Everybody has one burst, so that no tenant is a name only.
        let tenant = if burst < tenants { burst } else { random_rank(&cumulative, random) };
        let left = jobs - arrivals.len();
        // While some tenants have nothing yet, each of them needs a job.
        let spare = left.saturating_sub(tenants.saturating_sub(burst + 1)).max(1);
        let mut at = burst_start(span, random);
        for _ in 0..burst_size(random).min(spare) {
            arrivals.push(Arrival { submit_s: at.min(span).floor(), tenant });
            at += random.exponential(BURST_GAP_S);
        }
    }
    sort(&mut arrivals);
    arrivals
}

/// Single jobs at exponential intervals, the tenants in turn.
pub fn poisson(jobs: usize, tenants: usize, span: f64, random: &mut Random) -> Vec<Arrival> {
    let gap = span / jobs as f64;
    let mut at = 0.0;
    let mut next = |i: usize| {
        let arrival = Arrival { submit_s: f64::floor(at), tenant: i % tenants };
        at += random.exponential(gap);
        arrival
    };
    (0..jobs).map(&mut next).collect()
}

fn random_rank(cumulative: &[f64], random: &mut Random) -> usize {
    let total = cumulative.last().copied().unwrap_or_default();
    let drawn = random.within(0.0, total);
    cumulative.partition_point(|&c| c <= drawn).min(cumulative.len().saturating_sub(1))
}

fn burst_start(span: f64, random: &mut Random) -> f64 {
    loop {
        let at = random.within(0.0, span);
        if random.chance(rate(at) / (1.0 + DAY_SWING)) {
            return at;
        }
    }
}

/// The rate at an instant; 1 is the mean of a working day.
fn rate(seconds: f64) -> f64 {
    let days = seconds / 86_400.0;
    let swing = 1.0 + DAY_SWING * math::sine_of_turn(days - PEAK_OF_DAY + 0.25);
    let is_weekend = days.floor() % 7.0 >= 5.0;
    if is_weekend { swing * WEEKEND } else { swing }
}

/// Geometric: most bursts are short, some are sweeps.
fn burst_size(random: &mut Random) -> usize {
    let more = 1.0 - 1.0 / BURST_JOBS;
    (1.0 + math::ln(1.0 - random.unit()) / math::ln(more)).floor().clamp(1.0, 1000.0) as usize
}

fn sort(arrivals: &mut [Arrival]) {
    arrivals.sort_by(|a, b| a.submit_s.total_cmp(&b.submit_s).then(a.tenant.cmp(&b.tenant)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_follow_the_day_and_the_ranks() {
        let arrivals = bursts(50_000, 20, 10.0 * 86_400.0, &mut Random::new(3));
        assert_eq!(arrivals.len(), 50_000);
        let at = |from: f64, to: f64| {
            let hour = |a: &&Arrival| (a.submit_s / 3600.0) % 24.0;
            arrivals.iter().filter(|a| (from..to).contains(&hour(a))).count() as f64
        };
        let ratio = at(14.0, 16.0) / at(2.0, 4.0);
        assert!((3.0..5.0).contains(&ratio), "afternoon over night: {ratio}");
        let of = |t: usize| arrivals.iter().filter(|a| a.tenant == t).count() as f64;
        assert!((1.6..2.4).contains(&(of(0) / of(1))), "{} {}", of(0), of(1));
        assert!((0..20).all(|t| of(t) > 0.0));
    }

    #[test]
    fn every_tenant_has_a_job_even_when_there_are_hardly_enough() {
        for jobs in [1, 7, 8, 30] {
            let arrivals = bursts(jobs, 7.min(jobs), 3600.0, &mut Random::new(jobs as u64));
            let tenants: std::collections::BTreeSet<usize> =
                arrivals.iter().map(|a| a.tenant).collect();
            assert_eq!((arrivals.len(), tenants.len()), (jobs, 7.min(jobs)));
        }
    }
}
