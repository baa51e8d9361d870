//! `cooperative`: the most total throughput in which nobody prefers what it could use of another's bundle.
//!
//! With `y_l = x_l / pi_l` the bundle of row `l` per unit of weight, and `d_l` the GPUs that it can use:
//!
//! ```text
//! max  sum_l pi_l w_l.y_l
//! s.t. w_l.y_l >= a_l d_l + c_l.y_i     for all rows l, i          (no envy)
//!      1.y_l <= d_l                                                (demands)
//!      sum_l pi_l y_l <= m,  y >= 0
//! ```
//!
//! Without a demand `a_l = 0` and `c_l = w_l`; see [`rows`] for those with one. There are `n(n-1)` envy
//! constraints and about `1.7 n` of them bind. They are added as they are violated. The answer is canonical: among the
//! optima the one whose throughputs over equal split are lexicographically greatest.

mod checkpoint;
mod data;
mod dual_residuals;
mod envy_program;
mod face;
mod interior;
mod lanes;
mod members;
mod menu;
mod multipliers;
mod newton;
mod pairs;
mod point;
mod polish;
mod proof;
mod ratios;
mod rhs;
mod rows;
mod shared_bundles;
#[cfg(test)]
mod tests;
mod vertex;
mod warm_start;

use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::instance::Instance;
use checkpoint::Checkpoint;
use data::Data;
use envy_program::EnvyProgram;
use interior::Run;
use multipliers::Multipliers;
use point::Point;
use rows::Rows;
use vertex::Vertex;
use warm_start::Kept;

/// In the report: what was done.
const WARM_START: &str = "parametric simplex from the last vertex, proven group by group";
const HALF_WAY: &str = "interior point from half way along the last path";
const ON_FACE: &str = "interior point, then the equations of the optimal face";
const VERTEX: &str = "interior point, then simplex with envy rows on demand";
const BY_GROUPS: &str = "interior point, then parametric simplex, proven group by group";
const OWN_BUNDLES: &str = "interior point, then simplex with a bundle for every row";
const SIMPLEX: &str = "simplex with envy rows on demand";
const SHARED: &str = "interior point, not finished, then simplex with shared bundles";
const UNFINISHED: &str = "interior point, not finished";
const SIMPLEX_UNFINISHED: &str = "simplex with envy rows on demand, not finished";
/// Up to here the simplex method alone is faster.
const SIMPLEX_MAX: usize = 8;
/// Complementarity at which the interior path ends: the bundles are then good to ten digits.
const ACCURACY: f64 = 1e-13;
/// Complementarity at which a path that started half way mostly shows its end clearly.
const NEARLY_THERE: f64 = 1e-10;
/// Bundles that agree to this are taken for one bundle; the bound tells whether that was right.
const SAME: [f64; 3] = [1e-6, 1e-8, 1e-11];
/// Bundles on an unfinished path that agree to this may be one.
const NEARLY_SAME: [f64; 2] = [1e-3, 1e-2];
/// A gap that is nothing but the rounding of the bound.
const EXACT: f64 = 2e-11;
/// The same for the bound of an interior path.
const NEARLY_EXACT: f64 = 1e-10;
/// A gap below which no other vertex is the optimum: one was seen 5e-11 away, with other bundles.
const SHARP: f64 = 2e-12;
/// Pivots per solve from the end of the path, which usually needs none, after which the proof by
/// groups has a try.
const PATIENCE: usize = 50;
/// Free entries of a face for which the program is next to nothing, and for which it is small.
const FREE_FEW: usize = 10;
const FREE_MAX: usize = 200;
/// Pivots times rows that one attempt at a vertex may take, less than a second: where ties make the
/// simplex go round, the answer at hand with its proven gap is better than one after minutes.
const PIVOT_WORK: usize = 600_000;
/// Rows up to which every row can have its own bundle in the simplex within seconds.
const OWN_BUNDLES_MAX: usize = 120;
/// Rows with demands from which on an interior path from half way is faster than a simplex from the last vertex.
const HALF_WAY_LEAST: usize = 60;
/// Nearest rows whose envy is looked at from the start.
const NEIGHBOURS: usize = 8;

/// What a solve leaves for the next one of a similar instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    kept: Option<Kept>,
}

/// A feasible answer in scaled units.
struct Answer {
    y: Vec<f64>,
    price: Vec<f64>,
    gap: f64,
    pivots: usize,
    method: &'static str,
    /// Whether ties between optima are proven to be broken as they should be.
    canonical: bool,
    /// What it leaves for the next solve.
    kept: Option<Kept>,
}

impl Answer {
    fn is_optimal(&self) -> bool {
        self.canonical && self.gap <= OPTIMALITY_TOLERANCE
    }

    /// Of two answers the one with the smaller gap; a canonical one first if both are optimal.
    fn or_better(self, other: Option<Answer>) -> Answer {
        let rank = |a: &Answer| (a.gap.max(OPTIMALITY_TOLERANCE), !a.canonical);
        match other {
            Some(other) if rank(&other) < rank(&self) => other,
            _ => self,
        }
    }
}

/// Computes the shares of the rows of an instance. `division` are the shares of the plain division of every type
/// (`max-min` with demands); it does not matter where there are no demands.
///
/// Small instances are for the simplex method alone. One that is like the last is solved from where that ended, if it
/// can be. Otherwise an interior-point method finds the optimum to ten digits and proves a bound, and one of several
/// ways leads from there to the canonical vertex. Each of them returns an answer that is proven, or nothing. If none
/// does, or there is no time, the best feasible answer at hand counts, with its gap to the bound.
pub(crate) fn solve(
    instance: &Instance,
    division: &[f64],
    state: &mut State,
    stop: &dyn Fn() -> bool,
) -> Allocation {
    let rows = Rows::new(instance, division);
    let data = Data::new(&rows);
    let search = Search { instance, rows: &rows, data: &data, division, stop };
    let kept = state.kept.take();
    let keeps_floors = |answer: &Answer| rows.keeps_floors(&answer.y);
    let answer = if rows.n <= SIMPLEX_MAX {
        search.simplex_alone(usize::MAX).unwrap_or_else(|| search.unfinished(None))
    } else {
        let warm = kept.and_then(|kept| search.warm_start(&kept)).filter(keeps_floors);
        warm.unwrap_or_else(|| search.interior_point())
    };
    let answer = Some(answer).filter(keeps_floors).unwrap_or_else(|| search.with_floors());
    state.kept = answer.kept;
    let mut x = rows.to_shares(instance, &answer.y);
    instance.fit(&mut x);
    Allocation {
        x,
        price: rows.to_prices(instance, &answer.price),
        gap: answer.gap,
        pivots: answer.pivots,
        method: answer.method,
        canonical: answer.canonical,
    }
}

/// The ways to an answer.
struct Search<'a> {
    instance: &'a Instance,
    rows: &'a Rows,
    data: &'a Data<'a>,
    division: &'a [f64],
    stop: &'a dyn Fn() -> bool,
}

impl Search<'_> {
    /// From the answer of the last solve.
    fn warm_start(&self, kept: &Kept) -> Option<Answer> {
        if self.goes_half_way() {
            return self.go_on_half_way(kept);
        }
        let found = warm_start::from_last(kept, self.instance, self.rows, self.stop)?;
        Some(Answer { method: WARM_START, ..found })
    }

    /// Whether the next solve starts half way along the path of this one.
    fn goes_half_way(&self) -> bool {
        self.rows.is_limited() && self.rows.n >= HALF_WAY_LEAST
    }

    /// Along an interior path that starts half way along the last one.
    fn go_on_half_way(&self, kept: &Kept) -> Option<Answer> {
        if (self.stop)() {
            return None;
        }
        let from = kept.compare(self.instance)?.from;
        let start = kept.checkpoint.as_ref()?.start(self.data, &from)?;
        let mut run = interior::resume(self.data, start, NEARLY_THERE, self.stop);
        let mut found = self.ahead_of_the_end(&run);
        if found.is_none() {
            run = interior::go_on(self.data, run, ACCURACY, self.stop);
            if !run.has_arrived() {
                return None;
            }
            found = self.end_of_path(&run, self.bound(&run));
        }
        let found = found.filter(Answer::is_optimal)?;
        let mut answer =
            Answer { method: HALF_WAY, pivots: found.pivots + run.iterations, ..found };
        if let Some(kept) = &mut answer.kept {
            kept.checkpoint = Checkpoint::new(self.data, &run, true);
        }
        Some(answer)
    }

    /// The answer shortly before the end of a path, if what is tight and what is nothing is clear there, and it is proven.
    fn ahead_of_the_end(&self, run: &Run) -> Option<Answer> {
        let bound = Multipliers::at(&run.point).bound(self.data);
        let found = self.on_face(run, bound, face::CLEAR_AHEAD, FREE_FEW)?;
        (found.gap <= SHARP).then_some(found)
    }

    /// Along an interior path, and from its end to a vertex.
    fn interior_point(&self) -> Answer {
        let start = Point::start(self.data, &self.rows.first_pairs(NEIGHBOURS));
        let mut run = interior::follow(self.data, start, ACCURACY, self.stop);
        if let Some(answer) = self.with_higher_limit(&run) {
            return answer;
        }
        let mut bound = self.bound(&run);
        let is_near = run.is_near_the_end();
        let mut found = if is_near { self.end_of_path(&run, bound) } else { None };
        let few = found.is_none() && self.rows.is_limited();
        let shared = if few { self.with_few_bundles(&run) } else { None };
        if found.is_none()
            && let Some(nearer) = interior::start_again(self.data, &run, ACCURACY, self.stop)
        {
            if let Some(answer) = self.with_higher_limit(&nearer) {
                return answer;
            }
            run = nearer;
            bound = bound.min(self.bound(&run));
            found = self.end_of_path(&run, bound);
        } else if found.is_none() && !is_near {
            found = self.end_of_path(&run, bound);
        }
        let found = found.or_else(|| self.best_vertex(&run, bound));
        let mut answer = match found {
            Some(answer) if answer.is_optimal() => answer,
            other => {
                let shared = shared.map(|y| self.with_gap(y, prices(&run), bound, SHARED));
                self.unfinished(Some((&run, bound))).or_better(other).or_better(shared)
            }
        };
        if !answer.is_optimal() {
            answer = answer.or_better(self.with_own_bundles(&run));
        }
        if !answer.is_optimal() && self.rows.n <= OWN_BUNDLES_MAX {
            answer = answer.or_better(self.simplex_alone(PIVOT_WORK / self.rows.n));
        }
        answer.pivots += run.iterations;
        let goes_on = self.goes_half_way() && !(self.stop)();
        if let Some(kept) = answer.kept.as_mut().filter(|_| goes_on) {
            kept.checkpoint = Checkpoint::new(self.data, &run, false);
        }
        answer
    }

    /// Along a path with more room for multipliers, where a limit of theirs was too low; `None`: it was not.
    fn with_higher_limit(&self, run: &Run) -> Option<Answer> {
        if !run.has_paid() || (self.stop)() {
            return None;
        }
        let data = self.data.with_higher_limit()?;
        let mut answer = Search { data: &data, ..*self }.interior_point();
        answer.pivots += run.iterations;
        Some(answer)
    }

    /// What the end of a path proves.
    fn bound(&self, run: &Run) -> f64 {
        let bound = Multipliers::at(&run.point).bound(self.data);
        match run.has_arrived() {
            true => bound,
            false => bound.min(run.residuals.bound(self.data, &run.point)),
        }
    }

    /// The answer at the end of a path: the canonical point of the face there, if its equations leave next to nothing
    /// open; else the vertex there, if it is near; else the point of a face with more open; else the best of these, if it
    /// is nearly exact, or a vertex that is proven group by group.
    fn end_of_path(&self, run: &Run, bound: f64) -> Option<Answer> {
        if (self.stop)() {
            return None;
        }
        let [clear, clearer, clearest] = face::CLEAR;
        let ways: [&dyn Fn() -> Option<Answer>; 6] = [
            &|| self.on_face(run, bound, clear, FREE_FEW),
            &|| self.on_face(run, bound, clearer, FREE_FEW),
            &|| self.near_vertex(run, SAME[0], bound, PATIENCE),
            &|| self.on_face(run, bound, clear, FREE_MAX),
            &|| self.on_face(run, bound, clearer, FREE_MAX),
            &|| self.on_face(run, bound, clearest, FREE_MAX),
        ];
        let mut best: Option<Answer> = None;
        for way in ways {
            let Some(found) = way().filter(|found| found.canonical) else { continue };
            if found.gap <= SHARP {
                return Some(found);
            }
            best = best.filter(|best| best.gap <= found.gap).or(Some(found));
        }
        let by_groups = || warm_start::from_path(self.instance, self.rows, &run.point, self.stop);
        best.filter(|best| best.gap <= NEARLY_EXACT).or_else(by_groups)
    }

    /// The best bundles in which rows whose bundles nearly agree on the path share one. Where there are few types it is
    /// mostly the optimum, long before the path shows that.
    fn with_few_bundles(&self, run: &Run) -> Option<Vec<f64>> {
        // From a path that has hardly begun one factorisation alone takes seconds.
        let shared = |same: f64| warm_start::shared(self.rows, &run.point, same, self.stop);
        NEARLY_SAME.into_iter().take_while(|_| !(self.stop)()).find_map(shared)
    }

    /// The canonical point of the face at the end of the path.
    fn on_face(&self, run: &Run, bound: f64, clear: f64, free_max: usize) -> Option<Answer> {
        let found = face::canonical(self.rows, &run.point, clear, free_max, self.stop)?;
        let multipliers = Multipliers::tight(&run.point);
        let kept = Kept::new(self.instance, found.vertex, found.bundles, multipliers);
        let (price, gap) = (prices(run), self.sharp_gap(run, &found.y, bound));
        let (y, pivots, kept) = (found.y, found.pivots, Some(kept));
        Some(Answer { y, price, gap, pivots, method: ON_FACE, canonical: true, kept })
    }

    /// The vertex with shared bundles near the end of the path.
    fn near_vertex(&self, run: &Run, same: f64, bound: f64, patience: usize) -> Option<Answer> {
        if (self.stop)() {
            return None;
        }
        let vertex = Vertex::near(self.rows, &run.point, same, 1.0);
        let program = EnvyProgram::resume(self.rows, &vertex, self.rows.n);
        let program = program.with_patience(patience).with_limit(PIVOT_WORK / self.rows.n);
        self.finish(program, Some((bound, run)), VERTEX)
    }

    /// The best vertex with shared bundles near the end of the path.
    fn best_vertex(&self, run: &Run, bound: f64) -> Option<Answer> {
        let mut best: Option<Answer> = None;
        for same in SAME {
            if best.as_ref().is_some_and(|best| best.canonical && best.gap <= EXACT) {
                break;
            }
            let found = self.near_vertex(run, same, bound, usize::MAX);
            best = match best {
                Some(best) => Some(best.or_better(found)),
                None => found,
            };
        }
        best
    }

    /// The vertex with a bundle for every row: it needs no bound from the path, but the many ties between
    /// rows with the same bundle cost it hundreds of pivots per row.
    fn with_own_bundles(&self, run: &Run) -> Option<Answer> {
        if self.rows.n > OWN_BUNDLES_MAX || (self.stop)() {
            return None;
        }
        let vertex = Vertex::near(self.rows, &run.point, 0.0, 1.0);
        let program = EnvyProgram::resume(self.rows, &vertex, self.rows.n);
        self.finish(program.with_limit(PIVOT_WORK / self.rows.n), None, OWN_BUNDLES)
    }

    /// The simplex method alone, with a bundle for every row, and with floors.
    fn simplex_alone(&self, pivots_max: usize) -> Option<Answer> {
        if (self.stop)() {
            return None;
        }
        let program = EnvyProgram::with_floors(self.rows, &self.rows.neighbours(3));
        self.finish(program.with_limit(pivots_max), None, SIMPLEX)
    }

    /// The answer where one without floors falls below them.
    fn with_floors(&self) -> Answer {
        let found = self.simplex_alone(10 * PIVOT_WORK / self.rows.n);
        found.unwrap_or_else(|| self.unfinished(None))
    }

    /// Walks to the optimal vertex and on to the canonical one. The bound is that of the path, or that of
    /// the vertex's own duals where every row has its own bundle.
    fn finish(
        &self,
        mut program: EnvyProgram<'_>,
        path: Option<(f64, &Run)>,
        method: &'static str,
    ) -> Option<Answer> {
        program.optimise(self.stop).ok()?;
        let (vertex, bundles) = (program.vertex(), program.held());
        let (bound, kept) = match path {
            None => (program.own_multipliers().bound(self.data), None),
            Some((bound, run)) => {
                let multipliers = Multipliers::tight(&run.point);
                (bound, Some(Kept::new(self.instance, vertex, bundles, multipliers)))
            }
        };
        let price = program.prices();
        // Without the tie-break the vertex still is an optimum.
        let canonical = program.make_canonical(self.stop).unwrap_or(false);
        let y = program.bundles();
        let gap = match path {
            Some((bound, run)) => self.sharp_gap(run, &y, bound),
            None => self.gap(&y, bound),
        };
        Some(Answer { y, price, gap, pivots: program.pivots(), method, canonical, kept })
    }

    /// A feasible answer from an unfinished path, or without one.
    fn unfinished(&self, path: Option<(&Run, f64)>) -> Answer {
        let (n, rows) = (self.rows.n, self.rows);
        let none = Multipliers::of_envy(Vec::new(), n).bound(self.data);
        let bound = path.map_or(none, |(_, bound)| bound.min(none));
        let price = path.map_or_else(|| vec![0.0; rows.k], |(run, _)| prices(run));
        let y = if rows.is_limited() {
            let division = rows.to_bundles(self.instance, self.division);
            path.map_or(division.clone(), |(run, _)| menu::between(rows, &division, &run.point.y))
        } else {
            menu::choose(rows, path.map_or(&vec![1.0; n * rows.k], |(run, _)| &run.point.y))
        };
        let method = if path.is_some() { UNFINISHED } else { SIMPLEX_UNFINISHED };
        self.with_gap(y, price, bound, method)
    }

    /// An answer that is not known to be the optimum.
    fn with_gap(&self, y: Vec<f64>, price: Vec<f64>, bound: f64, method: &'static str) -> Answer {
        let gap = self.gap(&y, bound);
        Answer { y, price, gap, pivots: 0, method, canonical: false, kept: None }
    }

    /// Relative distance of a total from a bound.
    fn gap(&self, y: &[f64], bound: f64) -> f64 {
        let gap = ((bound - self.rows.total(y)) / bound).abs();
        if gap.is_finite() { gap } else { f64::INFINITY }
    }

    /// The same from the bound of a path, or from that of its multipliers made exact.
    fn sharp_gap(&self, run: &Run, y: &[f64], bound: f64) -> f64 {
        let gap = self.gap(y, bound);
        if gap <= SHARP || (self.stop)() {
            return gap;
        }
        let exact = polish::polished(self.data, &run.point, y);
        gap.min(self.gap(y, exact.bound(self.data)))
    }
}

/// The prices at the end of a path.
fn prices(run: &Run) -> Vec<f64> {
    run.point.p.iter().map(|p| p.max(0.0)).collect()
}
