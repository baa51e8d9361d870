//! What this crate reads that others may have written, as functions of bytes: for those who try to break it.

use crate::event::Progress;
use crate::records::{RunSpec, Status, Wanted};
use crate::runner;

/// Whether these bytes are a `status.json`.
pub fn status(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Status>(bytes)
        .is_ok_and(|status| status.is_ended() || status.version > 0)
}

/// Whether they are an `order.json`.
pub fn order(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Wanted>(bytes).is_ok()
}

/// Whether they are a `launch.json`.
pub fn launch(bytes: &[u8]) -> bool {
    serde_json::from_slice::<RunSpec>(bytes).is_ok()
}

/// The last word of a progress file that comes in these pieces.
pub fn progress(pieces: &[&[u8]]) -> Option<Progress> {
    runner::last_word(pieces)
}
