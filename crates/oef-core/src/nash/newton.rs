//! The Newton system of [`super::point`], eliminated row by row and group by group down to the prices.
//!
//! For a row write `D = diag(y / s)`, `q = v.Dv`, `omega = 1 / (u + eta q)`, `h = v.D load`, and `a`, `b`
//! for what its products lack: `a = (mu - y s - dy ds) / s`, `b = 1 - eta u - deta du`. The equations
//! `s dy + y ds = s a`, `ds = dp + load dcap - v (deta + lift dfloor)`, `eta du + u deta = b` give
//!
//! ```text
//! P  = D - omega eta D v v' D                         (Sherman and Morrison)
//! dy = a - omega eta D v (v.a) + omega b D v - P dp - P load dcap + omega u lift D v dfloor
//! du = omega u (v.a - v.D dp - h dcap + q lift dfloor) + omega q b
//! ```
//!
//! and the cap and the floor of a group two equations in `dcap` and `dfloor`, `M d = c - B' dp`, with
//!
//! ```text
//! M = [ sum weight load.P load + t / cap     -sum weight omega u lift h          ]
//!     [ -sum weight omega u lift h           sum weight omega u q lift^2 + r / floor ]
//! B = [ sum weight P load,  -sum weight omega u lift D v ]
//! ```
//!
//! What is sold of each type then is one system for the prices,
//! `(sum weight P + diag(z / p) - sum_g B M^-1 B') dp = ...`, symmetric and positive definite.

use super::point::Point;
use super::terms::Terms;
use crate::linalg::{factor_spd, solve_factored};

/// The direction towards complementarity `mu`, with a part of the second-order terms of `affine`; none if the
/// arithmetic breaks down.
pub(super) fn direction(
    terms: &Terms<'_>,
    point: &Point,
    mu: f64,
    affine: Option<(&Point, f64)>,
) -> Option<Point> {
    let k = terms.scaled.k;
    let lacks = Lacks::new(terms, point, mu, affine);
    let mut matrix = vec![0.0; k * k];
    let mut rhs = vec![0.0; k];
    let mut row = Row::new(k);
    let mut groups: Vec<GroupSystem> =
        (0..terms.groups.len()).map(|g| GroupSystem::new(terms, point, &lacks, g)).collect();
    for l in 0..terms.scaled.n {
        row.load(terms, point, &lacks, l);
        row.add_to_prices(terms.scaled.weight[l], &mut matrix, &mut rhs);
        if let Some(g) = terms.group_of[l] {
            groups[g].add(terms, point, &row, l);
        }
    }
    for j in 0..k {
        rhs[j] -= lacks.sold[j];
        if terms.able[j] == 0.0 {
            // Nobody takes it: its price stays at nothing.
            (matrix[j * k + j], rhs[j]) = (1.0, 0.0);
        } else if let Some(z) = point.z.get(j) {
            matrix[j * k + j] += z / point.p[j];
            rhs[j] += lacks.price[j] / point.p[j];
        }
    }
    for group in &mut groups {
        group.close();
        group.add_to_prices(&mut matrix, &mut rhs);
    }
    let dp = solve_scaled(&mut matrix, rhs);
    let step = back_substitute(terms, point, &lacks, &groups, dp, &mut row);
    let lists = [&step.y, &step.s, &step.eta, &step.p, &step.cap, &step.floor];
    let finite = lists.iter().all(|list| list.iter().all(|x| x.is_finite()));
    finite.then_some(step)
}

fn back_substitute(
    terms: &Terms<'_>,
    point: &Point,
    lacks: &Lacks<'_>,
    groups: &[GroupSystem],
    dp: Vec<f64>,
    row: &mut Row,
) -> Point {
    let (n, k) = (terms.scaled.n, terms.scaled.k);
    let local: Vec<(f64, f64)> = groups.iter().map(|g| g.solve(&dp)).collect();
    let mut step = Point {
        y: vec![0.0; n * k],
        s: vec![0.0; n * k],
        u: vec![0.0; n],
        eta: vec![0.0; n],
        ..Point::default()
    };
    for l in 0..n {
        row.load(terms, point, lacks, l);
        let (dcap, dfloor) = terms.group_of[l].map_or((0.0, 0.0), |g| local[g]);
        let lift = terms.lift[l] * dfloor;
        for j in 0..k {
            row.cost[j] = dp[j] + dcap * terms.load(l, j);
        }
        let change = row.va - dot(&row.dv, &row.cost) + row.q * lift;
        let deta = row.omega * (row.b - row.eta * change);
        step.eta[l] = deta;
        step.u[l] = row.omega * (row.u * change + row.q * row.b);
        for j in 0..k {
            let e = l * k + j;
            if terms.usable(e) {
                step.s[e] = row.cost[j] - (deta + lift) * terms.scaled.value[e];
                step.y[e] = row.a[j] - row.d[j] * step.s[e];
            }
        }
    }
    for (g, &(dcap, dfloor)) in local.iter().enumerate() {
        let slack = |dual: f64, slack: f64, change: f64, lack: f64| {
            if slack > 0.0 { (lack - slack * change) / dual } else { 0.0 }
        };
        step.t.push(slack(point.cap[g], point.t[g], dcap, lacks.cap[g]));
        step.r.push(slack(point.floor[g], point.r[g], dfloor, lacks.floor[g]));
        step.cap.push(dcap);
        step.floor.push(dfloor);
    }
    let rest = |j: usize| (lacks.price[j] - point.z[j] * dp[j]) / point.p[j];
    let rest = |j: usize| if terms.able[j] > 0.0 { rest(j) } else { 0.0 };
    step.z = (0..point.z.len()).map(rest).collect();
    step.p = dp;
    step
}

/// Solves the price system with its diagonal scaled to one: prices differ by orders of magnitude.
fn solve_scaled(matrix: &mut [f64], mut rhs: Vec<f64>) -> Vec<f64> {
    let k = rhs.len();
    let scale: Vec<f64> = (0..k).map(|j| 1.0 / matrix[j * k + j].max(1e-300).sqrt()).collect();
    for a in 0..k {
        rhs[a] *= scale[a];
        for b in 0..=a {
            matrix[a * k + b] *= scale[a] * scale[b];
        }
    }
    factor_spd(matrix, k);
    solve_factored(matrix, &mut rhs);
    rhs.iter_mut().zip(&scale).for_each(|(x, s)| *x *= s);
    rhs
}

/// What the products and the equations lack.
struct Lacks<'a> {
    mu: f64,
    affine: Option<(&'a Point, f64)>,
    price: Vec<f64>,
    cap: Vec<f64>,
    floor: Vec<f64>,
    sold: Vec<f64>,
    load: Vec<f64>,
    lifted: Vec<f64>,
}

impl<'a> Lacks<'a> {
    fn new(terms: &Terms<'_>, point: &Point, mu: f64, affine: Option<(&'a Point, f64)>) -> Self {
        let lack = |x: f64, y: f64, weight: f64, second: Option<(f64, f64)>| {
            mu * weight - x * y - second.map_or(0.0, |(a, b)| a * b)
        };
        let groups = 0..terms.groups.len();
        let (sold, load, lifted) = point.residuals(terms);
        Lacks {
            mu,
            affine,
            price: (0..point.z.len())
                .map(|j| {
                    lack(
                        point.p[j],
                        point.z[j],
                        terms.able[j],
                        affine.map(|(a, part)| (a.p[j], part * a.z[j])),
                    )
                })
                .collect(),
            cap: groups
                .clone()
                .map(|g| {
                    let second = affine.map(|(a, part)| (a.cap[g], part * a.t[g]));
                    lack(point.cap[g], point.t[g], terms.groups[g].weight, second)
                })
                .collect(),
            floor: groups
                .map(|g| {
                    let second = affine.map(|(a, part)| (a.floor[g], part * a.r[g]));
                    lack(point.floor[g], point.r[g], terms.groups[g].weight, second)
                })
                .collect(),
            sold,
            load,
            lifted,
        }
    }
}

/// One row's part of the system.
struct Row {
    d: Vec<f64>,
    a: Vec<f64>,
    /// `D v`.
    dv: Vec<f64>,
    /// `1 - omega eta D_j v_j^2`: how much of its diagonal a type keeps in `P`, without cancellation.
    keep: Vec<f64>,
    /// `dy` for unchanged prices.
    still: Vec<f64>,
    cost: Vec<f64>,
    va: f64,
    q: f64,
    omega: f64,
    eta: f64,
    u: f64,
    b: f64,
}

impl Row {
    fn new(k: usize) -> Self {
        let zero = || vec![0.0; k];
        Row {
            d: zero(),
            a: zero(),
            dv: zero(),
            keep: zero(),
            still: zero(),
            cost: zero(),
            va: 0.0,
            q: 0.0,
            omega: 0.0,
            eta: 0.0,
            u: 0.0,
            b: 0.0,
        }
    }

    fn load(&mut self, terms: &Terms<'_>, point: &Point, lacks: &Lacks<'_>, l: usize) {
        let k = self.d.len();
        let value = terms.scaled.value(l);
        (self.q, self.va) = (0.0, 0.0);
        for j in 0..k {
            let e = l * k + j;
            if !terms.usable(e) {
                (self.d[j], self.a[j], self.dv[j]) = (0.0, 0.0, 0.0);
                continue;
            }
            let second = lacks.affine.map_or(0.0, |(a, part)| part * a.y[e] * a.s[e]);
            self.d[j] = point.y[e] / point.s[e];
            self.a[j] = (lacks.mu - second) / point.s[e] - point.y[e];
            self.dv[j] = self.d[j] * value[j];
            self.q += self.dv[j] * value[j];
            self.va += self.a[j] * value[j];
        }
        (self.eta, self.u) = (point.eta[l], point.u[l]);
        if self.u == 0.0 {
            (self.omega, self.b) = (0.0, 0.0);
            self.keep.fill(0.0);
            self.still.fill(0.0);
            return;
        }
        self.omega = 1.0 / (self.u + self.eta * self.q);
        self.b = 1.0
            - self.eta * self.u
            - lacks.affine.map_or(0.0, |(a, part)| part * a.eta[l] * a.u[l]);
        for j in 0..k {
            let others = without(value, &self.dv, self.q, j);
            self.keep[j] = (self.u + self.eta * others) * self.omega;
            let others = without(value, &self.a, self.va, j);
            self.still[j] =
                self.a[j] * self.keep[j] + self.omega * self.dv[j] * (self.b - self.eta * others);
        }
    }

    fn add_to_prices(&self, weight: f64, matrix: &mut [f64], rhs: &mut [f64]) {
        let k = self.d.len();
        let couple = weight * self.omega * self.eta;
        for a in 0..k {
            rhs[a] += weight * self.still[a];
            matrix[a * k + a] += weight * self.d[a] * self.keep[a];
            let dv = couple * self.dv[a];
            for b in 0..a {
                matrix[a * k + b] -= dv * self.dv[b];
            }
        }
    }

    /// `P x`, into `out`.
    fn apply(&self, x: &[f64], out: &mut [f64]) {
        let along = dot(&self.dv, x);
        for j in 0..x.len() {
            let others = along - self.dv[j] * x[j];
            out[j] = self.d[j] * self.keep[j] * x[j] - self.omega * self.eta * self.dv[j] * others;
        }
    }
}

/// The two equations of a group, `M d = c - B' dp`.
struct GroupSystem {
    m: [f64; 3],
    c: [f64; 2],
    b: [Vec<f64>; 2],
    image: Vec<f64>,
}

impl GroupSystem {
    fn new(terms: &Terms<'_>, point: &Point, lacks: &Lacks<'_>, g: usize) -> Self {
        let k = terms.scaled.k;
        let mut system = GroupSystem {
            m: [0.0; 3],
            c: [0.0; 2],
            b: [vec![0.0; k], vec![0.0; k]],
            image: vec![0.0; k],
        };
        if terms.groups[g].filled {
            system.c[0] = -lacks.load[g];
        } else if !terms.groups[g].load.is_empty() {
            system.m[0] = point.t[g] / point.cap[g];
            system.c[0] = lacks.cap[g] / point.cap[g] - lacks.load[g];
        }
        if terms.groups[g].floor {
            system.m[2] = point.r[g] / point.floor[g];
            system.c[1] = lacks.floor[g] / point.floor[g] + lacks.lifted[g];
        }
        system
    }

    fn add(&mut self, terms: &Terms<'_>, point: &Point, row: &Row, l: usize) {
        let Some(g) = terms.group_of[l] else { return };
        let group = &terms.groups[g];
        let weight = terms.scaled.weight[l];
        if !group.load.is_empty() {
            row.apply(&group.load, &mut self.image);
            self.m[0] += weight * dot(&group.load, &self.image);
            self.c[0] += weight * dot(&group.load, &row.still);
            self.b[0].iter_mut().zip(&self.image).for_each(|(b, x)| *b += weight * x);
        }
        if group.floor {
            let part = weight * terms.lift[l] * row.omega;
            self.m[2] += part * point.u[l] * row.q * terms.lift[l];
            self.c[1] -= part * (point.u[l] * row.va + row.q * row.b);
            self.b[1].iter_mut().zip(&row.dv).for_each(|(b, dv)| *b -= part * point.u[l] * dv);
            if !group.load.is_empty() {
                self.m[1] -= part * point.u[l] * dot(&row.dv, &group.load);
            }
        }
    }

    /// Replaces `M` by its inverse; a limit that the group does not have stays at zero.
    fn close(&mut self) {
        let [m11, m12, m22] = self.m;
        self.m = match (m11 > 0.0, m22 > 0.0) {
            (true, true) => {
                let determinant = (m11 - m12 / m22 * m12).max(f64::EPSILON * m11);
                let first = 1.0 / determinant;
                let cross = -m12 / m22 * first;
                [first, cross, 1.0 / m22 - cross * m12 / m22]
            }
            (true, false) => [1.0 / m11, 0.0, 0.0],
            (false, true) => [0.0, 0.0, 1.0 / m22],
            (false, false) => [0.0; 3],
        };
    }

    fn add_to_prices(&self, matrix: &mut [f64], rhs: &mut [f64]) {
        let k = rhs.len();
        let [i11, i12, i22] = self.m;
        let local = [i11 * self.c[0] + i12 * self.c[1], i12 * self.c[0] + i22 * self.c[1]];
        for a in 0..k {
            let (x, y) = (self.b[0][a], self.b[1][a]);
            rhs[a] -= x * local[0] + y * local[1];
            for b in 0..=a {
                let (x2, y2) = (self.b[0][b], self.b[1][b]);
                matrix[a * k + b] -= i11 * x * x2 + i12 * (x * y2 + y * x2) + i22 * y * y2;
            }
        }
    }

    /// The changes of the prices of cap and floor.
    fn solve(&self, dp: &[f64]) -> (f64, f64) {
        let [i11, i12, i22] = self.m;
        let c = [self.c[0] - dot(&self.b[0], dp), self.c[1] - dot(&self.b[1], dp)];
        (i11 * c[0] + i12 * c[1], i12 * c[0] + i22 * c[1])
    }
}

/// `sum_(i != j) v_i x_i` from the whole sum, summed anew where `j` is most of it.
fn without(value: &[f64], x: &[f64], whole: f64, j: usize) -> f64 {
    let own = value[j] * x[j];
    if 4.0 * own.abs() <= 3.0 * whole.abs() {
        return whole - own;
    }
    (0..value.len()).filter(|&i| i != j).map(|i| value[i] * x[i]).sum()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
