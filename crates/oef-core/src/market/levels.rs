//! `noncooperative` and `gavel`: the same level for all, as high as it goes, then the rest higher.

use super::master::{Goal, Master, Position, least_price};
use super::smooth::Smooth;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::lp::LpError;

/// Up to here every row is explicit at once; above, smoothed prices come first.
const DIRECT_MAX: usize = 40;

/// What a later solve of a similar instance can start from.
#[derive(Clone, Debug, Default)]
pub(crate) struct MarketState {
    price: Vec<f64>,
}

/// What is to be levelled, and under which restrictions.
pub(crate) struct Levelling<'a> {
    pub instance: &'a Instance,
    /// Throughput that counts as level one; a row with target 0 takes no part.
    pub target: &'a [f64],
    /// Rows that get just their target, whatever the level (empty: none).
    pub held: &'a [bool],
    /// Whether a row may use a type that it can run on (none: always).
    pub allowed: Option<&'a dyn Fn(usize, usize) -> bool>,
}

/// The lexicographic max-min of `w_l.x_l / target_l`, by stages: the rows that limit the level keep
/// it, and the types that none of them can use go to the others, who rise on.
///
/// With all entries positive there is one stage, and everybody is at the same level.
pub(crate) fn lexicographic(
    levelling: &Levelling<'_>,
    state: &mut MarketState,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let instance = levelling.instance;
    let k = instance.width();
    let mut allocation = Allocation {
        x: vec![0.0; instance.speedup.len()],
        price: vec![0.0; k],
        gap: 0.0,
        pivots: 0,
        method: "column generation, lexicographic levels",
        canonical: true,
    };
    let mut types: Vec<usize> = (0..k).collect();
    let mut rows: Vec<usize> =
        (0..instance.rows()).filter(|&l| levelling.target[l] > 0.0).collect();
    let hint = std::mem::take(&mut state.price);
    let mut known = (hint.len() == k).then_some(hint.as_slice());
    while !rows.is_empty() && !types.is_empty() {
        let stage = Stage::new(levelling, &rows, &types);
        let position = stage.solve(known, stop)?;
        known = None;
        let frozen = stage.record(&position, &mut allocation);
        let taken = |j: usize| rows.iter().zip(&frozen).any(|(&l, &f)| f && stage.usable(l, j));
        let free_types = types.iter().copied().filter(|&j| !taken(j)).collect();
        rows = rows.iter().zip(&frozen).filter(|&(_, &f)| !f).map(|(&l, _)| l).collect();
        types = free_types;
    }
    state.price = allocation.price.clone();
    Ok(allocation)
}

struct Stage<'a> {
    levelling: &'a Levelling<'a>,
    rows: Vec<usize>,
    types: Vec<usize>,
    /// Capacity that each row of the stage needs per type for its target, over the stage's types; infinite where it
    /// cannot run.
    cost: Vec<f64>,
    /// The level that an equal split reaches: makes the program's level a number of order one.
    unit: f64,
}

impl<'a> Stage<'a> {
    fn new(levelling: &'a Levelling<'a>, rows: &[usize], types: &[usize]) -> Self {
        let instance = levelling.instance;
        let k = types.len();
        let weight: f64 = rows.iter().map(|&l| instance.weight[l]).sum();
        let mut cost = vec![0.0; instance.rows() * k];
        let mut unit = f64::INFINITY;
        for &l in rows {
            let profile = instance.profile(l);
            // First what the row does with the whole of each type; nothing where it may not use it.
            let whole = &mut cost[l * k..][..k];
            for (whole, &j) in whole.iter_mut().zip(types) {
                if levelling.allowed.is_none_or(|allowed| allowed(l, j)) {
                    *whole = profile[j] * instance.capacity[j];
                }
            }
            let equal = whole.iter().sum::<f64>() * (instance.weight[l] / weight);
            if equal > 0.0 && !is_held(levelling, l) {
                unit = unit.min(equal / levelling.target[l]);
            }
        }
        if unit.is_infinite() {
            unit = 1.0;
        }
        for &l in rows {
            let (target, unit) =
                (levelling.target[l], if is_held(levelling, l) { 1.0 } else { unit });
            cost[l * k..][..k].iter_mut().for_each(|c| *c = target / *c * unit);
        }
        Stage { levelling, rows: rows.to_vec(), types: types.to_vec(), cost, unit }
    }

    fn usable(&self, row: usize, gpu: usize) -> bool {
        let c = self.types.iter().position(|&j| j == gpu);
        c.is_some_and(|c| self.cost[row * self.types.len() + c].is_finite())
    }

    /// Finds prices by smoothing, then the vertex by column generation from there.
    fn solve(&self, known: Option<&[f64]>, stop: &dyn Fn() -> bool) -> Result<Position, LpError> {
        let n = self.rows.len();
        let k = self.types.len();
        let mut position = Position::default();
        let master = Master {
            goal: Goal::Level,
            cost: &self.cost,
            types: k,
            rows: &self.rows,
            held: self.levelling.held,
            worth: &[],
        };
        if !self.levelling.held.is_empty() {
            // On an optimal face few rows have a choice at all, and those that have one are tied.
            master.classify(&vec![1.0; k], f64::INFINITY, &mut position);
        } else if n <= DIRECT_MAX {
            master.classify_all_explicit(&mut position);
        } else {
            let floor = vec![0.0; k];
            let smooth = Smooth {
                goal: Goal::Level,
                cost: &self.cost,
                types: k,
                rows: &self.rows,
                floor: &floor,
            };
            let (price, doubt) = match known {
                Some(p) => {
                    let scaled =
                        self.types.iter().map(|&j| p[j] * self.levelling.instance.capacity[j]);
                    (scaled.collect(), smooth.doubt_in_known())
                }
                None => smooth.search(stop),
            };
            master.solve_near(&price, doubt, &mut position, stop)?;
            return Ok(position);
        }
        master.solve(&mut position, stop)?;
        Ok(position)
    }

    /// Writes the stage's shares and prices; says which rows can rise no further.
    fn record(&self, position: &Position, allocation: &mut Allocation) -> Vec<bool> {
        let instance = self.levelling.instance;
        let k = instance.width();
        let mut explicit = vec![false; self.rows.len()];
        for &i in &position.explicit {
            explicit[i] = true;
        }
        let mut add = |i: usize, c: usize, targets: f64| {
            let (l, j) = (self.rows[i], self.types[c]);
            let unit = if is_held(self.levelling, l) { 1.0 } else { self.unit };
            allocation.x[l * k + j] +=
                targets * unit * self.levelling.target[l] / instance.profile(l)[j];
        };
        for (i, &l) in self.rows.iter().enumerate().filter(|&(i, _)| !explicit[i]) {
            let level = if is_held(self.levelling, l) { 1.0 } else { position.value };
            add(i, position.choice[i] as usize, level);
        }
        for (&(i, c), &amount) in position.edges.iter().zip(&position.amount) {
            add(i, c, amount);
        }
        allocation.pivots += position.pivots;
        let frozen = self.frozen(position);
        self.clear_unfrozen(&frozen, allocation);
        self.price(position, &frozen, allocation);
        frozen
    }

    /// The rows that go on are served anew in the next stage.
    fn clear_unfrozen(&self, frozen: &[bool], allocation: &mut Allocation) {
        let k = self.levelling.instance.width();
        for (&l, _) in self.rows.iter().zip(frozen).filter(|&(_, &f)| !f) {
            allocation.x[l * k..][..k].fill(0.0);
        }
    }

    /// Rows whose every type has a price are at their limit. (A free type is one that no such row can
    /// use, which is how a price lost in rounding is told from none.)
    fn frozen(&self, position: &Position) -> Vec<bool> {
        let k = self.types.len();
        let most = position.price.iter().copied().fold(0.0, f64::max);
        let priced: Vec<bool> = position.price.iter().map(|&p| p > 1e-14 * most).collect();
        let mut frozen: Vec<bool> = (self.rows.iter())
            .map(|&l| (0..k).all(|c| priced[c] || !self.cost[l * k + c].is_finite()))
            .collect();
        if !frozen.contains(&true) {
            // Nothing limits: only possible through rounding. Everybody stays, and the loop ends.
            frozen.fill(true);
        }
        frozen
    }

    /// Prices in units of total throughput: one more unit of level is worth the sum of the targets of
    /// the rows at the limit. The gap compares the level with what the prices prove: with `q_l` the
    /// least price of row `l`'s target, `t <= (sum p - sum_held q) / sum_rising q`.
    fn price(&self, position: &Position, frozen: &[bool], allocation: &mut Allocation) {
        let k = self.types.len();
        let (mut rising, mut held, mut targets) = (0.0, 0.0, 0.0);
        for (&l, &is_frozen) in self.rows.iter().zip(frozen) {
            let least = least_price(&self.cost[l * k..][..k], &position.price);
            if is_held(self.levelling, l) {
                held += least;
            } else {
                rising += least;
                targets += if is_frozen { self.levelling.target[l] } else { 0.0 };
            }
        }
        if rising <= 0.0 {
            return;
        }
        let bound = (position.price.iter().sum::<f64>() - held) / rising;
        allocation.gap = allocation.gap.max((bound - position.value).abs() / bound.abs());
        for (c, &j) in self.types.iter().enumerate() {
            let capacity = self.levelling.instance.capacity[j];
            allocation.price[j] = position.price[c] / rising * targets * self.unit / capacity;
        }
    }
}

fn is_held(levelling: &Levelling<'_>, row: usize) -> bool {
    levelling.held.get(row).copied().unwrap_or(false)
}
