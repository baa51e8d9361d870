//! From any bundles of an equilibrium to sparse ones.
//!
//! A row that buys more types than its income and its demand determine can exchange some of them for others
//! at no loss. Each such exchange changes what is sold of the types by a vector of `k` numbers. Exchanges of
//! several rows whose vectors cancel are made as far as they go, until one purchase falls to nothing; what
//! remains is a vertex, with at most `k` exchanges open in all.

use super::finish::Equilibrium;

/// Prices nearer to each other than this, relative, are equal.
const SAME: f64 = 1e-9;
/// What is left of a vector when it depends on others.
const DEPENDS: f64 = 1e-9;

/// An exchange within a row: changes of up to three of its purchases.
struct Exchange {
    row: usize,
    changes: [(usize, f64); 3],
}

/// Makes the bundles a vertex of all those that have the same throughputs at the same prices.
pub(super) fn make_sparse(found: &mut Equilibrium<'_>) {
    let mut open: Vec<Exchange> = Vec::new();
    for l in 0..found.market.n {
        let mut waiting = exchanges(found, l);
        while let Some(exchange) = waiting.pop() {
            open.push(exchange);
            let Some(parts) = dependence(found, &open) else { continue };
            let emptied = walk(found, &open, &parts);
            for row in emptied {
                open.retain(|exchange| exchange.row != row);
                waiting.retain(|exchange| exchange.row != row);
                waiting.extend(exchanges(found, row));
            }
        }
    }
}

/// The exchanges that a row can make.
fn exchanges(found: &Equilibrium<'_>, l: usize) -> Vec<Exchange> {
    let k = found.market.k;
    let y = &found.y[l * k..][..k];
    let price = &found.price;
    let mut held: Vec<usize> = (0..k).filter(|&j| y[j] > 0.0).collect();
    if held.len() < 2 {
        return Vec::new();
    }
    held.sort_by(|&a, &b| y[b].total_cmp(&y[a]).then(a.cmp(&b)));
    let first = held.remove(0);
    let apart = |j: usize| (price[j] - price[first]).abs();
    let most = held.iter().copied().max_by(|&a, &b| apart(a).total_cmp(&apart(b)));
    let both = found.income_binds[l] && found.demand_binds[l];
    let second = most.filter(|&j| both && apart(j) > SAME * price[j].max(price[first]));
    held.retain(|j| Some(*j) != second);
    let exchange = |&j: &usize| {
        let (a, b) = match second {
            Some(b) => {
                let b = (price[j] - price[first]) / (price[b] - price[first]);
                (b - 1.0, -b)
            }
            None if found.demand_binds[l] => (-1.0, 0.0),
            None => (-price[j] / price[first], 0.0),
        };
        Exchange { row: l, changes: [(j, 1.0), (first, a), (second.unwrap_or(first), b)] }
    };
    held.iter().map(exchange).collect()
}

/// Multiples of the exchanges, not all nothing, that leave what is sold as it is.
fn dependence(found: &Equilibrium<'_>, open: &[Exchange]) -> Option<Vec<f64>> {
    let (market, k, m) = (found.market, found.market.k, open.len());
    // Columns are exchanges of length one; the last depends on the others, or none does.
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(m);
    let mut length = Vec::with_capacity(m);
    for exchange in open {
        let mut column = vec![0.0; k];
        for (j, change) in exchange.changes {
            column[j] += change / market.supply[j];
        }
        let size = column.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        column.iter_mut().for_each(|c| *c /= size);
        length.push(size * market.weight[exchange.row]);
        columns.push(column);
    }
    let mut used = vec![false; k];
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for c in 0..m {
        let free = (0..k).filter(|&j| !used[j]);
        let best = free.max_by(|&a, &b| columns[c][a].abs().total_cmp(&columns[c][b].abs()));
        let size = best.map_or(0.0, |j| columns[c][j].abs());
        let Some(row) = best.filter(|_| size > DEPENDS) else {
            // Column c is a combination of those before it.
            let mut parts = vec![0.0; m];
            parts[c] = 1.0;
            for &(column, row) in pivots.iter().rev() {
                let rest: f64 = (column + 1..=c).map(|i| columns[i][row] * parts[i]).sum();
                parts[column] = -rest / columns[column][row];
            }
            return Some(parts.iter().zip(&length).map(|(p, l)| p / l).collect());
        };
        used[row] = true;
        pivots.push((c, row));
        let factors: Vec<f64> =
            (0..k).map(|j| if used[j] { 0.0 } else { columns[c][j] / columns[c][row] }).collect();
        for column in &mut columns[c + 1..] {
            let at = column[row];
            for j in 0..k {
                column[j] -= factors[j] * at;
            }
        }
    }
    None
}

/// Makes the exchanges as far as they go in the direction in which that is nearer; the rows in which a
/// purchase fell to nothing.
fn walk(found: &mut Equilibrium<'_>, open: &[Exchange], parts: &[f64]) -> Vec<usize> {
    let k = found.market.k;
    let mut change = vec![0.0; open.len() * k];
    let mut rows: Vec<usize> = Vec::new();
    for (exchange, part) in open.iter().zip(parts) {
        let at = rows.iter().position(|r| *r == exchange.row).unwrap_or_else(|| {
            rows.push(exchange.row);
            rows.len() - 1
        });
        for (j, by) in exchange.changes {
            change[at * k + j] += by * part;
        }
    }
    let y = |at: usize, j: usize| found.y[rows[at] * k + j];
    let entries: Vec<(usize, usize)> =
        (0..rows.len()).flat_map(|at| (0..k).map(move |j| (at, j))).collect();
    let limit = |sign: f64| {
        let falling = entries.iter().filter(|&&(at, j)| sign * change[at * k + j] < 0.0);
        falling
            .map(|&(at, j)| (-y(at, j) / (sign * change[at * k + j]), at, j))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let up = limit(1.0);
    let down = limit(-1.0);
    let (length, at, j) = match (up, down) {
        (Some(u), Some(d)) if d.0 < u.0 => (-d.0, d.1, d.2),
        (Some(u), _) => u,
        (None, Some(d)) => (-d.0, d.1, d.2),
        (None, None) => return Vec::new(),
    };
    for (at, row) in rows.iter().enumerate() {
        for j in 0..k {
            let y = &mut found.y[row * k + j];
            *y = (*y + length * change[at * k + j]).max(0.0);
        }
    }
    found.y[rows[at] * k + j] = 0.0;
    rows.retain(|row| {
        open.iter()
            .any(|e| e.row == *row && e.changes.iter().any(|c| found.y[row * k + c.0] == 0.0))
    });
    rows
}
