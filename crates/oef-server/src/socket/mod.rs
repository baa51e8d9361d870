//! The local socket: people on this machine are known by who they are, and need no token.

mod listener;
mod people;
mod settings;

pub(crate) use listener::{Peer, SocketServing};
pub(crate) use people::People;
pub use settings::SocketSettings;
