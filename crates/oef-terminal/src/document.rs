//! What all results for machines have in common. Fields are added freely, never renamed.

use oef_core::Status;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// The version of every document.
pub const VERSION: u32 = 1;

/// A JSON object whose keys keep their order.
#[derive(Clone, Debug)]
pub struct Object<'a, T>(pub Vec<(&'a str, T)>);

impl<T: Serialize> Serialize for Object<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// JSON has no infinities; nothing should be one, and if it were a reader must still get a number.
pub fn finite(x: f64) -> f64 {
    // Adding 0 turns -0 into 0.
    if x.is_nan() { 0.0 } else { x.clamp(f64::MIN, f64::MAX) + 0.0 }
}

/// A gap that could not be computed is not a small one.
pub fn gap(x: f64) -> f64 {
    if x.is_nan() { f64::MAX } else { finite(x) }
}

/// A status in one word.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Feasible => "feasible",
    }
}
