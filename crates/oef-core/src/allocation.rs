//! What a solver answers: GPUs for the rows of an instance, and how far that is proven.

/// GPUs and prices for the rows of an instance.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    /// GPUs, row after row.
    pub x: Vec<f64>,
    /// Price per type, in units of total throughput per GPU; empty for a mechanism without prices.
    pub price: Vec<f64>,
    /// Relative distance between the objective and the bound that the prices prove.
    pub gap: f64,
    /// Iterations and simplex pivots.
    pub pivots: usize,
    /// What was done, in a few words.
    pub method: &'static str,
    /// Whether ties between optima were broken to the end, so that no other answer is as good.
    pub canonical: bool,
}

impl Allocation {
    /// What needs no program: exact by construction.
    pub fn closed_form(x: Vec<f64>, price: Vec<f64>, method: &'static str) -> Self {
        Allocation { x, price, gap: 0.0, pivots: 0, method, canonical: true }
    }
}
