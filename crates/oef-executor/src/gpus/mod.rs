//! Which GPUs there are: those of the machine, parts of them, or emulated ones.

mod discover;
mod mps_service;
mod name;
mod reading;
mod spec;

pub use discover::{discover, machine_name};
pub use mps_service::{MpsError, start_mps, stop_mps};
pub use name::type_name;
pub use reading::GpuReading;
pub(crate) use reading::begin as begin_reading;
pub use spec::{SpecError, emulated, mps};
