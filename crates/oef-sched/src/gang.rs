//! How fast a gang is where it stands.
//!
//! The throughput per GPU of a gang of `g` workers on gpu type `j`:
//!
//! * *On one host*: the figure for that number of workers; without one, the nearest figure below, scaled: every doubling
//!   of the workers keeps [`SCALING_PER_DOUBLING`] of the throughput per GPU; but no less than the same gang was measured
//!   to do over several hosts.
//! * *Over `h` hosts*: that, times the ratio of spread to together at the nearest number of workers for which spread was
//!   measured; without one, `1 / (1 + a log2(g) 2(h - 1)/h)` with `a` = [`SPREAD_LOSS_PER_DOUBLING`]: 0.87 for 2
//!   workers on 2 hosts, 0.69 for 8 on 2, 0.60 for 8 on 4. On the 167 rows of a public table of K80, P100 and V100 the
//!   median is 0.73 for 2, 0.72 for 4 and 0.76 for 8.
//! * *Across types*: every worker waits for the slowest, so the gang runs as if all stood there.

use crate::profile::Profile;

/// What is left of the throughput per GPU when the number of workers doubles, where nobody has measured it.
pub const SCALING_PER_DOUBLING: f64 = 0.9;

/// How much a gang loses to the network per doubling of its workers, where nobody has measured it.
pub const SPREAD_LOSS_PER_DOUBLING: f64 = 0.15;

/// What was measured of gangs of one size.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GangFigures {
    /// Workers of the gang, at least 2.
    pub workers: u32,
    /// On one host, or over several.
    pub stands: Stands,
    /// Throughput per GPU by gpu type, in the unit of the profile; 0 or beyond the end: not measured.
    pub throughput: Vec<f64>,
}

/// How a gang stands on the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Stands {
    /// All of it on one host.
    Together,
    /// Over several hosts.
    Spread,
}

impl Profile {
    /// Throughput per GPU of a gang on a type, over so many hosts; 0: cannot run there.
    pub fn of_gang(&self, gpu: usize, workers: u32, hosts: u32) -> f64 {
        let together = self.together(gpu, workers);
        if hosts <= 1 || workers <= 1 || together <= 0.0 {
            return together;
        }
        together * self.kept_when_spread(gpu, workers, hosts)
    }

    /// The figure that [`Profile::of_gang`] rests on: the workers of the gang that was measured, and how it stood. `None`:
    /// it is an estimate.
    pub fn gang_basis(&self, gpu: usize, workers: u32, hosts: u32) -> Option<(u32, Stands)> {
        let stands = Stands::on(hosts);
        let nearest = match stands {
            _ if workers <= 1 => None,
            Stands::Together => self.nearest_together(gpu, workers),
            Stands::Spread => self.nearest_spread(gpu, workers),
        };
        nearest.map(|(known, _)| (known, stands))
    }

    /// The figure for exactly this gang, per GPU; `None`: nobody gave one.
    pub fn gang_figure(&self, gpu: usize, workers: u32, stands: Stands) -> Option<f64> {
        let known = self.gangs.iter().find(|g| (g.workers, g.stands) == (workers, stands));
        known.and_then(|g| g.on(gpu))
    }

    /// The same profile as a gang has it that stands on so many hosts of each type.
    pub(crate) fn as_gang(&self, workers: u32, hosts: &[u32]) -> Profile {
        let speed = |(gpu, &hosts): (usize, &u32)| self.of_gang(gpu, workers, hosts);
        let throughput = hosts.iter().enumerate().map(speed).collect();
        Profile { throughput, provenance: self.provenance, gangs: Vec::new() }
    }

    fn together(&self, gpu: usize, workers: u32) -> f64 {
        // A type on which a single worker does not run may be one that only a gang fits into.
        let nearest = self.nearest_together(gpu, workers);
        let (from, figure) = nearest.unwrap_or((1, self.on(gpu)));
        let doublings = f64::from(workers.max(1)).log2() - f64::from(from.max(1)).log2();
        let scaled = figure * SCALING_PER_DOUBLING.powf(doublings);
        // An estimate is no less than what the same gang was measured to do over several hosts.
        let spread = self.gang_figure(gpu, workers, Stands::Spread).filter(|_| doublings > 0.0);
        spread.map_or(scaled, |spread| scaled.max(spread))
    }

    /// The nearest figure on one host for as many workers or fewer.
    fn nearest_together(&self, gpu: usize, workers: u32) -> Option<(u32, f64)> {
        let known =
            self.gangs.iter().filter(|g| g.stands == Stands::Together && g.workers <= workers);
        let known = known.filter_map(|g| Some((g.workers, g.on(gpu)?)));
        known.max_by_key(|(workers, _)| *workers)
    }

    /// The part of the throughput that is left over several hosts.
    fn kept_when_spread(&self, gpu: usize, workers: u32, hosts: u32) -> f64 {
        let nearest = self.nearest_spread(gpu, workers);
        nearest.map_or_else(|| estimated_when_spread(workers, hosts), |(_, kept)| kept)
    }

    /// The part that is left by the nearest figure over several hosts.
    fn nearest_spread(&self, gpu: usize, workers: u32) -> Option<(u32, f64)> {
        let ratio = |spread: &GangFigures| {
            let together = self.together(gpu, spread.workers);
            let kept = spread.on(gpu)? / together;
            (together > 0.0).then_some((spread.workers, kept.min(1.0)))
        };
        let spread = self.gangs.iter().filter(|g| g.stands == Stands::Spread);
        // The nearest below, else the nearest above.
        let far = |known: u32| (known > workers, known.abs_diff(workers));
        spread.filter_map(ratio).min_by_key(|(known, _)| far(*known))
    }
}

impl Stands {
    /// How a gang stands on so many hosts.
    pub fn on(hosts: u32) -> Stands {
        if hosts > 1 { Stands::Spread } else { Stands::Together }
    }
}

impl GangFigures {
    fn on(&self, gpu: usize) -> Option<f64> {
        self.throughput.get(gpu).copied().filter(|on| on.is_finite() && *on > 0.0)
    }
}

/// The part of the throughput that a gang keeps over several hosts, where nobody has measured it.
fn estimated_when_spread(workers: u32, hosts: u32) -> f64 {
    let hosts = f64::from(hosts.max(1));
    let crossing = 2.0 * (hosts - 1.0) / hosts;
    1.0 / (1.0 + SPREAD_LOSS_PER_DOUBLING * f64::from(workers.max(1)).log2() * crossing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Provenance;

    fn profile(single: [f64; 2], gangs: &[(u32, Stands, [f64; 2])]) -> Profile {
        let gangs = gangs.iter().map(|&(workers, stands, throughput)| GangFigures {
            workers,
            stands,
            throughput: throughput.to_vec(),
        });
        Profile { gangs: gangs.collect(), ..Profile::new(single.to_vec(), Provenance::Measured) }
    }

    #[test]
    fn a_figure_for_the_gang_counts_before_the_estimate() {
        use Stands::{Spread, Together};
        let known = profile([1.0, 2.0], &[(4, Together, [0.75, 1.75]), (4, Spread, [0.4, 0.875])]);
        assert_eq!((known.of_gang(1, 4, 1), known.of_gang(1, 4, 2)), (1.75, 0.875));
        // Two workers: scaled from one. Eight: from four, and they lose what four lose.
        assert!((known.of_gang(0, 2, 1) - 0.9).abs() < 1e-12);
        assert!((known.of_gang(1, 8, 2) - 0.875 * 0.9).abs() < 1e-12);
        // A figure over several hosts alone counts as it is, and on one host a gang is no slower.
        let spread = profile([1.0, 2.0], &[(8, Spread, [0.95, 0.5])]);
        assert_eq!((spread.of_gang(0, 8, 2), spread.of_gang(0, 8, 1)), (0.95, 0.95));
        assert_eq!(spread.of_gang(1, 8, 2), 0.5);
        assert!((spread.of_gang(1, 8, 1) - 2.0 * 0.729).abs() < 1e-12);
    }

    #[test]
    fn the_loss_grows_with_workers_and_hosts() {
        let known = profile([1.0, 3.0], &[]);
        let kept = |workers, hosts| known.of_gang(0, workers, hosts) / known.of_gang(0, workers, 1);
        assert_eq!(kept(1, 1), 1.0);
        assert!(kept(2, 2) > kept(4, 2) && kept(4, 2) > kept(8, 2) && kept(8, 2) > kept(8, 4));
        assert!((kept(2, 2) - 1.0 / 1.15).abs() < 1e-12);
    }

    #[test]
    fn a_type_without_a_figure_does_not_run() {
        let known = profile([0.0, 3.0], &[]);
        assert_eq!(
            (known.of_gang(0, 8, 1), known.of_gang(0, 8, 2), known.of_gang(7, 1, 1)),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(known.as_gang(2, &[1, 1]).throughput, vec![0.0, 3.0 * 0.9]);
    }
}
