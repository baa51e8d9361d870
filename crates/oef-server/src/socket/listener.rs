//! Listening on a path, and knowing who is at the other end.

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::collections::BTreeMap;
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
    task: tokio::task::JoinHandle<()>,
}

impl SocketServing {
    /// Begins to answer. Everybody on the machine may connect; what they may do follows from who they are.
    pub(crate) fn begin(routes: Router, path: &Path) -> io::Result<SocketServing> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        if let Some(folder) = path.parent().filter(is_missing) {
            fs::create_dir_all(folder)?;
            // Whatever mask a service has: everybody has to get there.
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o666))?;
        let knocks = Knocks { listener, counts: Counts::default() };
        let service = routes.into_make_service_with_connect_info::<Peer>();
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(knocks, service).await {
                tracing::error!(%error, "the local socket is closed");
            }
        });
        Ok(SocketServing { path: path.into(), task })
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
    counts: Counts,
}

impl Listener for Knocks {
    type Io = Counted;
    type Addr = Peer;

    async fn accept(&mut self) -> (Counted, Peer) {
        loop {
            let peer = match self.listener.accept().await {
                Ok((stream, _)) => {
                    stream.peer_cred().map(|cred| (stream, Peer { uid: cred.uid() }))
                }
                Err(error) => Err(error),
            };
            match peer {
                Ok((stream, peer)) => {
                    if let Some(counted) = Counted::new(stream, peer, &self.counts) {
                        return (counted, peer);
                    }
                    tracing::warn!(uid = peer.uid, "too many connections of one user");
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

impl Connected<IncomingStream<'_, Knocks>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Knocks>) -> Peer {
        *stream.remote_addr()
    }
}

/// A connection that counts for its user while it lasts.
struct Counted {
    stream: UnixStream,
    uid: u32,
    counts: Counts,
}

impl Counted {
    fn new(stream: UnixStream, peer: Peer, counts: &Counts) -> Option<Counted> {
        let mut table = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = table.entry(peer.uid).or_default();
        if *count >= PER_USER_MAX {
            return None;
        }
        *count += 1;
        Some(Counted { stream, uid: peer.uid, counts: Arc::clone(counts) })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut table = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match table.get_mut(&self.uid) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(table.remove(&self.uid)),
        }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
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
