//! The cooperative program as a simplex with envy rows added on demand.

use super::multipliers::{Envy, Multipliers};
use super::rows::Rows;
use super::vertex::{Vertex, Weak};
use crate::linalg::dot;
use crate::lp::{Level, LpError, Program, Simplex, leximin};

/// Envy (in units of an equal split's utility) above which a row must be added.
const ENVY: f64 = 1e-11;
/// Rounds of adding violated rows; each adds at least one of finitely many.
const ROUNDS_MAX: usize = 1_000;
/// Envy rows added per tenant and round: the worst ones; more would mostly be slack later.
const ADDED_PER_ROW: usize = 2;
/// What is not distinguished from nothing at a vertex.
const ZERO: f64 = 1e-9;
/// What duals may leave open of a level of the tie-break.
const PROVEN_LEVEL: f64 = 1e-6;

/// Row `j < k` is the capacity of type `j` (in units of `1 / n`); then come the caps of the bundles, then floors,
/// then the envy pairs. Rows that are known to hold the same bundle share its columns.
pub(super) struct EnvyProgram<'a> {
    rows: &'a Rows,
    /// The bundle of each row, and whether several rows share each.
    bundle_of: Vec<usize>,
    shared: Vec<bool>,
    pub bundles: usize,
    /// The row of each bundle's cap, and of each row's floor.
    cap_row: Vec<Option<usize>>,
    floor_row: Vec<Option<usize>>,
    /// (row, bundle) in the order of the program's rows.
    pairs: Vec<(usize, usize)>,
    first_pair: usize,
    present: Vec<bool>,
    simplex: Simplex,
    /// Column of each entry of the bundles; absent where a row that holds it cannot use the type.
    column: Vec<Option<usize>>,
}

/// Prices, the multipliers of the envy pairs (row, bundle, z), and those of the bundles' caps.
pub(super) struct BundleMultipliers {
    pub price: Vec<f64>,
    pub envy: Vec<(usize, usize, f64)>,
    pub cap: Vec<f64>,
}

impl<'a> EnvyProgram<'a> {
    /// The program with floors and a bundle for every row, and with the given pairs (row, row) to begin with.
    pub fn with_floors(rows: &'a Rows, pairs: &[(usize, usize)]) -> Self {
        let mut program = Self::build(rows, (0..rows.n).collect(), rows.n, pairs.len());
        for l in (0..rows.n).filter(|&l| rows.floor[l] > 0.0) {
            // A hair of room, for floors that are met with equality by everybody.
            let lower = rows.floor[l] * (1.0 - 1e-12);
            let row = program.simplex.program.row(lower, f64::INFINITY);
            program.floor_row[l] = Some(row);
            let mut lp = std::mem::take(&mut program.simplex.program);
            program.write(&mut lp, row, program.bundle_of[l], rows.value(l), 1.0);
            program.simplex.program = lp;
        }
        program.first_pair = program.simplex.program.rows();
        pairs.iter().for_each(|&(l, i)| program.add(l, i));
        program
    }

    /// The program at a vertex of a similar one. Rows from `present` on have left: they count for
    /// nothing, but their constraints, now free, keep the vertex what it is until the simplex moves.
    pub fn resume(rows: &'a Rows, vertex: &Vertex, present: usize) -> Self {
        let bundle_of = vertex.bundle_of.clone();
        let mut program = Self::build(rows, bundle_of, present, vertex.pairs.len());
        let mut basic = vertex.idle.clone();
        let loose = vertex.loose.iter().chain(&vertex.weak.loose);
        basic.extend(loose.filter_map(|&b| *program.cap_row.get(b)?));
        let mut weak = vertex.weak.pairs.iter().peekable();
        for (at, &(l, b, slack)) in vertex.pairs.iter().enumerate() {
            let known = program.pairs.len();
            program.add(l, b);
            let is_weak = weak.next_if_eq(&&at).is_some();
            if (slack || is_weak) && program.pairs.len() > known {
                basic.push(program.first_pair + known);
            }
        }
        program.free_absent(present);
        let k = rows.k;
        let held = vertex.held.iter().chain(&vertex.weak.held);
        let structurals: Vec<usize> =
            held.filter_map(|&(b, j)| program.column[b * k + j]).collect();
        program.simplex.set_basis(&structurals, &basic);
        program
    }

    /// Frees the constraints of rows that have left.
    fn free_absent(&mut self, present: usize) {
        let mut alive = vec![false; self.bundles];
        for &b in &self.bundle_of[..present] {
            alive[b] = true;
        }
        for (r, &(l, b)) in self.pairs.iter().enumerate() {
            if l >= present || !alive[b] {
                let row = self.first_pair + r;
                self.simplex.program.row_lower[row] = f64::NEG_INFINITY;
            }
        }
        for l in 0..self.rows.n {
            for b in 0..self.bundles {
                self.present[l * self.bundles + b] |= l >= present || !alive[b];
            }
        }
    }

    /// The multipliers at the vertex, in units of `n` rows.
    pub fn multipliers(&mut self, n: usize) -> BundleMultipliers {
        let duals = self.simplex.duals();
        let price = duals[..self.rows.k].to_vec();
        // The program may count rows that have left; multipliers are for those that are there.
        let part = n as f64 / self.rows.n as f64;
        let z = |r: usize| -duals[self.first_pair + r] * part;
        let pairs = self.pairs.iter().enumerate().map(|(r, &(l, b))| (l, b, z(r)));
        let caps = self.caps();
        let cap =
            |b: usize| self.cap_row[b].map_or(0.0, |row| duals[row].max(0.0) * part / caps[b]);
        let envy = pairs.filter(|p| p.2 > 0.0).collect();
        BundleMultipliers { price, envy, cap: (0..self.bundles).map(cap).collect() }
    }

    /// The multipliers of a program in which every row has its own bundle.
    pub fn own_multipliers(&mut self) -> Multipliers {
        let n = self.rows.n;
        let BundleMultipliers { envy: pairs, cap, .. } = self.multipliers(n);
        let duals = self.simplex.duals();
        let floor = self.floor_row.iter().map(|row| row.map_or(0.0, |row| (-duals[row]).max(0.0)));
        let envy = pairs.into_iter().map(|(envious, envied, z)| Envy { envious, envied, z });
        Multipliers { envy: envy.collect(), cap, floor: floor.collect() }
    }

    /// What the current vertex is made of. What is basic at zero says nothing about the vertex, and could take the place
    /// of something that does when rows share bundles otherwise: so it stands apart. Without demands that is the usual
    /// case, and it is left out.
    pub fn vertex(&self) -> Vertex {
        let k = self.rows.k;
        let vars = self.simplex.program.vars();
        let mut basic = vec![false; vars + self.simplex.program.rows()];
        self.simplex.basic().for_each(|v| basic[v] = true);
        let mut vertex = Vertex { bundle_of: self.bundle_of.clone(), ..Vertex::default() };
        let mut weak = Weak::default();
        for (e, column) in self.column.iter().enumerate() {
            if let Some(v) = column.filter(|&v| basic[v]) {
                let holds = self.simplex.value(v) > ZERO;
                let list = if holds { &mut vertex.held } else { &mut weak.held };
                list.push((e / k, e % k));
            }
        }
        for (r, &(l, b)) in self.pairs.iter().enumerate() {
            let row = self.first_pair + r;
            let slack = self.simplex.activity(row) - self.rows.base[l];
            vertex.pairs.push((l, b, basic[vars + row] && slack > ZERO));
            if basic[vars + row] && slack <= ZERO {
                weak.pairs.push(r);
            }
        }
        for (b, row) in self.cap_row.iter().enumerate() {
            let slack = |row: usize| 1.0 - self.simplex.activity(row);
            match row {
                Some(row) if !basic[vars + row] => {}
                Some(row) if slack(*row) <= ZERO => weak.loose.push(b),
                _ => vertex.loose.push(b),
            }
        }
        vertex.idle = (0..k).filter(|&j| basic[vars + j]).collect();
        if self.rows.is_limited() {
            vertex.weak = weak;
        }
        vertex
    }

    fn build(rows: &'a Rows, bundle_of: Vec<usize>, present: usize, pairs: usize) -> Self {
        let bundles = bundle_of.iter().max().map_or(0, |b| b + 1);
        let (mut program, column) = columns(rows, &bundle_of, bundles);
        program.row_lower.reserve(pairs);
        let mut members = vec![0; bundles];
        bundle_of[..present].iter().for_each(|&b| members[b] += 1);
        let mut envy = EnvyProgram {
            rows,
            bundle_of,
            shared: members.iter().map(|count| *count > 1).collect(),
            bundles,
            cap_row: vec![None; bundles],
            floor_row: vec![None; rows.n],
            pairs: Vec::new(),
            first_pair: 0,
            present: vec![false; rows.n * bundles],
            simplex: Simplex::new(Program::default()),
            column,
        };
        for (b, cap) in envy.caps().into_iter().enumerate().filter(|(_, cap)| cap.is_finite()) {
            let row = program.row(f64::NEG_INFINITY, 1.0);
            envy.write(&mut program, row, b, &rows.size, 1.0 / cap);
            envy.cap_row[b] = Some(row);
        }
        envy.first_pair = program.rows();
        envy.simplex = Simplex::new(program);
        envy
    }

    /// The cap of each bundle: the least of the rows that share it.
    fn caps(&self) -> Vec<f64> {
        let mut caps = vec![f64::INFINITY; self.bundles];
        for (l, &b) in self.bundle_of.iter().enumerate() {
            caps[b] = caps[b].min(self.rows.cap[l]);
        }
        caps
    }

    /// Gives up when a solve needs more pivots than this.
    pub fn with_patience(mut self, pivots_max: usize) -> Self {
        self.simplex.patience = pivots_max;
        self
    }

    /// Gives up after so many pivots in all.
    pub fn with_limit(mut self, pivots_max: usize) -> Self {
        self.simplex.limit = pivots_max;
        self
    }

    /// Solves to optimality over all pairs.
    pub fn optimise(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            self.simplex.maximise(stop)?;
            if !self.add_violated() {
                return Ok(());
            }
        }
        Err(LpError::NotConverged)
    }

    /// Moves near the optimum over all pairs from a nearly optimal basis, in at most so many pivots. The
    /// vertex there counts only after [`Self::arrive`], which mostly finds it as it is.
    pub fn approach(&mut self, pivots_max: usize, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            let left = pivots_max.saturating_sub(self.simplex.pivots);
            self.simplex.approach(left, stop)?;
            if !self.add_violated() {
                return Ok(());
            }
        }
        Err(LpError::NotConverged)
    }

    /// Solves to optimality over all pairs from where [`Self::approach`] has ended.
    pub fn arrive(&mut self, pivots_max: usize, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        for _ in 0..ROUNDS_MAX {
            self.simplex.arrive(stop)?;
            if !self.add_violated() {
                return Ok(());
            }
            self.approach(pivots_max, stop)?;
        }
        Err(LpError::NotConverged)
    }

    /// Moves to the canonical optimum: the lexicographic max-min of utilities on the optimal face, and among the
    /// bundles that give it the ones that [`preference`] chooses. Returns whether that is proven.
    pub fn make_canonical(&mut self, stop: &dyn Fn() -> bool) -> Result<bool, LpError> {
        let mut face = self.simplex.clone();
        if !face.restrict_to_optimal_face() {
            return Ok(true);
        }
        let levels: Vec<Level> = (0..self.rows.n).map(|l| self.level(l)).collect();
        let liked = preferences(self.rows.k, &self.bundle_of, self.bundles);
        for _ in 0..ROUNDS_MAX {
            let pivots = self.simplex.pivots;
            let (mut done, open) = leximin(face.clone(), &levels, stop)?;
            for (column, liked) in self.column.iter().zip(&liked) {
                if let Some(v) = column {
                    done.program.cost[*v] = *liked;
                }
            }
            done.maximise(stop)?;
            self.simplex = done;
            self.simplex.pivots += pivots;
            // Rows that were slack at the first optimum may be violated at this one.
            let known = self.pairs.len();
            if !self.add_violated() {
                return Ok(open <= PROVEN_LEVEL);
            }
            for r in known..self.pairs.len() {
                let (l, b) = self.pairs[r];
                self.write_pair(&mut face.program, l, b);
            }
        }
        Err(LpError::NotConverged)
    }

    /// The bundles of the rows, row after row.
    pub fn bundles(&self) -> Vec<f64> {
        let k = self.rows.k;
        let held = self.held();
        self.bundle_of.iter().flat_map(|&b| held[b * k..][..k].iter().copied()).collect()
    }

    /// The distinct bundles, one after another.
    pub fn held(&self) -> Vec<f64> {
        self.column.iter().map(|c| c.map_or(0.0, |v| self.simplex.value(v).max(0.0))).collect()
    }

    /// The price of each type's whole capacity, in units of the scaled total.
    pub fn prices(&mut self) -> Vec<f64> {
        let duals = self.simplex.duals();
        duals[..self.rows.k].iter().map(|d| d.max(0.0)).collect()
    }

    pub fn pivots(&self) -> usize {
        self.simplex.pivots
    }

    fn level(&self, l: usize) -> Level {
        let k = self.rows.k;
        let entries = self.column[self.bundle_of[l] * k..][..k].iter().zip(self.rows.value(l));
        Level {
            terms: entries.filter_map(|(v, value)| Some(((*v)?, *value))).collect(),
            target: 1.0,
            most: f64::INFINITY,
        }
    }

    /// Whether row `l` must be compared with bundle `b`: not with one that is its own alone, and not with its own at all
    /// where that is the same on both sides.
    fn counts(&self, l: usize, b: usize) -> bool {
        self.bundle_of[l] != b || (self.shared[b] && self.rows.compares_with_itself(l))
    }

    fn add(&mut self, l: usize, b: usize) {
        if !self.counts(l, b) || std::mem::replace(&mut self.present[l * self.bundles + b], true) {
            return;
        }
        self.pairs.push((l, b));
        let mut program = std::mem::take(&mut self.simplex.program);
        self.write_pair(&mut program, l, b);
        self.simplex.program = program;
    }

    /// `v_l.y_l - c_l.y_b >= base_l`.
    fn write_pair(&self, program: &mut Program, l: usize, b: usize) {
        let row = program.row(self.rows.base[l], f64::INFINITY);
        let own = self.bundle_of[l];
        if own == b {
            let both = self.rows.value(l).iter().zip(self.rows.compare(l));
            let rest: Vec<f64> = both.map(|(v, c)| v - c).collect();
            self.write(program, row, b, &rest, 1.0);
        } else {
            self.write(program, row, own, self.rows.value(l), 1.0);
            self.write(program, row, b, self.rows.compare(l), -1.0);
        }
    }

    /// Writes `factor * values . y_b` into a row.
    fn write(&self, program: &mut Program, row: usize, b: usize, values: &[f64], factor: f64) {
        let columns = &self.column[b * self.rows.k..][..self.rows.k];
        for (column, value) in columns.iter().zip(values) {
            if let Some(v) = column
                && *value != 0.0
            {
                program.columns[*v].push((row, factor * value));
            }
        }
    }

    /// Adds the worst violated pairs of every row; returns whether there were any.
    fn add_violated(&mut self) -> bool {
        let held = self.held();
        let k = self.rows.k;
        // What all bundles are worth to a row is found type by type, which is fastest.
        let by_type: Vec<f64> =
            (0..held.len()).map(|e| held[e % self.bundles * k + e / self.bundles]).collect();
        let mut worth = vec![0.0; self.bundles];
        let mut violated = Vec::new();
        for l in 0..self.rows.n {
            let own = dot(self.rows.value(l), &held[self.bundle_of[l] * k..][..k]);
            worth.fill(self.rows.base[l]);
            for (value, held) in self.rows.compare(l).iter().zip(by_type.chunks(self.bundles)) {
                worth.iter_mut().zip(held).for_each(|(worth, held)| *worth += value * held);
            }
            let mut worst: Vec<(f64, usize)> = (worth.iter().enumerate())
                .map(|(b, worth)| (worth - own, b))
                .filter(|&(envy, _)| envy > ENVY * own.max(1.0))
                .filter(|&(_, b)| !self.present[l * self.bundles + b] && self.counts(l, b))
                .collect();
            worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            violated.extend(worst.into_iter().take(ADDED_PER_ROW).map(|(_, b)| (l, b)));
        }
        violated.iter().for_each(|&(l, b)| self.add(l, b));
        !violated.is_empty()
    }
}

/// The capacity rows and the columns of the bundles.
fn columns(rows: &Rows, bundle_of: &[usize], bundles: usize) -> (Program, Vec<Option<usize>>) {
    let (n, k) = (rows.n, rows.k);
    let size = n as f64;
    let mut program = Program::default();
    for used_up in &rows.used_up {
        program.row(if *used_up { size } else { f64::NEG_INFINITY }, size);
    }
    let (mut weight, mut usable) = (vec![0.0; bundles], vec![true; bundles * k]);
    let mut gain = vec![0.0; bundles * k];
    for (l, &b) in bundle_of.iter().enumerate() {
        weight[b] += rows.weight[l] * size;
        for j in 0..k {
            let value = rows.value[l * k + j];
            gain[b * k + j] += rows.worth[l] * value * size;
            usable[b * k + j] &= value > 0.0;
        }
    }
    let mut column = |e: usize| {
        let entries = vec![(e % k, weight[e / k])];
        usable[e].then(|| program.var(gain[e], 0.0, f64::INFINITY, entries))
    };
    let column = (0..bundles * k).map(&mut column).collect();
    (program, column)
}

/// How much the entries of every bundle are liked where nothing else tells between two answers.
pub(super) fn preferences(k: usize, bundle_of: &[usize], bundles: usize) -> Vec<f64> {
    let mut liked = vec![0.0; bundles * k];
    for (l, &b) in bundle_of.iter().enumerate() {
        for (j, liked) in liked[b * k..][..k].iter_mut().enumerate() {
            *liked += preference(l, j);
        }
    }
    liked
}

/// A number between 0 and 1 without any pattern, always the same one for a row and a type.
fn preference(l: usize, j: usize) -> f64 {
    let mut bits = (l as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (j as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 29)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Numbers for the distinct bundles: rows whose bundles agree within `same` get the same number; with
/// `same = 0` every row gets its own, also of two that are equal.
pub(super) fn clusters(rows: &Rows, y: &[f64], same: f64) -> Vec<usize> {
    let k = rows.k;
    let bundle = |l: usize| &y[l * k..][..k];
    let mut leaders: Vec<usize> = Vec::new();
    (0..rows.n)
        .map(|l| {
            let alike = |&lead: &usize| {
                let unit = rows.cap[l].min(rows.cap[lead]).min(1.0);
                let mut both = bundle(l).iter().zip(bundle(lead));
                both.all(|(a, b)| (a - b).abs() < same * (unit + a.max(*b)))
            };
            leaders.iter().position(alike).unwrap_or_else(|| {
                leaders.push(l);
                leaders.len() - 1
            })
        })
        .collect()
}
