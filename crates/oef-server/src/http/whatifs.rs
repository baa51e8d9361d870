//! What-if questions that are computed: few at once, one of each caller, and none for somebody who has gone.

use super::App;
use super::failure::{Failure, panicked};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::problem::{Kind, More};
use oef_api::types::ApiError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What-if questions that are computed at once: each keeps a core busy, and the daemon needs one itself.
const AT_ONCE: usize = 2;
/// Questions of one caller, with those that wait for their turn.
const OF_ONE_CALLER: usize = 8;

/// Who computes, and who waits for that.
pub(super) struct WhatIfs {
    all: Arc<Semaphore>,
    callers: Mutex<BTreeMap<u64, Arc<Queue>>>,
}

/// The questions of one caller.
struct Queue {
    places: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// The right to compute. It belongs to the computation: who hangs up does not make room for another one.
struct Turn {
    _place: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// Says that the caller is gone when it is dropped.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl WhatIfs {
    pub fn new() -> WhatIfs {
        WhatIfs { all: Arc::new(Semaphore::new(AT_ONCE)), callers: Mutex::default() }
    }

    /// Waits for a turn; none: as many questions of this caller are waiting as may.
    async fn turn(&self, caller: u64) -> Result<Turn, Failure> {
        let queue = self.queue(caller);
        let place = Arc::clone(&queue.places).try_acquire_owned().map_err(|_| too_many())?;
        let own = Arc::clone(&queue.turn).acquire_owned().await.map_err(|_| panicked())?;
        let all = Arc::clone(&self.all).acquire_owned().await.map_err(|_| panicked())?;
        Ok(Turn { _place: place, _own: own, _all: all })
    }

    /// Computes something when it is its turn. The argument of `ask` says whether nobody waits any more.
    async fn compute<T, F>(&self, caller: u64, ask: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    {
        let turn = self.turn(caller).await?;
        let is_gone = Arc::new(AtomicBool::new(false));
        let _gone = Gone(Arc::clone(&is_gone));
        let work = move || {
            let _until_the_end = turn;
            ask(&|| is_gone.load(Ordering::Relaxed))
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| panicked())
    }

    fn queue(&self, caller: u64) -> Arc<Queue> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.retain(|_, queue| {
            Arc::strong_count(queue) > 1 || queue.places.available_permits() < OF_ONE_CALLER
        });
        let new = || {
            let places = Arc::new(Semaphore::new(OF_ONE_CALLER));
            Arc::new(Queue { places, turn: Arc::new(Semaphore::new(1)) })
        };
        Arc::clone(callers.entry(caller).or_insert_with(new))
    }
}

fn too_many() -> Failure {
    let why = format!("{OF_ONE_CALLER} what-if questions of this caller are being answered");
    Failure(Kind::TooManyRequests.problem(why).hint("wait for their answers"))
}

impl App {
    /// Has a question computed when it is its turn. The last argument of `ask` says whether nobody waits any more.
    pub(super) async fn think<T, F>(&self, caller: &Caller, ask: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Daemon, &dyn Fn() -> bool) -> Result<T, ApiError> + Send + 'static,
    {
        let daemon = self.daemon().clone();
        let answer = self.inner.whatifs.compute(caller.token, move |gone| ask(&daemon, gone));
        answer.await?.map_err(Failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn few_at_once_and_one_of_each_caller() {
        let whatifs = WhatIfs::new();
        let turn = |caller| timeout(SOON, whatifs.turn(caller));
        let first = turn(1).await.expect("at once").unwrap_or_else(|_| panic!("a turn"));
        assert!(turn(1).await.is_err(), "the second of the same caller waits");
        let second = turn(2).await.expect("at once").unwrap_or_else(|_| panic!("a turn"));
        assert!(turn(3).await.is_err(), "two at once");
        drop(first);
        let third = turn(3).await.expect("there is room").unwrap_or_else(|_| panic!("a turn"));
        drop((second, third));
        assert!(turn(1).await.is_ok_and(|turn| turn.is_ok()), "who gave up holds nothing");
        assert_eq!(
            whatifs.callers.lock().expect("not poisoned").len(),
            1,
            "the others are forgotten"
        );
    }

    #[tokio::test]
    async fn who_hangs_up_ends_the_computation_and_makes_no_room_before_that() {
        let whatifs = Arc::new(WhatIfs::new());
        let (tell, mut told) = unbounded_channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ask = move |is_gone: &dyn Fn() -> bool| {
            let _ = tell.send("begins");
            while !is_gone() {
                std::thread::yield_now();
            }
            let _ = tell.send("is stopped");
            let _ = ended.recv();
        };
        let mut first = Box::pin(whatifs.compute(1, ask));
        tokio::select! {
            _ = &mut first => panic!("it waits for its caller to go"),
            said = told.recv() => assert_eq!(said, Some("begins")),
        }
        drop(first);
        assert_eq!(told.recv().await, Some("is stopped"));
        assert!(timeout(SOON, whatifs.turn(1)).await.is_err(), "it still computes");
        drop(end);
        assert!(whatifs.turn(1).await.is_ok());
    }

    #[tokio::test]
    async fn a_caller_waits_with_so_many_and_no_more() {
        let whatifs = Arc::new(WhatIfs::new());
        let _first = whatifs.turn(1).await.unwrap_or_else(|_| panic!("a turn"));
        let mut waiting: Vec<_> = (1..OF_ONE_CALLER).map(|_| Box::pin(whatifs.turn(1))).collect();
        for one in &mut waiting {
            assert!(timeout(Duration::from_millis(1), one.as_mut()).await.is_err(), "it waits");
        }
        assert!(timeout(SOON, whatifs.turn(1)).await.is_ok_and(|turn| turn.is_err()));
        drop(waiting);
        assert!(timeout(SOON, whatifs.turn(1)).await.is_err(), "there is room to wait again");
    }
}
