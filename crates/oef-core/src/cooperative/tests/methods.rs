//! The method that the report names is the one that ran.

use super::*;

#[test]
fn every_way_to_an_answer_has_its_name() {
    let mut seen = [0; 4];
    for (family, seed) in FAMILIES.into_iter().flat_map(|f| [(f, 1), (f, 2)]) {
        let instance = instance(&spec(family, 24, 4, seed));
        let division = divide(&instance);
        let rows = Rows::new(&instance, &division);
        let data = Data::new(&rows);
        let stop = &|| false;
        let search =
            Search { instance: &instance, rows: &rows, data: &data, division: &division, stop };
        let start = Point::start(&data, &rows.first_pairs(NEIGHBOURS));
        let run = interior::follow(&data, start, ACCURACY, stop);
        let bound = search.bound(&run);
        let found = [
            (search.on_face(&run, bound, face::CLEAR[0], FREE_MAX), ON_FACE),
            (search.near_vertex(&run, SAME[0], bound, PATIENCE), VERTEX),
            (warm_start::from_path(&instance, &rows, &run.point, stop), BY_GROUPS),
            (search.with_own_bundles(&run), OWN_BUNDLES),
        ];
        for ((found, method), seen) in found.into_iter().zip(&mut seen) {
            let Some(found) = found else { continue };
            assert_eq!(found.method, method);
            *seen += 1;
        }
        assert_eq!(search.unfinished(Some((&run, bound))).method, UNFINISHED);
        assert_eq!(search.unfinished(None).method, SIMPLEX_UNFINISHED);
        if let Some(found) = search.simplex_alone(PIVOT_WORK) {
            assert_eq!(found.method, SIMPLEX);
        }
    }
    assert!(seen.iter().all(|&seen| seen > 2), "{seen:?}");
}
