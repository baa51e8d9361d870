//! `oef torture`: the real daemon core on a simulated disk, clock, network and cluster, from one seed, on one thread.
//!
//! A seed gives a *story*: what tenants and operators do, and what breaks. The *stage* plays it: the engine of the daemon
//! (`oef_server::core`) with a disk that fills and dies (`disk`), a clock that is set (`time`) and a cluster whose nodes go
//! and come, whose jobs hang and lie, and to which orders and events come late and in another order (`cluster`). After
//! each step independent code looks at the *invariants*. A story that breaks one is made shorter (`shrink`) and told.
//! *Plants* are mistakes that are built in on demand: a simulation that does not find them finds nothing.

mod args;
mod cluster;
mod dice;
mod disk;
mod invariants;
mod plants;
mod run;
mod shrink;
mod stage;
mod story;
mod time;

pub use args::TortureArgs;
pub(crate) use dice::Dice;
pub use plants::Plant;
pub use run::{BrokenSeed, run, try_seed};
pub(crate) use stage::take_wishes;
