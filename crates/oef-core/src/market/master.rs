//! The master program: explicit rows in full, clear rows summed up, solved by column generation.

use crate::lp::{LpError, Program, Simplex};

/// What the master maximises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The level `t` with `w_l.x_l >= target_l t` (rows that are held: `>= target_l`).
    Level,
    /// The total `sum_l w_l.x_l` with `w_l.x_l >= target_l`.
    Total,
}

/// A row that prefers its type by less than this is not clear about it.
const CLEAR: f64 = 1e-11;
/// Price of a GPU that does not exist, over that of one that does, to begin with; where that does not
/// keep the rows within what there is, it is raised by the same factor again.
const OVERDRAFT: f64 = 100.0;
/// Overdraft, as a part of a type's capacity, that is only rounding.
const OVERDRAWN: f64 = 1e-11;
/// Rows and columns added per type in one round of column generation.
const CALLS_PER_TYPE: usize = 20;
/// One row of so many may call before more rows are made explicit instead; up to this doubt.
const MANY: usize = 20;
const DOUBT_MAX: f64 = 0.01;
/// Rounds of column generation; each adds at least one column of finitely many.
const ROUNDS_MAX: usize = 10_000;

/// The rows to be served, by reference to cost tables: `cost[l * k + j]` is the part of type `j`'s
/// capacity that row `l` needs to reach its target there alone; infinite where it cannot run.
pub(super) struct Master<'a> {
    pub goal: Goal,
    pub cost: &'a [f64],
    pub types: usize,
    pub rows: &'a [usize],
    /// Level only: rows that keep to their target instead of rising with the level (may be empty).
    pub held: &'a [bool],
    /// Total only: what a row's target counts in the objective.
    pub worth: &'a [f64],
}

/// Where a solve stands, and where the next one starts from.
#[derive(Clone, Debug, Default)]
pub(super) struct Position {
    /// Per row (by index into `Master::rows`): the type that a clear row uses.
    pub choice: Vec<u32>,
    /// The explicit rows, by index into `Master::rows`.
    pub explicit: Vec<usize>,
    /// Columns of explicit rows: (row index, type).
    pub edges: Vec<(usize, usize)>,
    /// What fills each column of the basis.
    pub basis: Vec<Basic>,
    /// Price per type (of its whole capacity).
    pub price: Vec<f64>,
    /// Target units that each edge delivers.
    pub amount: Vec<f64>,
    /// Total only: what is asked of each type beyond its capacity (as a part of it), and the factor
    /// that it is dearer by.
    pub overdraft: Vec<f64>,
    pub dearer: Vec<f64>,
    /// The level reached, or the total.
    pub value: f64,
    /// Simplex pivots spent.
    pub pivots: usize,
}

/// A basic variable of the master, named so that it survives a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basic {
    Level,
    Edge(usize, usize),
    RowSlack(usize),
    TypeSlack(usize),
    Overdraft(usize),
}

impl Master<'_> {
    /// Solves from `position` (choices, explicit rows, edges and basis as far as they are known).
    pub fn solve(&self, position: &mut Position, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            self.solve_restricted(position, stop)?;
            if !self.generate(position) && !self.raise_overdrafts(position) {
                return Ok(());
            }
        }
        Err(LpError::NotConverged)
    }

    /// Solves from prices that are nearly right. With too few rows explicit the program's own prices
    /// run away from them, and most rows call: then more of those that hesitate are explicit.
    pub fn solve_near(
        &self,
        price: &[f64],
        mut doubt: f64,
        position: &mut Position,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LpError> {
        loop {
            self.classify(price, doubt, position);
            position.price = price.to_vec();
            self.solve_restricted(position, stop)?;
            if doubt > DOUBT_MAX || self.calls(position).len() * MANY <= self.rows.len() {
                return self.solve(position, stop);
            }
            doubt *= 4.0;
        }
    }

    /// Makes overdrafts dearer where there still are any; true if so.
    fn raise_overdrafts(&self, position: &mut Position) -> bool {
        let drawn = |&j: &usize| position.overdraft[j] > OVERDRAWN;
        let drawn: Vec<usize> = (0..position.overdraft.len()).filter(drawn).collect();
        for &j in &drawn {
            position.dearer[j] *= OVERDRAFT;
        }
        !drawn.is_empty()
    }

    /// Fills `position` with the choices at the given prices; rows that hesitate by less than
    /// `doubt` become explicit with all types within reach.
    pub fn classify(&self, price: &[f64], doubt: f64, position: &mut Position) {
        position.choice.clear();
        position.explicit.clear();
        position.edges.clear();
        position.basis.clear();
        for (i, &row) in self.rows.iter().enumerate() {
            let cost = self.costs(row);
            let least = least_price(cost, price);
            let doubtful = least * (1.0 + doubt);
            let (mut best, mut rivals) = (0, 0);
            for (j, (c, p)) in cost.iter().zip(price).enumerate().rev() {
                let product = c * p;
                rivals += usize::from(product <= doubtful && c.is_finite());
                best = if product <= least { j } else { best };
            }
            position.choice.push(best as u32);
            let must = least < self.worth_of(row) * (1.0 + doubt);
            if rivals > 1 || must {
                position.explicit.push(i);
                let reach = least * (1.02 + 4.0 * doubt);
                let within =
                    (0..self.types).filter(|&j| cost[j].is_finite() && cost[j] * price[j] <= reach);
                position.edges.extend(within.map(|j| (i, j)));
            }
        }
        self.crash(position);
    }

    /// Every row explicit with every type: no prices are known.
    pub fn classify_all_explicit(&self, position: &mut Position) {
        *position = Position::default();
        for (i, &row) in self.rows.iter().enumerate() {
            let cost = self.costs(row);
            let best = (0..self.types).min_by(|&a, &b| cost[a].total_cmp(&cost[b])).unwrap_or(0);
            position.choice.push(best as u32);
            position.explicit.push(i);
            position.edges.extend((0..self.types).filter(|&j| cost[j].is_finite()).map(|j| (i, j)));
        }
        self.crash(position);
    }

    /// A first basis: every explicit row on its cheapest type.
    fn crash(&self, position: &mut Position) {
        let edges = position.explicit.iter().map(|&i| Basic::Edge(i, position.choice[i] as usize));
        position.basis = edges.chain((0..self.types).map(Basic::TypeSlack)).collect();
    }

    /// Whether a row keeps to its target whatever the level.
    fn is_fixed(&self, row: usize) -> bool {
        self.goal == Goal::Total || self.held.get(row).copied().unwrap_or(false)
    }

    fn worth_of(&self, row: usize) -> f64 {
        if self.goal == Goal::Total { self.worth[row] } else { 0.0 }
    }

    fn costs(&self, row: usize) -> &[f64] {
        &self.cost[row * self.types..][..self.types]
    }

    fn solve_restricted(
        &self,
        position: &mut Position,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LpError> {
        if position.dearer.is_empty() {
            position.dearer = vec![OVERDRAFT; self.types];
        }
        let (program, names, scales) = self.program(position);
        let vars = program.vars();
        let mut slot_of_row = vec![usize::MAX; self.rows.len()];
        for (slot, &i) in position.explicit.iter().enumerate() {
            slot_of_row[i] = slot;
        }
        let mut simplex = Simplex::new(program);
        simplex.precise = true;
        let (mut structurals, mut logicals) = (Vec::new(), Vec::new());
        let mut wanted = std::collections::BTreeSet::new();
        for basic in &position.basis {
            match *basic {
                Basic::TypeSlack(j) => logicals.push(j),
                Basic::RowSlack(i) => logicals.push(self.types + slot_of_row[i]),
                Basic::Level => structurals.push(vars - 1),
                Basic::Overdraft(j) => structurals.push(position.edges.len() + j),
                Basic::Edge(i, j) => {
                    wanted.insert((i, j));
                }
            }
        }
        structurals
            .extend((0..position.edges.len()).filter(|&v| wanted.contains(&position.edges[v])));
        simplex.set_basis(&structurals, &logicals);
        let outcome = simplex.maximise(stop);
        position.pivots += simplex.pivots;
        outcome?;
        let duals = simplex.duals();
        let size = self.rows.len() as f64;
        position.price = (0..self.types).map(|j| (duals[j] * size).max(0.0)).collect();
        position.amount = (0..position.edges.len()).map(|v| simplex.value(v) * scales[v]).collect();
        if self.goal == Goal::Total {
            let first = position.edges.len();
            let drawn = (0..self.types).map(|j| simplex.value(first + j) / size);
            position.overdraft = drawn.collect();
        }
        position.value = match self.goal {
            Goal::Level => simplex.value(vars - 1),
            Goal::Total => (position.edges.iter().zip(&position.amount))
                .map(|(&(i, _), amount)| amount * self.worth[self.rows[i]])
                .sum(),
        };
        position.basis = simplex
            .basic()
            .map(|v| match v {
                v if v < vars => names[v],
                v if v - vars < self.types => Basic::TypeSlack(v - vars),
                v => Basic::RowSlack(position.explicit[v - vars - self.types]),
            })
            .collect();
        Ok(())
    }

    /// Rows: one per type (its capacity, counted in rows so that entries are of order one), one per
    /// explicit row. Columns: the edges in units of the row's target, then the level.
    fn program(&self, position: &Position) -> (Program, Vec<Basic>, Vec<f64>) {
        let size = self.rows.len() as f64;
        let mut program = Program::default();
        let (mut rising, mut fixed) = (vec![0.0; self.types], vec![0.0; self.types]);
        let mut slot_of_row = vec![usize::MAX; self.rows.len()];
        for (slot, &i) in position.explicit.iter().enumerate() {
            slot_of_row[i] = slot;
        }
        for (i, &row) in self.rows.iter().enumerate() {
            if slot_of_row[i] == usize::MAX {
                let j = position.choice[i] as usize;
                let used = if self.is_fixed(row) { &mut fixed } else { &mut rising };
                used[j] += size * self.costs(row)[j];
            }
        }
        for j in 0..self.types {
            program.row(f64::NEG_INFINITY, size - fixed[j]);
        }
        for &i in &position.explicit {
            let least = if self.is_fixed(self.rows[i]) { 1.0 } else { 0.0 };
            program.row(least, f64::INFINITY);
        }
        let (mut names, mut scales) = (Vec::new(), Vec::new());
        for &(i, j) in &position.edges {
            let row = self.rows[i];
            let use_of_type = size * self.costs(row)[j];
            let scale = 1.0 / use_of_type.max(1.0);
            let worth = self.worth_of(row) * scale;
            let column = vec![(j, use_of_type * scale), (self.types + slot_of_row[i], scale)];
            program.var(worth, 0.0, f64::INFINITY, column);
            names.push(Basic::Edge(i, j));
            scales.push(scale);
        }
        if self.goal == Goal::Level {
            let types = (0..self.types).filter(|&j| rising[j] > 0.0).map(|j| (j, rising[j]));
            let slots = position.explicit.iter().enumerate();
            let rows = slots.filter(|&(_, &i)| !self.is_fixed(self.rows[i]));
            let rows = rows.map(|(slot, _)| (self.types + slot, -1.0));
            let column: Vec<_> = types.chain(rows).collect();
            // With every row held there is no level to raise, only a way to serve them to be found.
            let most = if column.is_empty() { 0.0 } else { f64::INFINITY };
            program.var(1.0, 0.0, most, column);
            names.push(Basic::Level);
        } else {
            // Clear rows may ask for more than there is until enough of them are explicit: capacity
            // can be overdrawn at a price that makes them look elsewhere.
            let mut most = vec![1.0 / size; self.types];
            for (j, p) in position.price.iter().enumerate() {
                most[j] = most[j].max(*p);
            }
            for &(i, j) in &position.edges {
                let row = self.rows[i];
                most[j] = most[j].max(self.worth[row] / self.costs(row)[j]);
            }
            for (j, most) in most.into_iter().enumerate() {
                program.var(-position.dearer[j] * most / size, 0.0, f64::INFINITY, vec![(j, -1.0)]);
                names.push(Basic::Overdraft(j));
            }
        }
        (program, names, scales)
    }

    fn explicit_flags(&self, position: &Position) -> Vec<bool> {
        let mut flags = vec![false; self.rows.len()];
        for &i in &position.explicit {
            flags[i] = true;
        }
        flags
    }

    /// The rows that the prices call, with how much they would gain: explicit ones that lack a column,
    /// and clear ones that would rather buy elsewhere or more.
    fn calls(&self, position: &Position) -> Vec<(f64, usize)> {
        let is_explicit = self.explicit_flags(position);
        let mut least_held = vec![f64::INFINITY; self.rows.len()];
        for &(i, j) in &position.edges {
            let cost = self.costs(self.rows[i])[j] * position.price[j];
            least_held[i] = least_held[i].min(cost);
        }
        let mut calling: Vec<(f64, usize)> = Vec::new();
        for (i, &row) in self.rows.iter().enumerate() {
            let cost = self.costs(row);
            let least = least_price(cost, &position.price);
            let held = if is_explicit[i] {
                least_held[i]
            } else {
                cost[position.choice[i] as usize] * position.price[position.choice[i] as usize]
            };
            let worth = if is_explicit[i] { 0.0 } else { self.worth_of(row) };
            if held > least * (1.0 + CLEAR) || least < worth * (1.0 - CLEAR) {
                calling.push((held.max(worth) / least, i));
            }
        }
        calling
    }

    /// Adds what the prices call for. Returns whether anything was added.
    fn generate(&self, position: &mut Position) -> bool {
        let is_explicit = self.explicit_flags(position);
        let mut calling = self.calls(position);
        // Prices that are far off make nearly every row call; those that gain most bring them right.
        let limit = CALLS_PER_TYPE * self.types + position.explicit.len() / 2;
        if calling.len() > limit {
            let order =
                |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            calling.select_nth_unstable_by(limit, order);
            calling.truncate(limit);
            calling.sort_unstable_by_key(|call| call.1);
        }
        for &(_, i) in &calling {
            let (best, _, _) = cheapest(self.costs(self.rows[i]), &position.price);
            if !is_explicit[i] {
                let chosen = position.choice[i] as usize;
                position.explicit.push(i);
                position.edges.push((i, chosen));
                position.basis.push(Basic::Edge(i, chosen));
                if best == chosen {
                    continue;
                }
            }
            position.edges.push((i, best));
        }
        !calling.is_empty()
    }
}

/// The least `cost * price`: what a row pays for its target.
pub(super) fn least_price(cost: &[f64], price: &[f64]) -> f64 {
    let less = |a: f64, b: f64| if a < b { a } else { b };
    let (c_pairs, p_pairs) = (cost.chunks_exact(2), price.chunks_exact(2));
    let tail = c_pairs.remainder().iter().zip(p_pairs.remainder());
    let mut strands = [f64::INFINITY; 2];
    for (c, p) in c_pairs.zip(p_pairs) {
        // Infinitely dear times free is not a number, and no number is less than another: it is skipped.
        strands = [less(c[0] * p[0], strands[0]), less(c[1] * p[1], strands[1])];
    }
    tail.fold(less(strands[0], strands[1]), |least, (c, p)| less(c * p, least))
}

/// The type with the least `cost * price`, that product, and the second least.
pub(super) fn cheapest(cost: &[f64], price: &[f64]) -> (usize, f64, f64) {
    let (mut best, mut least, mut second) = (0, f64::INFINITY, f64::INFINITY);
    for (j, (c, p)) in cost.iter().zip(price).enumerate() {
        // A type that cannot be used costs infinitely much even where it is free.
        let product = if c.is_finite() { c * p } else { f64::INFINITY };
        if product < least {
            (best, second, least) = (j, least, product);
        } else if product < second {
            second = product;
        }
    }
    (best, least, second)
}
