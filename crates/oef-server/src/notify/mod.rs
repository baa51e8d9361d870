//! Telling people and programs what became of jobs: requests that are signed, and commands that the operator named.
//!
//! What is to be told is a part of the world (`world::notifications`), and so is what came of it. Here it is only sent:
//! by threads that hold no lock while they wait for somebody.

mod address;
mod deliver;
mod program;
mod settings;
mod sign;
mod webhook;

pub(crate) use deliver::Notifier;
pub use settings::NotifySettings;
pub(crate) use settings::{host_of, refused};
pub(crate) use sign::hmac;
