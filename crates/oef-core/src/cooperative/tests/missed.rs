//! A path goes back for the pairs that it has missed.

use super::*;

/// Without going back, these paths ended with envy between 1e-5 and 3e-2 of an equal split, between pairs that were not
/// near when the pairs in play settled.
#[test]
fn nobody_envies_at_the_end_of_a_path() {
    for seed in [15, 134, 186, 190, 216, 255, 302] {
        let instance = instance(&spec(Family::Plain, 100, 10, seed));
        let rows = Rows::new(&instance, &divide(&instance));
        let data = Data::new(&rows);
        let start = Point::start(&data, &rows.first_pairs(NEIGHBOURS));
        let run = interior::follow(&data, start, ACCURACY, &|| false);
        assert!(run.has_arrived(), "seed {seed}");
        let asked = run.point.comparisons(&data);
        for ((l, i), asked) in asked.indexed_iter().filter(|((l, i), _)| rows.compares(*l, *i)) {
            let envy = asked - run.point.u[l];
            assert!(envy < 1e-6, "seed {seed}: row {l} envies row {i} by {envy:e}");
        }
    }
}
