//! A world to test the scheduler in, a checker that knows nothing of how it decides, and the properties.

mod aside;
mod balance;
pub(crate) mod dice;
mod fairness;
mod faults;
mod forecast;
mod groups;
mod holding;
mod hostile;
mod limits;
mod one_answer;
mod paper;
mod past;
mod placement;
mod probes;
mod promises;
mod regressions;
mod replay;
mod restarts;
mod room;
mod scenario;
mod serial;
mod turns;
mod urgent;
mod windows;
mod work;
mod world;
