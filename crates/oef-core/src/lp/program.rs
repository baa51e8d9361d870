//! A linear program in the form that the simplex method works on.

/// A structural variable of a [`Program`], by position.
pub(crate) type VarId = usize;
/// A row of a [`Program`], by position.
pub(crate) type RowId = usize;

/// Maximise `cost . x` subject to `row_lower <= A x <= row_upper`, `lower <= x <= upper`.
///
/// Columns are sparse. Infinite bounds are allowed; a row with equal bounds is an equation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub cost: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub columns: Vec<Vec<(RowId, f64)>>,
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
    pub fn var(&mut self, cost: f64, lower: f64, upper: f64, column: Vec<(RowId, f64)>) -> VarId {
        self.cost.push(cost);
        self.lower.push(lower);
        self.upper.push(upper);
        self.columns.push(column);
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
