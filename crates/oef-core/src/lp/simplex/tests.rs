//! Programs small enough to be solved by hand.

use super::*;
use crate::lp::{Level, leximin};

const INF: f64 = f64::INFINITY;

/// max 3x + 2y, x + y <= 4, x + 3y <= 7, x <= 3.
fn textbook() -> Program {
    let mut p = Program::default();
    let a = p.row(-INF, 4.0);
    let b = p.row(-INF, 7.0);
    p.var(3.0, 0.0, 3.0, vec![(a, 1.0), (b, 1.0)]);
    p.var(2.0, 0.0, INF, vec![(a, 1.0), (b, 3.0)]);
    p
}

#[test]
fn finds_the_vertex_and_its_duals() {
    let mut s = Simplex::new(textbook());
    s.maximise(&|| false).unwrap();
    assert_eq!((s.value(0), s.value(1)), (3.0, 1.0));
    assert_eq!(s.duals(), vec![2.0, 0.0]);
    assert_eq!(s.activity(1), 6.0);
}

#[test]
fn goes_on_after_rows_and_columns_are_added() {
    let mut s = Simplex::new(textbook());
    s.maximise(&|| false).unwrap();
    let row = s.program.row(-INF, 2.0);
    s.program.columns[0].push((row, 1.0));
    s.maximise(&|| false).unwrap();
    assert!((s.value(0) - 2.0).abs() < 1e-12 && (s.value(1) - 5.0 / 3.0).abs() < 1e-12);
    s.program.var(10.0, 0.0, 1.0, vec![(0, 1.0)]);
    s.maximise(&|| false).unwrap();
    assert_eq!(s.value(2), 1.0);
}

#[test]
fn says_why_there_is_no_vertex() {
    let mut p = textbook();
    p.row_lower[0] = 10.0;
    p.row_upper[0] = INF;
    assert_eq!(Simplex::new(p).maximise(&|| false), Err(LpError::Infeasible));
    let mut p = textbook();
    p.row_upper = vec![INF, INF];
    assert_eq!(Simplex::new(p).maximise(&|| false), Err(LpError::Unbounded));
}

#[test]
fn leximin_raises_the_rest_after_the_first_is_blocked() {
    // x <= 1; x + y + z <= 10; y <= 3: levels 1, then 3, then 6.
    let mut p = Program::default();
    let row = p.row(-INF, 10.0);
    for upper in [1.0, 3.0, INF] {
        p.var(0.0, 0.0, upper, vec![(row, 1.0)]);
    }
    let levels: Vec<Level> =
        (0..3).map(|v| Level { terms: vec![(v, 1.0)], target: 1.0, most: f64::INFINITY }).collect();
    let (s, gap) = leximin(Simplex::new(p), &levels, &|| false).unwrap();
    assert!(gap < 1e-12);
    let x: Vec<f64> = (0..3).map(|v| s.value(v)).collect();
    assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 3.0).abs() < 1e-9 && (x[2] - 6.0).abs() < 1e-9);
}
