//! Seats for connections: so many and no more. When there are none left, strangers give way to those who come: the
//! oldest connection from the address that has the most. Whoever has shown a valid token stays.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A connection that is told to give way is gone after a moment; where nobody does, nobody waits for longer.
const WAY_WITHIN: Duration = Duration::from_secs(1);
/// One part in so many of the room: those who may wait at once until somebody has given way. They hold descriptors, too.
const WAITING_PART: usize = 4;
/// One part in so many of the room: the connections of one token that stay. Beyond, they give way like those of strangers,
/// so that no token keeps all others out.
const TOKEN_PART: usize = 8;

/// All seats.
pub(crate) struct Seats {
    room: Arc<Semaphore>,
    waiting: Semaphore,
    per_token: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// The number of the next connection.
    next: u64,
    /// Connections without a valid token, by where they come from and in the order in which they came.
    strangers: BTreeMap<u64, BTreeMap<u64, Arc<Notify>>>,
    /// Whose token each of the others showed.
    known: BTreeMap<u64, u64>,
    /// How many connections each token has.
    of_token: BTreeMap<u64, usize>,
}

impl Seats {
    pub fn new(room: usize) -> Arc<Seats> {
        let room = room.min(Semaphore::MAX_PERMITS);
        Arc::new(Seats {
            room: Arc::new(Semaphore::new(room)),
            waiting: Semaphore::new(room.div_ceil(WAITING_PART)),
            per_token: room.div_ceil(TOKEN_PART),
            table: Mutex::default(),
        })
    }

    /// A place for a connection from an address, if there is one or somebody gives way.
    pub async fn take(self: &Arc<Seats>, address: u64) -> Option<Seat> {
        let permit = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waiting = self.waiting.try_acquire().ok()?;
                if let Some(stranger) = self.table().next_to_leave() {
                    stranger.notify_one();
                }
                timeout(WAY_WITHIN, Arc::clone(&self.room).acquire_owned()).await.ok()?.ok()?
            }
        };
        let leave = Arc::new(Notify::new());
        let mut table = self.table();
        let number = table.next;
        table.next += 1;
        table.strangers.entry(address).or_default().insert(number, Arc::clone(&leave));
        let guest = Guest { seats: Arc::clone(self), address, number };
        Some(Seat { guest, leave, _permit: permit })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The oldest stranger from the address with the most of them; the oldest of all where several have as many.
    fn next_to_leave(&mut self) -> Option<Arc<Notify>> {
        let rank = |(_, of): &(&u64, &BTreeMap<u64, Arc<Notify>>)| {
            (of.len(), Reverse(of.keys().next().copied()))
        };
        let (&address, of) = self.strangers.iter().max_by_key(rank)?;
        let number = *of.keys().next()?;
        self.remove_stranger(address, number)
    }

    fn remove_stranger(&mut self, address: u64, number: u64) -> Option<Arc<Notify>> {
        let of = self.strangers.get_mut(&address)?;
        let found = of.remove(&number);
        if of.is_empty() {
            self.strangers.remove(&address);
        }
        found
    }

    fn remove(&mut self, address: u64, number: u64) {
        self.remove_stranger(address, number);
        if let Some(token) = self.known.remove(&number) {
            match self.of_token.get_mut(&token) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.of_token.remove(&token)),
            }
        }
    }
}

/// A place among the connections, until it is dropped.
pub(crate) struct Seat {
    guest: Guest,
    /// Notified when it has to give way.
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Seat {
    pub fn guest(&self) -> Guest {
        self.guest.clone()
    }

    pub fn leave(&self) -> Arc<Notify> {
        Arc::clone(&self.leave)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Guest { seats, address, number } = &self.guest;
        seats.table().remove(*address, *number);
    }
}

/// Whoever is at the other end of a connection.
#[derive(Clone)]
pub(crate) struct Guest {
    seats: Arc<Seats>,
    address: u64,
    number: u64,
}

impl Guest {
    /// It showed a valid token, and does not give way any more, unless the token has very many connections.
    pub fn is_known(&self, token: u64) {
        let mut table = self.seats.table();
        let count = table.of_token.get(&token).copied().unwrap_or_default();
        // One that is not among the strangers is known already, or is on its way out.
        if count < self.seats.per_token
            && table.remove_stranger(self.address, self.number).is_some()
        {
            table.known.insert(self.number, token);
            table.of_token.insert(token, count + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOD: u64 = 1;
    const OTHER: u64 = 2;

    /// Takes a place; whoever has to give way for it does.
    async fn come(seats: &Arc<Seats>, guests: &mut Vec<Option<Seat>>, from: u64) -> bool {
        let mut come = Box::pin(seats.take(from));
        loop {
            if let Ok(taken) = timeout(Duration::from_millis(1), &mut come).await {
                let is_in = taken.is_some();
                guests.extend(taken.map(Some));
                return is_in;
            }
            for guest in guests.iter_mut() {
                let told = |place: &mut Seat| {
                    let (leave, mut cx) =
                        (place.leave(), std::task::Context::from_waker(std::task::Waker::noop()));
                    std::pin::pin!(leave.notified()).poll(&mut cx).is_ready()
                };
                guest.take_if(told);
            }
        }
    }

    fn stay(guests: &[Option<Seat>]) -> Vec<u64> {
        guests.iter().flatten().map(|place| place.guest.number).collect()
    }

    #[tokio::test]
    async fn the_oldest_of_the_address_with_the_most_gives_way() {
        let seats = Seats::new(4);
        let mut guests = Vec::new();
        for from in [OTHER, FLOOD, FLOOD, FLOOD, FLOOD, FLOOD] {
            assert!(come(&seats, &mut guests, from).await);
        }
        assert_eq!(stay(&guests), [0, 3, 4, 5]);
        assert!(come(&seats, &mut guests, OTHER).await);
        assert!(come(&seats, &mut guests, 3).await, "the oldest of all where two have as many");
        assert_eq!(stay(&guests), [4, 5, 6, 7]);
    }

    #[tokio::test]
    async fn who_showed_a_token_stays_and_no_token_fills_the_room() {
        let seats = Seats::new(8 * 2);
        let mut guests = Vec::new();
        for _ in 0..16 {
            assert!(come(&seats, &mut guests, FLOOD).await);
            guests.iter().flatten().for_each(|place| place.guest.is_known(7));
        }
        for _ in 0..20 {
            assert!(come(&seats, &mut guests, OTHER).await);
        }
        let left: Vec<u64> = [0, 1].into_iter().chain(10..16).chain(28..36).collect();
        assert_eq!(stay(&guests), left, "two stay for the token; the others divide the rest");
        drop(guests);
        let table = seats.table();
        assert!(table.strangers.is_empty() && table.known.is_empty() && table.of_token.is_empty());
    }

    #[tokio::test]
    async fn where_all_are_known_nobody_comes_in() {
        let seats = Seats::new(2);
        let mut guests = Vec::new();
        for token in 0..2 {
            assert!(come(&seats, &mut guests, FLOOD).await);
            guests.iter().flatten().for_each(|place| place.guest.is_known(token));
        }
        assert!(!come(&seats, &mut guests, OTHER).await);
        guests.clear();
        assert!(come(&seats, &mut guests, OTHER).await);
    }
}
