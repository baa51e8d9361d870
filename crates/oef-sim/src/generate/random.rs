//! Chance from a seed.

use super::math;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng as _;

/// PCG's own stream: with it the numbers of a seed are those that they always were.
const STREAM: u64 = 0x0a02_bdbf_7bb3_c0a7;

/// A small generator (PCG-XSH-RR 64/32) with the draws that loads are made of.
#[derive(Clone, Debug)]
pub struct Random(Pcg32);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Random(Pcg32::new(mix(seed), STREAM))
    }

    /// The stream of a seed for one purpose or name: others do not disturb it.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a: short, and the same everywhere.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random::new(seed ^ name.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        let high_bits = u64::from(self.0.next_u32()) << 21;
        (high_bits ^ u64::from(self.0.next_u32() >> 11)) as f64 / (1_u64 << 53) as f64
    }

    /// A number in [low, high).
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An exponential time of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.unit())
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        math::normal_quantile(self.unit().max(f64::MIN_POSITIVE))
    }

    /// A position, drawn in proportion to the weights; 0 where they are all 0.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (i, weight) in weights.iter().enumerate() {
            if left < *weight {
                return i;
            }
            left -= weight;
        }
        weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
    }
}

/// SplitMix's finish: seeds that differ in one bit lead to streams that have nothing in common.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These numbers are a promise: files that were generated once can be generated again.
    #[test]
    fn the_stream_never_changes() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..4).map(|_| (random.unit() * 1e12) as u64).collect();
        assert_eq!(drawn, STREAM_OF_SEED_1);
        assert_ne!(Random::named(1, "a").unit(), Random::named(1, "b").unit());
    }

    const STREAM_OF_SEED_1: [u64; 4] =
        [679_798_088_039, 959_448_150_494, 916_491_466_945, 594_692_883_465];

    #[test]
    fn draws_have_their_means() {
        let mut random = Random::new(7);
        let n = 100_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut || random.normal()).abs() < 0.02);
        let heads = mean(&mut || random.weighted(&[1.0, 0.0, 3.0]) as f64);
        assert!((heads - 1.5).abs() < 0.02, "{heads}");
    }
}
