//! A typed, blocking client: one method per route.

mod access;
mod connection;
mod error;
mod events;
mod path;
mod routes;
mod terminal;
mod unix;

pub use access::{AccessError, file as access_file, named_file as named_access_file};
pub use connection::Client;
pub use error::{ClientError, Reach};
pub use events::{EventStream, Incoming};
pub use terminal::{
    Seat, TERMINAL_ALONE, TERMINAL_KEY, TERMINAL_OVER, TERMINAL_RUN, TerminalChunk,
};
pub use unix::SOCKET;
