//! A story that breaks something, made as short as it gets in reasonable time.

use super::plants::Plant;
use super::stage::Stage;
use super::story::Step;
use oef_server::invariants::{Broken, Invariant};

/// Turns of the core that are worth a shorter story: some seconds.
const TURNS_MAX: u64 = 40_000;

/// The shortest story that was found in which the same invariant breaks, and how.
pub(super) fn shrink(
    seed: u64,
    plant: Option<Plant>,
    steps: Vec<Step>,
    broken: Broken,
) -> (Vec<Step>, Broken) {
    let mut best = (steps, broken);
    let mut turns = 0;
    let mut size = best.0.len().div_ceil(2);
    while size >= 1 && turns < TURNS_MAX {
        let mut at = 0;
        let mut is_shorter = false;
        while at < best.0.len() && turns < TURNS_MAX {
            let mut steps = best.0.clone();
            steps.drain(at..(at + size).min(steps.len()));
            let (took, broken) = broken_by(seed, plant, &steps, best.1.invariant);
            turns += took;
            match broken {
                Some(broken) => {
                    best = (steps, broken);
                    is_shorter = true;
                }
                None => at += size,
            }
        }
        if size == 1 && !is_shorter {
            break;
        }
        size = if is_shorter && size > 1 { size } else { size / 2 };
        size = size.min(best.0.len()).max(usize::from(is_shorter));
    }
    best
}

/// How many turns a story took, and what it broke, if that is the same as before.
fn broken_by(
    seed: u64,
    plant: Option<Plant>,
    steps: &[Step],
    invariant: Invariant,
) -> (u64, Option<Broken>) {
    let mut stage = Stage::new(seed, plant);
    let broken = stage.play(steps).err().filter(|broken| broken.invariant == invariant);
    (stage.turns, broken)
}
