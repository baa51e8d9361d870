//! What every command of OEF shares: files read, results and talk written, what goes wrong and the exit code that
//! it leads to. For the binary and for whatever adds commands to it.
#![forbid(unsafe_code)]

mod ascii;
pub mod bars;
pub mod document;
mod exit;
mod failure;
pub mod file;
pub mod mark;
pub mod names;
pub mod numbers;
mod printer;
pub mod progress;
mod source;
pub mod table;
pub mod times;
pub mod width;

pub use ascii::shown;
pub use exit::{EXIT_CODES_HELP, Exit};
pub use failure::{Complaint, Failure, exit_of};
pub use printer::Printer;
pub use source::{MAX_FILE_BYTES, Source};
