//! Listening on a path, and knowing who is at the other end.

use crate::http::{Counted, HEADERS_WITHIN, Seat, Seats, room_of_socket};
use crate::watchful;
use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Connections of one user at the same time: nobody's excess is another's refusal.
const PER_USER_MAX: u32 = 64;

/// After a failure to accept, such as no room for another file.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// Who is at the other end of a connection, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub uid: u32,
}

type Counts = Arc<Mutex<BTreeMap<u32, u32>>>;

/// A socket that listens.
pub(crate) struct SocketServing {
    path: PathBuf,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

impl SocketServing {
    /// Begins to answer. Everybody on the machine may connect; what they may do follows from who they are.
    /// Connections of `operators` have room of their own.
    pub(crate) fn begin(
        routes: Router,
        path: &Path,
        operators: BTreeSet<u32>,
    ) -> io::Result<SocketServing> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        if let Some(folder) = path.parent().filter(is_missing) {
            fs::create_dir_all(folder)?;
            // Whatever mask a service has: everybody has to get there.
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o666))?;
        let room = Room::new(room_of_socket(), operators);
        let knocks = Knocks { listener, room: Arc::new(room), coming: JoinSet::new() };
        let service = routes.into_make_service_with_connect_info::<Peer>();
        let task = tokio::spawn(async move { axum::serve(knocks, service).await });
        Ok(SocketServing { path: path.into(), task })
    }

    /// Waits until it listens no more, which nobody asked for; why.
    pub(crate) async fn ended(&mut self) -> String {
        watchful::end_of(&mut self.task).await
    }
}

impl Drop for SocketServing {
    fn drop(&mut self) {
        self.task.abort();
        let _ = fs::remove_file(&self.path);
    }
}

/// A socket of a daemon that was killed is in the way; one of a daemon that runs is not ours to remove.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(known) = fs::symlink_metadata(path) else { return Ok(()) };
    if !known.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else lies there"));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens there")),
        Err(_) => fs::remove_file(path),
    }
}

struct Knocks {
    listener: UnixListener,
    room: Arc<Room>,
    /// Those for whom somebody else has to give way first.
    coming: JoinSet<Option<(Counted<OfUser>, Peer)>>,
}

impl Listener for Knocks {
    type Io = Counted<OfUser>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Counted<OfUser>, Peer) {
        loop {
            let accepted = tokio::select! {
                Some(come) = self.coming.join_next() => match come {
                    Ok(Some(come)) => return come,
                    _ => continue,
                },
                accepted = self.listener.accept() => accepted,
            };
            let peer = accepted.and_then(|(stream, _)| {
                stream.peer_cred().map(|cred| (stream, Peer { uid: cred.uid() }))
            });
            match peer {
                Ok((stream, peer)) => {
                    let room = Arc::clone(&self.room);
                    self.coming.spawn(async move { Some((room.take(stream, peer).await?, peer)) });
                }
                Err(error) => {
                    tracing::warn!(%error, "the local socket");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer { uid: rustix::process::getuid().as_raw() })
    }
}

/// Room for connections: so many of one user, and so many of all. When there is none left, the oldest connection of the
/// user with the most gives way; operators always get in.
struct Room {
    counts: Counts,
    operators: BTreeSet<u32>,
    of_operators: Arc<Seats>,
    of_others: Arc<Seats>,
}

impl Room {
    fn new(size: usize, operators: BTreeSet<u32>) -> Room {
        let of_operators = Seats::new(operators.len() * PER_USER_MAX as usize);
        Room { counts: Counts::default(), operators, of_operators, of_others: Seats::new(size) }
    }

    async fn take(&self, stream: UnixStream, peer: Peer) -> Option<Counted<OfUser>> {
        let seat = self.seat(peer);
        let Some((count, seat)) = seat.await else {
            tracing::warn!(uid = peer.uid, "too many connections");
            return None;
        };
        Some(Counted::new(OfUser { stream, _count: count }, seat, HEADERS_WITHIN))
    }

    async fn seat(&self, peer: Peer) -> Option<(Count, Seat)> {
        let count = Count::new(peer, &self.counts)?;
        let is_operator = self.operators.contains(&peer.uid);
        let seats = if is_operator { &self.of_operators } else { &self.of_others };
        Some((count, seats.take(u64::from(peer.uid)).await?))
    }
}

impl Connected<IncomingStream<'_, Knocks>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Knocks>) -> Peer {
        *stream.remote_addr()
    }
}

/// A connection of a user.
struct OfUser {
    stream: UnixStream,
    _count: Count,
}

/// One that counts for its user while it lasts.
struct Count {
    uid: u32,
    counts: Counts,
}

impl Count {
    fn new(peer: Peer, counts: &Counts) -> Option<Count> {
        let mut table = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = table.entry(peer.uid).or_default();
        if *count >= PER_USER_MAX {
            return None;
        }
        *count += 1;
        Some(Count { uid: peer.uid, counts: Arc::clone(counts) })
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        let mut table = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match table.get_mut(&self.uid) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(table.remove(&self.uid)),
        }
    }
}

impl AsyncRead for OfUser {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for OfUser {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    /// A connection, and a task that ends when it is closed.
    async fn come(room: &Room, uid: u32) -> Option<tokio::task::JoinHandle<io::Result<usize>>> {
        let (client, server) = UnixStream::pair().expect("a pair");
        let mut server = room.take(server, Peer { uid }).await?;
        Some(tokio::spawn(async move {
            let _client = client;
            server.read_to_end(&mut Vec::new()).await
        }))
    }

    #[tokio::test]
    async fn no_users_however_many_keep_others_out() {
        let room = Room::new(100, BTreeSet::from([0]));
        let mut flood = Vec::new();
        for uid in [1001, 1002] {
            for _ in 0..PER_USER_MAX {
                flood.push(come(&room, uid).await.expect("the oldest of the most give way"));
            }
            if uid == 1001 {
                assert!(come(&room, uid).await.is_none(), "it has as many as one user may have");
            }
        }
        let stranger = come(&room, 1003).await.expect("it gets in");
        let operators: Vec<_> = [come(&room, 0).await, come(&room, 0).await].into();
        assert!(operators.iter().all(Option::is_some));
        tokio::task::yield_now().await;
        let left = flood.iter().filter(|task| !task.is_finished()).count();
        assert!(!stranger.is_finished() && left == 99, "{left}");
    }
}
