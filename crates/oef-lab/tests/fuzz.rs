//! Everything that reads, given what is nearly right: a bounded run on stable Rust. `OEF_FUZZ_CASES` makes it longer.

use oef_lab::fuzz::{Mutator, TARGETS, Target, corpus};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Changed inputs of a target that reads quickly.
const CASES: u32 = 4_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// What a target does with an input; none: it reads it or says why not.
fn broken(target: Target, input: &[u8]) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| (target.read)(input))).err().map(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        text.or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()))
            .unwrap_or_default()
    })
}

#[test]
fn nothing_that_is_read_makes_anybody_panic() {
    let seed = number("PROPTEST_RNG_SEED").unwrap_or(1);
    let cases = number("OEF_FUZZ_CASES").map_or(CASES, |cases| cases as u32);
    let mut found = Vec::new();
    for target in TARGETS {
        let corpus = corpus(target.name);
        assert!(!corpus.is_empty(), "no corpus of {}", target.name);
        let mut mutator = Mutator::new(seed);
        let changed = (0..cases.div_ceil(target.cost)).map(|_| mutator.next(&corpus));
        for (n, input) in corpus.iter().cloned().chain(changed).enumerate() {
            if let Some(cause) = broken(target, &input) {
                let text = String::from_utf8_lossy(&input).into_owned();
                found.push(format!("{} {n} of seed {seed}: {cause}\n{text:?}", target.name));
                break;
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Inputs of the corpus are right: a change to a form that is not noticed here would make every other case worthless.
#[test]
fn what_is_kept_is_taken() {
    for target in TARGETS {
        for (n, input) in corpus(target.name).iter().enumerate() {
            let text = String::from_utf8_lossy(input);
            assert!((target.takes)(input), "{} {n}: {text}", target.name);
        }
    }
}
