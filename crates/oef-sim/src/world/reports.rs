//! What tenants say about their speeds: the truth, with an error, or a lie.

use crate::generate::Random;

/// A tenant that reports other speedups than it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Lie {
    /// Who.
    pub tenant: String,
    /// What it multiplies its throughput on each type by, in the cluster's order (1 beyond the end). A factor
    /// that grows with the type's speed over-reports, one that falls under-reports.
    pub factors: Vec<f64>,
}

/// The profile that the scheduler is told: the truth, each entry off by up to `error` (uniform, seeded by the
/// workload's name), times what the tenant lies.
pub fn report(truth: &[f64], error: f64, lie: Option<&Lie>, seed: u64, name: &str) -> Vec<f64> {
    let mut random = Random::named(seed, name);
    let entry = |(j, &speed): (usize, &f64)| {
        let off = 1.0 + error * (2.0 * random.unit() - 1.0);
        let lie = lie.and_then(|l| l.factors.get(j)).copied().unwrap_or(1.0);
        let told = speed * off * lie;
        if told.is_finite() && told > 0.0 { told } else { 0.0 }
    };
    truth.iter().enumerate().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_within_its_bounds_and_the_same_for_the_same_name() {
        let truth = vec![1.0, 2.0, 0.0];
        let told = report(&truth, 0.2, None, 7, "t/m");
        assert_eq!(told, report(&truth, 0.2, None, 7, "t/m"));
        assert_ne!(told, report(&truth, 0.2, None, 7, "t/n"));
        assert!((told[0] - 1.0).abs() <= 0.2 && (told[1] - 2.0).abs() <= 0.4 && told[2] == 0.0);
        assert_eq!(report(&truth, 0.0, None, 7, "t/m"), truth);
    }

    #[test]
    fn a_lie_multiplies() {
        let lie = Lie { tenant: "t".into(), factors: vec![1.0, 1.5] };
        assert_eq!(report(&[1.0, 2.0, 3.0], 0.0, Some(&lie), 1, "t/m"), [1.0, 3.0, 3.0]);
    }
}
