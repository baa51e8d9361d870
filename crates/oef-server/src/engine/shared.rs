//! What the engine shares with those who ask.

use super::health::Health;
use crate::world::World;
use oef_api::types::Event;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::broadcast;

/// Events that a slow reader may fall behind before it has to start again.
const EVENTS_AHEAD: usize = 4096;

/// The world and what is known about it. A thread that panicked while it held a lock has left a whole
/// value behind: nothing here is changed in steps that would show.
pub(crate) struct Shared {
    world: RwLock<World>,
    /// Every event as it happens.
    pub events: broadcast::Sender<Arc<Event>>,
    /// Whether commands are taken.
    pub ready: AtomicBool,
    /// The number of the last journalled record.
    pub seq: AtomicU64,
    /// Whether everything goes on.
    pub health: Health,
    /// What the last certificate measured.
    last_certificate: Mutex<LastCertificate>,
}

/// What the last certificate measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LastCertificate {
    /// The smallest throughput over that of an equal split.
    pub sharing_incentive: Option<f64>,
    /// The largest envy.
    pub worst_envy: Option<f64>,
}

impl Shared {
    pub fn new(world: World, seq: u64) -> Shared {
        Shared {
            world: RwLock::new(world),
            events: broadcast::Sender::new(EVENTS_AHEAD),
            ready: AtomicBool::new(false),
            seq: AtomicU64::new(seq),
            health: Health::default(),
            last_certificate: Mutex::default(),
        }
    }

    /// The world, to look at for a moment.
    pub fn world(&self) -> RwLockReadGuard<'_, World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world, for the engine alone.
    pub(super) fn world_mut(&self) -> RwLockWriteGuard<'_, World> {
        self.world.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn last_certificate(&self) -> LastCertificate {
        *self.last_certificate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_last_certificate(&self, measured: LastCertificate) {
        *self.last_certificate.lock().unwrap_or_else(PoisonError::into_inner) = measured;
    }
}
