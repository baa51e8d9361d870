//! What the engine shares with those who ask.

use super::health::Health;
use super::readings::Latest;
use crate::world::World;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;

/// The world and what is known about it. A thread that panicked while it held a lock has left a whole
/// value behind: nothing here is changed in steps that would show.
pub(crate) struct Shared {
    world: RwLock<World>,
    /// The number of the newest event that everybody may see: those who wait for events wake up once for all of a batch.
    pub newest_event: watch::Sender<u64>,
    /// Whether commands are taken.
    pub ready: AtomicBool,
    /// The number of the last journalled record.
    pub seq: AtomicU64,
    /// Whether everything goes on.
    pub health: Health,
    /// What the last certificate measured.
    last_certificate: Mutex<LastCertificate>,
    /// What the GPUs do.
    latest: Mutex<Latest>,
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
            newest_event: watch::Sender::new(world.next_event - 1),
            world: RwLock::new(world),
            ready: AtomicBool::new(false),
            seq: AtomicU64::new(seq),
            health: Health::default(),
            last_certificate: Mutex::default(),
            latest: Mutex::default(),
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

    /// What the GPUs do, to look at for a moment.
    pub fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_latest(&self, latest: Latest) {
        *self.latest() = latest;
    }

    pub fn last_certificate(&self) -> LastCertificate {
        *self.last_certificate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_last_certificate(&self, measured: LastCertificate) {
        *self.last_certificate.lock().unwrap_or_else(PoisonError::into_inner) = measured;
    }
}
