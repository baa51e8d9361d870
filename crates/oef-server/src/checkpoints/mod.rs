//! What the operator says about checkpoints. Where they are and how they are moved is the executor's.

mod bandwidth;
mod settings;

pub use bandwidth::Bandwidth;
pub use oef_executor::checkpoints::Keeping;
pub use settings::CheckpointSettings;
