//! A job that trains nothing: for demonstrations and for tests of everything around jobs. It does all
//! that a good job does: it tells its progress, saves its work, stops when it is told to and goes on from
//! where it was.

mod args;
mod checkpoint;
mod speeds;
mod train;

pub use speeds::speed;
pub use train::run;
