//! The program of `nash` in scaled units, with what caps and floors add to it.

use crate::instance::Instance;
use crate::limited::usable_equal_split;
use crate::scaled::Scaled;

/// Room below a floor, relative: the interior-point method needs a little where floors leave none.
const ROOM: f64 = 1e-10;
/// A floor this near to what the cap allows at best leaves nothing but the fastest GPUs.
const PINNED: f64 = 1e-7;

/// Whether nobody may be below what it can use of its equal split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floors {
    /// Not asked for.
    None,
    /// With a little room below, for the interior path.
    WithRoom,
    /// As they are.
    Exact,
}

/// `max sum_l weight_l log u_l` with `u_l = v_l.y_l`, `sum_l weight_l y_l <= 1` and the groups' limits.
pub(super) struct Terms<'a> {
    pub scaled: &'a Scaled,
    /// Groups of rows with limits of their own; a row is in one at most.
    pub groups: Vec<Group>,
    /// The group of each row.
    pub group_of: Vec<Option<usize>>,
    /// Floors: what a unit of a row's utility per weight adds towards the floor of its group.
    pub lift: Vec<f64>,
    /// Which entries take part: a row that can use a type, unless its group's floor forbids it.
    pub usable: Vec<bool>,
    /// Weight of the rows that can use each type.
    pub able: Vec<f64>,
    /// What all products add up to where each is its weight: the unit of complementarity.
    pub measure: f64,
}

/// Rows that share a limit.
pub(super) struct Group {
    pub rows: Vec<usize>,
    /// Their weight together.
    pub weight: f64,
    /// With a cap: what a unit of each type per weight takes of it, `m_j / limit`. Else empty.
    pub load: Vec<f64>,
    /// Whether `sum_l weight_l lift_l u_l >= 1` is asked for.
    pub floor: bool,
    /// Whether the cap is to be used in full.
    pub filled: bool,
}

impl<'a> Terms<'a> {
    /// The program with its caps and, if asked for, floors: nobody below what it can use of its equal
    /// split.
    ///
    /// A cap within a tenant's part of its fastest type makes the floor as much as the cap allows at
    /// all: the tenant is *pinned*. It fills its cap with GPUs of that speed, whichever type they are,
    /// which takes the place of the floor; a workload of it that is slower everywhere gets nothing and
    /// takes no part in the sum.
    pub fn new(instance: &Instance, scaled: &'a Scaled, floors: Floors) -> Self {
        let (n, k) = (scaled.n, scaled.k);
        let room = if floors == Floors::WithRoom { ROOM } else { 0.0 };
        let floors = floors != Floors::None;
        let mut terms = Terms {
            scaled,
            groups: Vec::new(),
            group_of: vec![None; n],
            lift: vec![0.0; n],
            usable: scaled.value.iter().map(|&v| v > 0.0).collect(),
            able: vec![0.0; k],
            measure: 0.0,
        };
        for cap in &instance.caps {
            let load = instance.capacity.iter().map(|m| m / cap.limit).collect();
            let floor = if floors { usable_equal_split(instance, cap) } else { 0.0 };
            let speeds = cap.rows.iter().flat_map(|&l| instance.profile(l));
            let fastest = speeds.copied().fold(0.0, f64::max);
            let pinned = floor >= cap.limit * fastest * (1.0 - PINNED);
            if pinned {
                for e in cap.rows.iter().flat_map(|&l| l * k..(l + 1) * k) {
                    terms.usable[e] = instance.speedup[e] >= fastest * (1.0 - PINNED);
                }
            }
            let floor = if pinned { 0.0 } else { floor };
            terms.add(instance, cap.rows.clone(), load, floor * (1.0 - room), pinned);
        }
        for l in (0..n).filter(|_| floors) {
            if terms.group_of[l].is_none() {
                terms.add(
                    instance,
                    vec![l],
                    Vec::new(),
                    instance.equal_split(l) * (1.0 - room),
                    false,
                );
            }
        }
        for e in (0..n * k).filter(|&e| terms.usable[e]) {
            terms.able[e % k] += scaled.weight[e / k];
        }
        let able: f64 = terms.able.iter().sum();
        let limits = |g: &Group| {
            let capped = !g.load.is_empty() && !g.filled;
            g.weight * (f64::from(u8::from(capped)) + f64::from(u8::from(g.floor)))
        };
        terms.measure = if terms.sells_out() { able } else { 2.0 * able };
        terms.measure += terms.groups.iter().map(limits).sum::<f64>();
        terms
    }

    fn add(
        &mut self,
        instance: &Instance,
        rows: Vec<usize>,
        load: Vec<f64>,
        floor: f64,
        filled: bool,
    ) {
        let all: f64 = instance.weight.iter().sum();
        for &l in &rows {
            self.group_of[l] = Some(self.groups.len());
            if floor > 0.0 {
                // A row's utility 1 is the throughput of its weight's part of everything.
                let unit = instance.equal_split(l) * instance.total_weight / all;
                self.lift[l] = unit / self.scaled.weight[l] / floor;
            }
        }
        let weight = rows.iter().map(|&l| self.scaled.weight[l]).sum();
        self.groups.push(Group { rows, weight, load, floor: floor > 0.0, filled });
    }

    /// Without limits everything is sold; with them something may be left that nobody can use.
    pub fn sells_out(&self) -> bool {
        self.groups.is_empty()
    }

    pub fn usable(&self, e: usize) -> bool {
        self.usable[e]
    }

    /// Whether a row can have anything at all.
    pub fn takes_part(&self, l: usize) -> bool {
        self.usable[l * self.scaled.k..][..self.scaled.k].contains(&true)
    }

    /// What the group of row `l` adds to the price of a unit of type `j` per unit of its cap's price.
    pub fn load(&self, l: usize, j: usize) -> f64 {
        self.group_of[l].map_or(0.0, |g| self.groups[g].load.get(j).copied().unwrap_or(0.0))
    }

    /// The dual bound on `sum_l weight_l log u_l`. Row `l` pays at least
    /// `e_l = min_j (p_j + cap_g load_j) / v_lj - floor_g lift_l` for a unit of utility, hence
    /// `sum_l weight_l (-log e_l - 1) + sum_j p_j + sum_g (cap_g - floor_g)`.
    pub fn bound(&self, price: &[f64], cap: &[f64], floor: &[f64]) -> f64 {
        let scaled = self.scaled;
        let mut bound =
            price.iter().sum::<f64>() + cap.iter().sum::<f64>() - floor.iter().sum::<f64>();
        for l in (0..scaled.n).filter(|&l| self.takes_part(l)) {
            let (kappa, phi) = self.group_of[l].map_or((0.0, 0.0), |g| (cap[g], floor[g]));
            let mut least = f64::INFINITY;
            let usable = |j: usize| self.usable(l * scaled.k + j);
            for (j, &v) in scaled.value(l).iter().enumerate().filter(|&(j, _)| usable(j)) {
                least = least.min((price[j] + kappa * self.load(l, j)) / v);
            }
            let pays = least - phi * self.lift[l];
            // A row that would be paid for utility proves nothing.
            bound += scaled.weight[l] * if pays > 0.0 { -pays.ln() - 1.0 } else { f64::INFINITY };
        }
        bound
    }
}
