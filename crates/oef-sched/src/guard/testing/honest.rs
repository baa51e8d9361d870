//! Whoever tells the truth is never accused, whatever the noise.

use super::lab::{Lab, Noise, Setup};
use crate::guard::Policy;

/// `OEF_LONG=1` looks at more.
fn worlds() -> u64 {
    if std::env::var_os("OEF_LONG").is_some() { 20_000 } else { 1000 }
}

const ROUNDS: u64 = 30;

fn accused(noise: (Noise, Noise)) -> Vec<u64> {
    let accused = |seed: &u64| {
        let setup = Setup {
            truth: vec![1.0, 1.6, 3.0],
            said: vec![10.0, 16.0, 30.0],
            jobs: 1 + seed % 12,
            differ: seed.is_multiple_of(3),
            moves: 1 + (seed % 5) as usize,
            noise,
            seed: *seed,
        };
        let mut lab = Lab::new(setup);
        (0..ROUNDS).any(|_| lab.round(Policy::Report).news.is_some())
    };
    (0..worlds()).filter(accused).collect()
}

#[test]
fn an_honest_tenant_with_uniform_noise_is_never_accused() {
    assert_eq!(accused((Noise::Uniform, Noise::Uniform)), [0; 0]);
}

#[test]
fn an_honest_tenant_with_bimodal_noise_is_never_accused() {
    assert_eq!(accused((Noise::Bimodal, Noise::Bimodal)), [0; 0]);
}

#[test]
fn an_honest_tenant_with_noise_of_whole_runs_or_of_windows_is_never_accused() {
    assert_eq!(accused((Noise::Bimodal, Noise::Uniform)), [0; 0]);
    assert_eq!(accused((Noise::Uniform, Noise::Bimodal)), [0; 0]);
}
