//! Connections that are open: so many and no more, so that jobs always find descriptors.

use axum_server::accept::Accept;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// Lets only so many in at once. Those beyond are closed at once, before anything is read.
#[derive(Clone)]
pub(super) struct Capped<A> {
    inner: A,
    room: Arc<Semaphore>,
}

impl<A> Capped<A> {
    pub fn new(inner: A, room: usize) -> Capped<A> {
        Capped { inner, room: Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS))) }
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
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            drop(stream);
            return Box::pin(async { Err(io::Error::other("too many connections")) });
        };
        let accepted = self.inner.accept(stream, service);
        Box::pin(async move {
            let (stream, service) = accepted.await?;
            Ok((Counted { stream, _permit: permit }, service))
        })
    }
}

/// A connection that counts until it is closed.
pub(super) struct Counted<S> {
    stream: S,
    _permit: OwnedSemaphorePermit,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
