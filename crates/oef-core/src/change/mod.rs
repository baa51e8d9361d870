//! What-if: changes to a problem, and what they do to everybody.

mod edit;
#[cfg(test)]
mod tests;
mod whatif;

pub use edit::{Change, ChangeError, apply};
pub use whatif::{TenantDifference, TenantFigures, WhatIf, WhatIfError, whatif, whatif_with};
