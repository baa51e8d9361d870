//! Durations with a heavy tail.

use super::math;

/// A lognormal body up to the 90th percentile and a bounded Pareto tail above it: most jobs are short, and
/// the few long ones make up the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeavyTail {
    mu: f64,
    sigma: f64,
    /// Where the tail begins: the 90th percentile.
    tail_from: f64,
    longest: f64,
    /// How fast the tail thins out.
    alpha: f64,
}

/// The percentile at which the tail takes over.
const BODY: f64 = 0.9;
/// Points of the numerical integral over the body; its error is far below that of the published figures.
const POINTS: u32 = 20_000;

impl HeavyTail {
    /// What is published of Philly: median 19 minutes, 90th percentile 3.1 hours, mean 3.6 hours; the
    /// longest jobs ran for about two months.
    pub fn philly() -> Self {
        HeavyTail::fit(19.0 * 60.0, 3.1 * 3600.0, 3.6 * 3600.0, 60.0 * 86_400.0)
    }

    /// The distribution with this median, 90th percentile and mean, bounded by `longest`. All must be
    /// positive and in this order, `p50 < p90 < longest`. A mean that no tail can give is missed by as little as
    /// possible.
    pub fn fit(p50: f64, p90: f64, mean: f64, longest: f64) -> Self {
        let mu = math::ln(p50);
        let sigma = (math::ln(p90) - mu) / math::normal_quantile(BODY);
        let mut fitted = HeavyTail { mu, sigma, tail_from: p90, longest, alpha: 1.5 };
        let body = fitted.body_mean();
        let wanted = (mean - body) / (1.0 - BODY);
        // The mean of the tail falls as alpha grows.
        let (mut low, mut high) = (-5.0, 50.0);
        for _ in 0..100 {
            fitted.alpha = (low + high) / 2.0;
            if fitted.tail_mean() > wanted { low = fitted.alpha } else { high = fitted.alpha }
        }
        fitted
    }

    /// The value below which a part `u` of all values lies, 0 <= u < 1.
    pub fn quantile(&self, u: f64) -> f64 {
        if u < BODY {
            return math::exp(self.mu + self.sigma * math::normal_quantile(u));
        }
        let v = ((u - BODY) / (1.0 - BODY)).clamp(0.0, 1.0);
        let a = self.alpha_away_from_zero();
        let far = math::pow(self.tail_from / self.longest, a);
        let x = self.tail_from * math::pow(1.0 - v * (1.0 - far), -1.0 / a);
        x.clamp(self.tail_from, self.longest)
    }

    /// The body's part of the mean.
    fn body_mean(&self) -> f64 {
        let width = BODY / f64::from(POINTS);
        (0..POINTS).map(|i| self.quantile((f64::from(i) + 0.5) * width)).sum::<f64>() * width
    }

    /// The mean of a value in the tail.
    fn tail_mean(&self) -> f64 {
        let a = self.alpha_away_from_zero();
        let ratio = self.longest / self.tail_from;
        let mass = 1.0 - math::pow(ratio, -a);
        let integral = if (a - 1.0).abs() < 1e-9 {
            math::ln(ratio)
        } else {
            (1.0 - math::pow(ratio, 1.0 - a)) / (a - 1.0)
        };
        self.tail_from * a * integral / mass
    }

    /// At 0 the formulas are limits, which a number next to it gives well enough.
    fn alpha_away_from_zero(&self) -> f64 {
        if self.alpha.abs() < 1e-9 { 1e-9 } else { self.alpha }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_has_the_figures_it_was_made_from() {
        for (p50, p90, mean, longest) in
            [(1140.0, 11160.0, 12960.0, 5_184_000.0), (60.0, 600.0, 400.0, 86_400.0)]
        {
            let fitted = HeavyTail::fit(p50, p90, mean, longest);
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
            assert!(close(fitted.quantile(0.5), p50) && close(fitted.quantile(0.9), p90));
            let found = fitted.body_mean() + (1.0 - BODY) * fitted.tail_mean();
            assert!(close(found, mean), "{found}");
            let n = 1_000_000;
            let sum: f64 =
                (0..n).map(|i| fitted.quantile((f64::from(i) + 0.5) / f64::from(n))).sum();
            assert!((sum / f64::from(n) / mean - 1.0).abs() < 0.01, "{}", sum / f64::from(n));
            assert!(fitted.quantile(0.999_999_999) <= longest);
        }
    }
}
