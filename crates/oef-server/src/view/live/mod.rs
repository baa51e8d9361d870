//! What a live page asks again and again: quick to find, small to send, and only what is new.

mod envy;
mod overview;
mod scenario;
mod series;
mod timeline;

pub use envy::EnvyDraft;
pub use overview::{overview, promises};
pub use scenario::ScenarioDraft;
pub use series::series;
pub use timeline::timeline;

use super::visible;
use crate::caller::Caller;
use crate::world::World;
use oef_api::types::ApiError;

/// A tenant with jobs may be compared with by all; another only by those who may see it.
fn compared(world: &World, caller: &Caller, name: &str) -> Result<(), ApiError> {
    let found = world.tenants.get(name).filter(|entry| entry.live > 0 || caller.may_see(name));
    found.map(|_| ()).ok_or_else(|| visible::unknown_tenant(name))
}

/// Four digits are as much as anybody sees in a chart.
fn short(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - x.abs().log10().floor() as i32);
    (x * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!([short(0.0), short(f64::NAN), short(-1.23456)], [0.0, 0.0, -1.235]);
        assert_eq!([short(12345.6), short(0.000123456)], [12350.0, 0.0001235]);
    }
}
