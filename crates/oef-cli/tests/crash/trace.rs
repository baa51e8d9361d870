//! What the jobs wrote down, and what it must never show.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A line of a job's own trace.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    pub event: String,
    #[serde(deserialize_with = "number")]
    pub generation: u64,
    #[serde(default)]
    pub rank: u32,
    pub pid: u32,
    pub step: u64,
}

/// The job repeats what its environment says, which is text.
fn number<'de, D: Deserializer<'de>>(field: D) -> Result<u64, D::Error> {
    String::deserialize(field)?.parse().map_err(D::Error::custom)
}

pub fn starts(trace: &[Line]) -> usize {
    trace.iter().filter(|l| l.event == "start" && l.rank == 0).count()
}

/// Every promise that a trace breaks, in words. The lines stand in the order in which they were written.
pub fn broken_promises(job: u64, trace: &[Line]) -> Vec<String> {
    let mut broken = Vec::new();
    if trace.is_empty() {
        broken.push(format!("job {job} wrote nothing down"));
    }
    let mut by_rank: BTreeMap<u32, Vec<&Line>> = BTreeMap::new();
    for line in trace {
        by_rank.entry(line.rank).or_default().push(line);
    }
    for (rank, lines) in by_rank {
        for problem in of_one_worker(&lines) {
            broken.push(format!("job {job}, rank {rank}: {problem}"));
        }
    }
    broken
}

fn of_one_worker(lines: &[&Line]) -> Vec<String> {
    let mut broken = Vec::new();
    let (mut current, mut saved, mut ended, mut last) = (None, 0, false, 0);
    for line in lines {
        match line.event.as_str() {
            "start" => {
                if current.is_some_and(|(generation, _)| line.generation <= generation) {
                    broken.push(format!("an older or equal generation started: {line:?}"));
                }
                if line.step < saved {
                    broken.push(format!("began at step {} though {saved} was saved", line.step));
                }
                current = Some((line.generation, line.pid));
            }
            _ if current != Some((line.generation, line.pid)) => {
                broken.push(format!("two ran at the same time: {line:?} while {current:?}"));
            }
            "step" if line.step <= saved => {
                broken.push(format!("step {} done again though {saved} was saved", line.step));
            }
            "checkpoint" => saved = saved.max(line.step),
            _ => {}
        }
        // A run that was stopped ends too; the last one must, with its work saved.
        (ended, last) = (line.event == "end", last.max(line.step));
    }
    if !ended {
        broken.push(format!("has no end in its trace; last step {last}"));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Vec<Line> {
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |i: usize| words[i].parse::<u64>().unwrap();
            Line {
                event: words[0].into(),
                generation: number(1),
                rank: 0,
                pid: number(2) as u32,
                step: number(3),
            }
        };
        text.split(';').map(str::trim).map(line).collect()
    }

    #[test]
    fn a_checker_that_finds_nothing_would_be_no_checker() {
        let good = "start 1 10 0; step 1 10 1; checkpoint 1 10 1; step 1 10 2; start 2 11 1; step 2 11 2; end 2 11 2";
        assert!(broken_promises(1, &trace(good)).is_empty());
        assert!(!broken_promises(1, &[]).is_empty());
        for bad in [
            // Two at once.
            "start 1 10 0; start 2 11 0; step 1 10 1; end 2 11 1",
            // A saved step done again.
            "start 1 10 0; step 1 10 1; checkpoint 1 10 1; start 2 11 0; step 2 11 1; end 2 11 1",
            // An older generation after a newer one.
            "start 2 10 0; start 1 11 0; end 1 11 0",
            // Goes on after its end.
            "start 1 10 0; checkpoint 1 10 5; end 1 10 5; start 2 11 5; step 2 11 5; end 2 11 5",
            // Killed, and nobody noticed.
            "start 1 10 0; end 1 10 5; start 2 11 5",
            // Never ends.
            "start 1 10 0; step 1 10 1",
        ] {
            assert!(!broken_promises(1, &trace(bad)).is_empty(), "{bad}");
        }
    }
}
