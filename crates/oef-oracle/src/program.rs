//! Programs in fractions, solved exactly: one linear objective after another, each on the optimal face
//! of those before it, or a lexicographic max-min.

use crate::int::Int;
use crate::tableau::{Tableau, Variable};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use std::cmp::Ordering;

/// A fraction of whole numbers of any size.
pub type Q = BigRational;

/// A linear expression: coefficients by column.
pub type Terms = Vec<(usize, Q)>;

/// `rows <= right-hand sides` over columns that are zero or more.
#[derive(Clone, Debug, Default)]
pub struct Program {
    columns: usize,
    rows: Vec<(Terms, Q)>,
}

/// What to do with the optima that are left.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Keep those where this is greatest.
    Maximise(Terms),
    /// Keep those where the expressions, each divided by its scale, are lexicographically max-min:
    /// the least as great as possible, then of the others the least, and so on. Expressions are zero
    /// or more at every feasible point; one whose scale is zero is left out.
    Leximin(Vec<(Terms, Q)>),
}

impl Program {
    /// Adds so many columns and returns the number of the first.
    pub fn add_columns(&mut self, count: usize) -> usize {
        self.columns += count;
        self.columns - count
    }

    /// Demands that the expression is at most `bound`, which is zero or more.
    pub fn at_most(&mut self, terms: Terms, bound: Q) {
        assert!(!bound.is_negative(), "the origin has to be feasible");
        self.rows.push((terms, bound));
    }

    /// The columns after all stages. Where the optima are many, one of them.
    pub fn solve(&self, stages: &[Stage]) -> Vec<Q> {
        self.run::<i128>(stages)
            .or_else(|| self.run::<BigInt>(stages))
            .expect("numbers of any size do not overflow")
    }

    fn run<I: Int>(&self, stages: &[Stage]) -> Option<Vec<Q>> {
        let mut rows = self.rows.clone();
        // The slack of `-expression <= 0` is the expression itself: a variable to be raised.
        let mut measures: Vec<Vec<Variable>> = Vec::new();
        for stage in stages {
            let mut own = Vec::new();
            if let Stage::Leximin(goals) = stage {
                for (terms, _) in goals {
                    own.push(self.columns + rows.len());
                    rows.push((terms.iter().map(|(c, q)| (*c, -q)).collect(), Q::zero()));
                }
            }
            measures.push(own);
        }
        let scaled: Vec<(Vec<BigInt>, Q)> =
            rows.iter().map(|(terms, bound)| whole_row(terms, bound, self.columns)).collect();
        let mut tableau = Tableau::<I>::new(
            scaled
                .iter()
                .map(|(row, _)| row.iter().map(I::from_big).collect())
                .collect::<Option<_>>()?,
            self.columns,
            I::from_big(&BigInt::one())?,
        );
        for (stage, own) in stages.iter().zip(&measures) {
            match stage {
                Stage::Maximise(terms) => tableau.maximise(&whole(terms)?, true)?,
                Stage::Leximin(goals) => {
                    let scales = goals.iter().zip(own).map(|((_, scale), &variable)| {
                        (variable, scale * &scaled[variable - self.columns].1)
                    });
                    leximin(&mut tableau, scales.filter(|(_, s)| s.is_positive()).collect())?;
                }
            }
        }
        let denominator = tableau.denominator().to_big();
        let value =
            |c| tableau.value(c).map_or(Q::zero(), |v| Q::new(v.to_big(), denominator.clone()));
        Some((0..self.columns).map(value).collect())
    }
}

/// Raises all together as far as it goes, drops those that cannot go on, and so on with the others.
fn leximin<I: Int>(tableau: &mut Tableau<I>, mut active: Terms) -> Option<()> {
    let zero = I::from_big(&BigInt::ZERO)?;
    let one = I::from_big(&BigInt::one())?;
    while !active.is_empty() {
        let level = tableau.add_common(&whole(&active)?, &zero)?;
        tableau.maximise(&[(level, one.clone())], true)?;
        // An expression can be raised if it is above the level at some point of the face; the middle
        // of all these points raises them all at once. If the sum of the others is greatest at zero,
        // none of them can be raised.
        let (mut undecided, mut raised) = (active, Vec::new());
        while !undecided.is_empty() {
            let sum: Vec<(Variable, I)> =
                undecided.iter().map(|(v, _)| (*v, one.clone())).collect();
            tableau.maximise(&sum, false)?;
            let above = |v: &Variable| {
                tableau.value(*v).is_some_and(|value| value.sign() == Ordering::Greater)
            };
            let (up, rest): (Terms, Terms) = undecided.into_iter().partition(|(v, _)| above(v));
            if up.is_empty() {
                tableau.maximise(&sum, true)?;
                break;
            }
            raised.extend(up);
            undecided = rest;
        }
        active = raised;
    }
    Some(())
}

/// The row in whole numbers without a common divisor, right-hand side last, and the factor.
fn whole_row(terms: &Terms, bound: &Q, columns: usize) -> (Vec<BigInt>, Q) {
    let mut row = vec![Q::zero(); columns + 1];
    for (column, value) in terms {
        row[*column] += value;
    }
    row[columns] = bound.clone();
    let factor = whole_factor(row.iter());
    (row.iter().map(|q| (q * &factor).to_integer()).collect(), factor)
}

/// The same expression times a positive number, in whole numbers.
fn whole<I: Int>(terms: &Terms) -> Option<Vec<(Variable, I)>> {
    let factor = whole_factor(terms.iter().map(|(_, q)| q));
    terms.iter().map(|(v, q)| Some((*v, I::from_big(&(q * &factor).to_integer())?))).collect()
}

/// The least positive number that makes all of these whole.
fn whole_factor<'a>(values: impl Iterator<Item = &'a Q>) -> Q {
    let (mut denominator, mut divisor) = (BigInt::one(), BigInt::ZERO);
    for value in values.filter(|q| !q.is_zero()) {
        denominator = denominator.lcm(value.denom());
        divisor = divisor.gcd(value.numer());
    }
    // For reduced fractions the gcd of the scaled numerators is the gcd of the numerators.
    if divisor.is_zero() { Q::one() } else { Q::new(denominator, divisor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(n: i64, d: i64) -> Q {
        Q::new(n.into(), d.into())
    }

    fn terms(values: &[(usize, i64)]) -> Terms {
        values.iter().map(|&(c, v)| (c, q(v, 1))).collect()
    }

    #[test]
    fn a_small_program_is_solved_exactly() {
        let mut program = Program::default();
        program.add_columns(2);
        program.at_most(terms(&[(0, 3), (1, 1)]), q(1, 1));
        program.at_most(terms(&[(0, 1), (1, 3)]), q(1, 1));
        let x = program.solve(&[Stage::Maximise(terms(&[(0, 1), (1, 1)]))]);
        assert_eq!(x, [q(1, 4), q(1, 4)]);
    }

    #[test]
    fn the_second_objective_decides_only_between_optima_of_the_first() {
        let mut program = Program::default();
        program.add_columns(2);
        program.at_most(terms(&[(0, 1), (1, 1)]), q(1, 1));
        program.at_most(terms(&[(0, 1)]), q(2, 3));
        let total = Stage::Maximise(terms(&[(0, 1), (1, 1)]));
        let x = program.solve(&[total.clone(), Stage::Maximise(terms(&[(0, 1)]))]);
        assert_eq!(x, [q(2, 3), q(1, 3)]);
        let goals = vec![(terms(&[(0, 1)]), q(1, 1)), (terms(&[(1, 1)]), q(2, 1))];
        assert_eq!(program.solve(&[total, Stage::Leximin(goals)]), [q(1, 3), q(2, 3)]);
    }

    #[test]
    fn leximin_goes_on_after_the_first_level() {
        let mut program = Program::default();
        program.add_columns(3);
        program.at_most(terms(&[(0, 1)]), q(1, 7));
        program.at_most(terms(&[(0, 1), (1, 1), (2, 1)]), q(1, 1));
        let goals = (0..3).map(|c| (terms(&[(c, 1)]), q(1, 1))).collect();
        assert_eq!(program.solve(&[Stage::Leximin(goals)]), [q(1, 7), q(3, 7), q(3, 7)]);
    }

    #[test]
    fn numbers_too_great_for_128_bits_are_exact_too() {
        let mut program = Program::default();
        program.add_columns(2);
        let huge = Q::from_float(1e30 + 1.0).unwrap();
        let tiny = Q::from_float(1e-30).unwrap();
        program.at_most(vec![(0, huge.clone()), (1, tiny.clone())], huge.clone());
        program.at_most(vec![(0, tiny.clone()), (1, huge.clone())], huge.clone());
        let x = program.solve(&[Stage::Maximise(terms(&[(0, 1), (1, 1)]))]);
        assert_eq!(x[0], &huge / (&huge + &tiny));
    }
}
