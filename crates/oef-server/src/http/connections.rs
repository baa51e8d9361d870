//! Connections that are open: so many and no more, so that jobs always find descriptors. Those that say nothing are
//! closed, and those of strangers give way to those that come.

use super::rate::of_address;
use super::seats::{Guest, Seat, Seats};
use axum_server::accept::Accept;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Sleep, sleep};
use tower_http::add_extension::AddExtension;

/// Descriptors that are left to everything but connections: the journal, runners, logs.
const RESERVED: u64 = 512;
/// The least that is worth listening for.
const LEAST: usize = 16;
/// One part in so many of all descriptors is for connections to the local socket, and no more than these.
const SOCKET_PART: u64 = 8;
const SOCKET_MAX: usize = 1024;

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

/// How many there may be to the local socket, of all its users together.
pub(crate) fn room_of_socket() -> usize {
    let limit = oef_executor::raise_descriptor_limit();
    let part = limit.map_or(u64::MAX, |limit| limit / SOCKET_PART);
    usize::try_from(part).unwrap_or(usize::MAX).clamp(LEAST, SOCKET_MAX)
}

/// Lets only so many in at once.
#[derive(Clone)]
pub(super) struct Capped<A> {
    inner: A,
    seats: Arc<Seats>,
    ask_within: Duration,
}

impl<A> Capped<A> {
    /// Those whose first request has no end of its headers within a time are closed.
    pub fn new(inner: A, room: usize, ask_within: Duration) -> Capped<A> {
        Capped { inner, seats: Seats::new(room), ask_within }
    }
}

/// Where a connection comes from.
pub(super) trait Origin {
    /// The bucket of its address.
    fn origin(&self) -> u64;
}

impl Origin for TcpStream {
    fn origin(&self) -> u64 {
        of_address(self.peer_addr().ok().map(|address| address.ip()))
    }
}

/// A connection that has not asked anything yet.
struct Silence {
    until: Pin<Box<Sleep>>,
    /// The last bytes that came.
    end: [u8; 4],
}

impl Silence {
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
    I: Origin + Send + 'static,
    S: Send + 'static,
{
    type Stream = Counted<A::Stream>;
    type Service = AddExtension<A::Service, Guest>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let Some(seat) = this.seats.take(stream.origin()).await else {
                return Err(io::Error::other("too many connections"));
            };
            let mut told = Box::pin(seat.leave().notified_owned());
            // A handshake that takes its time gives way, too.
            let (stream, service) = tokio::select! {
                accepted = this.inner.accept(stream, service) => accepted?,
                () = &mut told => return Err(io::ErrorKind::TimedOut.into()),
            };
            let service = AddExtension::new(service, seat.guest());
            Ok((Counted::new(stream, seat, this.ask_within), service))
        })
    }
}

/// A connection that counts until it is closed.
pub(crate) struct Counted<S> {
    stream: S,
    /// It is to give way.
    told: Pin<Box<OwnedNotified>>,
    /// Until the first request is there.
    silence: Option<Silence>,
    _seat: Seat,
}

impl<S> Counted<S> {
    /// One with a seat, which is closed if it has not asked anything within a time.
    pub(crate) fn new(stream: S, seat: Seat, ask_within: Duration) -> Counted<S> {
        let until = Box::pin(sleep(ask_within));
        let silence = Some(Silence { until, end: [0; 4] });
        Counted { stream, told: Box::pin(seat.leave().notified_owned()), silence, _seat: seat }
    }

    /// What a read or a write came to, unless it waits and the connection has to go.
    fn unless_over<T>(
        &mut self,
        done: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        let late = |silence: &mut Silence| silence.until.as_mut().poll(context).is_ready();
        let is_over = done.is_pending()
            && (self.silence.as_mut().is_some_and(late)
                || self.told.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { done }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let came = &buffer.filled()[before..];
        if self.silence.as_mut().is_some_and(|silence| silence.is_broken(came)) {
            self.silence = None;
        }
        self.unless_over(read, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_over(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_over(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.unless_over(written, context)
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
    use tokio::time::timeout;

    const FOREVER: Duration = Duration::from_secs(3600);
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    impl Origin for DuplexStream {
        fn origin(&self) -> u64 {
            0
        }
    }

    async fn connect(
        to: &Capped<DefaultAcceptor>,
    ) -> io::Result<(DuplexStream, Counted<DuplexStream>, Guest)> {
        let (client, server) = duplex(1024);
        let (counted, service) = to.accept(server, ()).await?;
        drop(service);
        let guest = counted._seat.guest();
        Ok((client, counted, guest))
    }

    #[tokio::test]
    async fn one_that_asks_nothing_is_closed() {
        let capped = Capped::new(DefaultAcceptor::new(), 8, Duration::from_millis(20));
        for said in ["", "G", "GET / HTTP/1.1\r\nHost: a\r\n"] {
            let (mut client, mut server, _) = connect(&capped).await.expect("there is room");
            client.write_all(said.as_bytes()).await.expect("written");
            let ended = server.read_to_end(&mut Vec::new()).await;
            assert!(ended.is_err_and(|e| e.kind() == io::ErrorKind::TimedOut), "{said:?}");
        }
        let (mut client, mut server, _) = connect(&capped).await.expect("there is room");
        client.write_all(REQUEST).await.expect("written");
        let ended = timeout(Duration::from_millis(200), server.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_err(), "it has asked: {ended:?}");
    }

    /// Whether it says nothing, reads nothing, or has asked: without a token it gives way.
    #[tokio::test]
    async fn strangers_give_way_whatever_they_do() {
        let capped = Capped::new(DefaultAcceptor::new(), 3, FOREVER);
        let (mut client, mut known, guest) = connect(&capped).await.expect("there is room");
        client.write_all(REQUEST).await.expect("written");
        known.read_exact(&mut [0; 18]).await.expect("read");
        guest.is_known(1);
        let (mut asks, mut first, _) = connect(&capped).await.expect("there is room");
        asks.write_all(REQUEST).await.expect("written");
        let (_reads_nothing, mut second, _) = connect(&capped).await.expect("there is room");
        let first = tokio::spawn(async move { first.read_to_end(&mut Vec::new()).await });
        let second = tokio::spawn(async move { second.write_all(&[0; 9999]).await });
        let mut next = Vec::new();
        for token in 2..4 {
            let one = connect(&capped).await.expect("a stranger gives way");
            one.2.is_known(token);
            next.push(one);
        }
        assert!(first.await.expect("ended").is_err());
        assert!(second.await.expect("ended").is_err());
        assert!(connect(&capped).await.is_err(), "all have shown a token");
        client.write_all(b"x").await.expect("written");
        known.read_exact(&mut [0]).await.expect("it is still there");
    }

    #[derive(Clone)]
    struct Endless;

    impl<I, S> Accept<I, S> for Endless {
        type Stream = I;
        type Service = S;
        type Future = std::future::Pending<io::Result<(I, S)>>;

        fn accept(&self, _: I, _: S) -> Self::Future {
            std::future::pending()
        }
    }

    #[tokio::test]
    async fn a_handshake_that_never_ends_gives_way() {
        let capped = Capped::new(Endless, 1, FOREVER);
        let first = tokio::spawn(capped.accept(duplex(1).1, ()));
        tokio::task::yield_now().await;
        let _second = tokio::spawn(capped.accept(duplex(1).1, ()));
        assert!(first.await.expect("ended").is_err());
    }
}
