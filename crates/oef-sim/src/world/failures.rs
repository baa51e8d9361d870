//! Nodes that go down and come back.

use crate::generate::Random;

/// How often nodes fail and how long they stay away; both times are exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    /// Mean time of a node between two failures, in seconds.
    pub between_s: f64,
    /// Mean time until it is back, in seconds.
    pub repair_s: f64,
}

/// One node away for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// Its position in the cluster.
    pub node: usize,
    /// When it fails, in seconds.
    pub from_s: f64,
    /// When it is back.
    pub to_s: f64,
}

impl Failures {
    /// The outages of a number of nodes until an instant, in the order of time.
    pub fn until(&self, end_s: f64, nodes: usize, seed: u64) -> Vec<Outage> {
        let mut outages = Vec::new();
        let usable = |mean: f64| mean.is_finite() && mean > 0.0;
        if !usable(self.between_s) || !usable(self.repair_s) || !end_s.is_finite() {
            return outages;
        }
        for node in 0..nodes {
            let mut random = Random::named(seed, &format!("node {node}"));
            let mut at = 0.0;
            loop {
                let from_s = at + exponential(&mut random, self.between_s);
                if from_s >= end_s {
                    break;
                }
                at = from_s + exponential(&mut random, self.repair_s);
                outages.push(Outage { node, from_s, to_s: at });
            }
        }
        outages.sort_by(|a, b| a.from_s.total_cmp(&b.from_s).then(a.node.cmp(&b.node)));
        outages
    }
}

/// At least a second, so that a tiny mean makes no endless list.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    random.exponential(mean).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_as_many_as_the_means_say() {
        let failures = Failures { between_s: 1000.0, repair_s: 100.0 };
        let outages = failures.until(1e6, 10, 3);
        let expected = 10.0 * 1e6 / 1100.0;
        assert!((outages.len() as f64 / expected - 1.0).abs() < 0.1, "{}", outages.len());
        assert!(outages.windows(2).all(|w| w[0].from_s <= w[1].from_s));
        assert_eq!(outages, failures.until(1e6, 10, 3));
    }

    #[test]
    fn no_means_no_outages() {
        assert!(Failures { between_s: 0.0, repair_s: 1.0 }.until(1e6, 3, 1).is_empty());
        assert!(Failures { between_s: f64::NAN, repair_s: 1.0 }.until(1e6, 3, 1).is_empty());
    }
}
