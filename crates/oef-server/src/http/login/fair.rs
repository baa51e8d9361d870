//! Room for what each caller may have some of, and all together so many: who takes more loses its own.

use std::collections::BTreeMap;

/// How many there may be.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Of one caller.
    pub of_one: usize,
    /// Of all together.
    pub of_all: usize,
}

/// Makes room for one more of a caller: its own oldest goes, or, where all together have too many, the oldest of the
/// caller with the most. `facts` says whose something is, and what is the smallest of the oldest.
pub(super) fn make_room<T, Age: Ord>(
    known: &mut BTreeMap<String, T>,
    caller: u64,
    limits: Limits,
    facts: impl Fn(&T) -> (u64, Age),
) {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for one in known.values() {
        *counts.entry(facts(one).0).or_default() += 1;
    }
    let own = counts.get(&caller).copied().unwrap_or(0);
    let most = counts.iter().max_by_key(|(_, count)| **count).map(|(caller, _)| *caller);
    let loser = match () {
        () if own >= limits.of_one => caller,
        () if known.len() >= limits.of_all => most.unwrap_or(caller),
        () => return,
    };
    let of_loser = known.iter().map(|(key, one)| (key, facts(one))).filter(|(_, f)| f.0 == loser);
    if let Some(oldest) = of_loser.min_by(|a, b| a.1.1.cmp(&b.1.1)).map(|(key, _)| key.clone()) {
        known.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_more_loses_its_own() {
        let limits = Limits { of_one: 3, of_all: 5 };
        let mut known: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut add = |caller: u64, age: u64| {
            make_room(&mut known, caller, limits, |one| *one);
            known.insert(format!("{caller}-{age}"), (caller, age));
            known.keys().cloned().collect::<Vec<_>>()
        };
        for age in 0..3 {
            add(1, age);
        }
        assert_eq!(add(1, 3), ["1-1", "1-2", "1-3"], "its own oldest");
        add(2, 0);
        assert_eq!(add(2, 1).len(), 5);
        assert_eq!(add(3, 0), ["1-2", "1-3", "2-0", "2-1", "3-0"], "of the one with the most");
    }
}
