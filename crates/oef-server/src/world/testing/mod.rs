//! Tests of the world: random lives, what must hold in each, and the journal of the first version.

mod changes;
mod check;
mod dice;
mod drains;
mod every_kind;
mod examples;
mod gangs;
mod guarding;
mod life;
mod meaning;
mod notifications;
mod probes;
mod random_lives;
mod versions;

pub(crate) use life::{empty, with_jobs};
