//! What a stop leaves, and that it is heard.

use super::*;
use crate::linalg::work;
use std::cell::Cell;

#[test]
fn wherever_it_is_stopped_the_answer_is_feasible_and_its_gap_is_true() {
    for family in [Family::Plain, Family::Ties, Family::Weights] {
        let instance = instance(&spec(family, 24, 5, 3));
        let division = divide(&instance);
        let rows = Rows::new(&instance, &division);
        let best = solve(&instance, &division, &mut State::default(), &|| false);
        let best = total(&rows, &instance, &best);
        for calls in 0..30 {
            let asked = Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) >= calls;
            let found = solve(&instance, &division, &mut State::default(), &stop);
            assert!(rows.is_feasible(&rows.to_bundles(&instance, &found.x)), "{family:?} {calls}");
            let total = total(&rows, &instance, &found);
            assert!(
                total >= best * (1.0 - found.gap) * (1.0 - 1e-9),
                "{family:?} {calls}: {total}"
            );
        }
    }
}

/// A factorisation on the way from a path that has hardly begun takes longer than all of the path.
#[test]
fn after_a_stop_nothing_is_factorised() {
    for (family, n) in [(Family::Plain, 100), (Family::Ties, 24), (Family::EqualProfiles, 60)] {
        let instance = instance(&spec(family, n, 10, 1));
        let division = divide(&instance);
        let asked = Cell::new(0);
        let count = || asked.replace(asked.get() + 1) == usize::MAX;
        solve(&instance, &division, &mut State::default(), &count);
        let whole = asked.get();
        assert!(whole > 20, "{family:?}: asked {whole} times in all");
        // Each of the first questions, on the path, and some of those behind it.
        for calls in (0..20).chain((20..whole).step_by(1 + whole / 40)) {
            let (asked, done) = (Cell::new(0), Cell::new(None));
            let stop = || {
                let stops = asked.replace(asked.get() + 1) >= calls;
                if stops && done.get().is_none() {
                    done.set(Some(work::factorisations()));
                }
                stops
            };
            solve(&instance, &division, &mut State::default(), &stop);
            let more = done.get().map_or(0, |done| work::factorisations() - done);
            assert_eq!(more, 0, "{family:?}, stopped at question {calls} of {whole}");
            assert!(asked.get() < calls + 20, "{family:?} {calls}: asked {} times", asked.get());
        }
    }
}

/// The same where a solve starts from the last answer.
#[test]
fn after_a_stop_of_a_warm_start_nothing_is_factorised() {
    for demands in [false, true] {
        let mut spec = spec(Family::Plain, 70, 4, 1);
        if !demands {
            spec.tenants.iter_mut().for_each(|tenant| tenant.demand = None);
        }
        let solve = |spec: &ProblemSpec, state: &mut State, stop: &dyn Fn() -> bool| {
            let instance = instance(spec);
            solve(&instance, &divide(&instance), state, stop)
        };
        let mut state = State::default();
        solve(&spec, &mut state, &|| false);
        spec.tenants.remove(7);
        for calls in 0..12 {
            let (asked, done) = (Cell::new(0), Cell::new(None));
            let stop = || {
                let stops = asked.replace(asked.get() + 1) >= calls;
                if stops && done.get().is_none() {
                    done.set(Some(work::factorisations()));
                }
                stops
            };
            let found = solve(&spec, &mut state.clone(), &stop);
            let Some(done) = done.get() else {
                assert!([WARM_START, HALF_WAY].contains(&found.method), "{}", found.method);
                continue;
            };
            assert_eq!(work::factorisations() - done, 0, "{demands}: question {calls}");
        }
    }
}
