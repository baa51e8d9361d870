//! A linear program in the form that the simplex method works on.

use std::ops::Deref;

/// A structural variable of a [`Program`], by position.
pub(crate) type VarId = usize;
/// A row of a [`Program`], by position.
pub(crate) type RowId = usize;

/// Entries that a column keeps in place.
const FEW: usize = 3;

/// The entries of a column. There are thousands of columns with a few, which need no memory of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    count: usize,
    few: [(RowId, f64); FEW],
    /// All of them, where there are more.
    many: Vec<(RowId, f64)>,
}

impl Column {
    pub fn push(&mut self, entry: (RowId, f64)) {
        if let Some(next) = self.few.get_mut(self.count) {
            *next = entry;
        } else {
            if self.count == FEW {
                self.many.clear();
                self.many.extend(self.few);
            }
            self.many.push(entry);
        }
        self.count += 1;
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }
}

impl Deref for Column {
    type Target = [(RowId, f64)];

    fn deref(&self) -> &Self::Target {
        self.few.get(..self.count).unwrap_or(&self.many)
    }
}

impl<'a> IntoIterator for &'a Column {
    type Item = &'a (RowId, f64);
    type IntoIter = std::slice::Iter<'a, (RowId, f64)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Extend<(RowId, f64)> for Column {
    fn extend<I: IntoIterator<Item = (RowId, f64)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

impl FromIterator<(RowId, f64)> for Column {
    fn from_iter<I: IntoIterator<Item = (RowId, f64)>>(entries: I) -> Self {
        let mut column = Column::default();
        column.extend(entries);
        column
    }
}

/// Maximise `cost . x` subject to `row_lower <= A x <= row_upper`, `lower <= x <= upper`.
///
/// Columns are sparse. Infinite bounds are allowed; a row with equal bounds is an equation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub cost: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub columns: Vec<Column>,
    pub row_lower: Vec<f64>,
    pub row_upper: Vec<f64>,
}

impl Program {
    /// Adds a row without entries.
    pub fn row(&mut self, lower: f64, upper: f64) -> RowId {
        self.row_lower.push(lower);
        self.row_upper.push(upper);
        self.row_lower.len() - 1
    }

    /// Adds a variable with its column.
    pub fn var(
        &mut self,
        cost: f64,
        lower: f64,
        upper: f64,
        column: impl IntoIterator<Item = (RowId, f64)>,
    ) -> VarId {
        self.cost.push(cost);
        self.lower.push(lower);
        self.upper.push(upper);
        self.columns.push(column.into_iter().collect());
        self.cost.len() - 1
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_lower.len()
    }

    /// Number of structural variables.
    pub fn vars(&self) -> usize {
        self.cost.len()
    }

    /// The bounds of a variable, structural or (behind those) the activity of a row.
    #[inline]
    pub fn bounds(&self, v: usize) -> (f64, f64) {
        match v.checked_sub(self.vars()) {
            None => (self.lower[v], self.upper[v]),
            Some(row) => (self.row_lower[row], self.row_upper[row]),
        }
    }

    /// Sets the bounds of a variable or a row.
    pub fn set_bounds(&mut self, v: usize, lower: f64, upper: f64) {
        match v.checked_sub(self.vars()) {
            None => (self.lower[v], self.upper[v]) = (lower, upper),
            Some(row) => (self.row_lower[row], self.row_upper[row]) = (lower, upper),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_its_entries_wherever_they_are() {
        let entries = |count: usize| (0..count).map(|row| (row, 0.5 + row as f64));
        let mut column = Column::default();
        for count in [0, 5, 2, FEW, FEW + 1, 9] {
            column.clear();
            column.extend(entries(count));
            assert!(column.iter().copied().eq(entries(count)), "{count}: {column:?}");
        }
    }
}
