//! Connections that are open: so many and no more, so that jobs always find descriptors. Those that have not asked anything
//! yet give way to those that come.

use axum_server::accept::Accept;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep, timeout};

/// Descriptors that are left to everything but connections: the journal, runners, logs.
const RESERVED: u64 = 512;
/// The least that is worth listening for.
const LEAST: usize = 16;

/// How many connections there may be: as wanted, and half of what the system gives at most. The system's soft limit is
/// raised to its hard one first.
pub(super) fn room(wanted: usize) -> usize {
    let limit = oef_executor::raise_descriptor_limit();
    let spare = limit.map_or(u64::MAX, |limit| (limit / 2).min(limit.saturating_sub(RESERVED)));
    let spare = usize::try_from(spare).unwrap_or(usize::MAX).max(LEAST);
    if spare < wanted {
        tracing::warn!(
            wanted,
            spare,
            "fewer connections than `limits.connections`: few descriptors (ulimit -n)"
        );
    }
    wanted.min(spare)
}

/// One that is told to give way is gone after a moment; where all are busy, nobody waits for longer.
const WAY_WITHIN: Duration = Duration::from_secs(1);

/// Lets only so many in at once. One beyond takes the place of the oldest that has not asked anything yet, or is closed
/// before anything is read.
#[derive(Clone)]
pub(super) struct Capped<A> {
    inner: A,
    room: Arc<Semaphore>,
    ask_within: Duration,
    /// Those that have not asked anything yet, the oldest first.
    silent: Arc<Mutex<VecDeque<Weak<Notify>>>>,
}

impl<A> Capped<A> {
    /// Those whose first request has no end of its headers within a time are closed.
    pub fn new(inner: A, room: usize, ask_within: Duration) -> Capped<A> {
        let room = Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS)));
        Capped { inner, room, ask_within, silent: Arc::default() }
    }

    /// A place, if there is one or somebody gives way.
    async fn place(self) -> Option<Place> {
        let taken = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.oldest_silent()?.notify_one();
                timeout(WAY_WITHIN, self.room.acquire_owned()).await.ok()?.ok()?
            }
        };
        let leave = Arc::new(Notify::new());
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have asked leave the list when it would grow: it is never much longer than there is room.
        if silent.len() == silent.capacity() {
            silent.retain(|one| one.strong_count() > 0);
        }
        silent.push_back(Arc::downgrade(&leave));
        let (told, until) = (leave.notified_owned(), sleep(self.ask_within));
        let silence = Silence { told: Box::pin(told), until: Box::pin(until), end: [0; 4] };
        Some(Place { silence: Some(silence), _permit: taken })
    }

    fn oldest_silent(&self) -> Option<Arc<Notify>> {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| silent.pop_front()).find_map(|one| one.upgrade())
    }
}

/// A place among the connections.
struct Place {
    /// Until the first request is there.
    silence: Option<Silence>,
    _permit: OwnedSemaphorePermit,
}

/// A connection that has not asked anything yet.
struct Silence {
    /// It is to give way.
    told: Pin<Box<OwnedNotified>>,
    until: Pin<Box<Sleep>>,
    /// The last bytes that came.
    end: [u8; 4],
}

impl Silence {
    /// Whether it has lasted too long.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let told = self.told.as_mut().poll(context).is_ready();
        told || self.until.as_mut().poll(context).is_ready()
    }

    /// Whether the headers of a request end in what came.
    fn is_broken(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|byte| {
            self.end.rotate_left(1);
            self.end[3] = *byte;
            self.end == *b"\r\n\r\n"
        })
    }
}

impl<A, I, S> Accept<I, S> for Capped<A>
where
    A: Accept<I, S> + Clone + Send + 'static,
    A::Stream: Send,
    A::Service: Send,
    A::Future: Send,
    I: Send + 'static,
    S: Send + 'static,
{
    type Stream = Counted<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let inner = this.inner.clone();
            let Some(place) = this.place().await else {
                return Err(io::Error::other("too many connections"));
            };
            let (stream, service) = inner.accept(stream, service).await?;
            Ok((Counted { stream, place }, service))
        })
    }
}

/// A connection that counts until it is closed.
pub(super) struct Counted<S> {
    stream: S,
    place: Place,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(silence) = &mut self.place.silence else { return read };
        if read.is_pending() && silence.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if silence.is_broken(&buffer.filled()[before..]) {
            self.place.silence = None;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum_server::accept::DefaultAcceptor;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    const FOREVER: Duration = Duration::from_secs(3600);

    async fn connect(
        to: &Capped<DefaultAcceptor>,
    ) -> io::Result<(DuplexStream, Counted<DuplexStream>)> {
        let (client, server) = duplex(1024);
        Ok((client, to.accept(server, ()).await?.0))
    }

    #[tokio::test]
    async fn one_that_asks_nothing_is_closed() {
        let capped = Capped::new(DefaultAcceptor::new(), 8, Duration::from_millis(20));
        for said in ["", "G", "GET / HTTP/1.1\r\nHost: a\r\n"] {
            let (mut client, mut server) = connect(&capped).await.expect("there is room");
            client.write_all(said.as_bytes()).await.expect("written");
            let ended = server.read_to_end(&mut Vec::new()).await;
            assert!(ended.is_err_and(|e| e.kind() == io::ErrorKind::TimedOut), "{said:?}");
        }
        let (mut client, mut server) = connect(&capped).await.expect("there is room");
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("written");
        let ended = timeout(Duration::from_millis(200), server.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_err(), "it has asked: {ended:?}");
    }

    #[tokio::test]
    async fn the_oldest_that_asked_nothing_gives_way_and_one_that_asked_does_not() {
        let capped = Capped::new(DefaultAcceptor::new(), 2, FOREVER);
        let (mut client, mut asking) = connect(&capped).await.expect("there is room");
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("written");
        asking.read_exact(&mut [0; 18]).await.expect("read");
        let (_silent, mut first) = connect(&capped).await.expect("there is room");
        let closes = tokio::spawn(async move { first.read_to_end(&mut Vec::new()).await });
        let (mut client, mut second) = connect(&capped).await.expect("the silent one gives way");
        assert!(closes.await.expect("ended").is_err());
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("written");
        second.read_exact(&mut [0; 18]).await.expect("read");
        assert!(connect(&capped).await.is_err(), "all have asked");
    }
}
