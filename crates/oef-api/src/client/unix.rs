//! HTTP over a socket of this machine, on which the daemon sees who asks.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error, Timeout};

/// How an address begins that is a path.
const SCHEME: &str = "unix://";

/// Where a daemon listens for the users of its machine.
pub const SOCKET: &str = "/run/oef/oef.sock";

/// The path in an address such as `unix:///run/oef/oef.sock`; `unix:/run/oef/oef.sock` is the same.
pub(super) fn path_of(server: &str) -> Option<PathBuf> {
    let path = server.strip_prefix(SCHEME).or_else(|| server.strip_prefix("unix:"))?;
    Some(PathBuf::from(path))
}

/// The address of a path.
pub(super) fn address_of(path: &Path) -> String {
    format!("{SCHEME}{}", path.display())
}

/// Whether something listens for the users of this machine.
pub(super) fn usual() -> Option<PathBuf> {
    let path = Path::new(SOCKET);
    UnixStream::connect(path).is_ok().then(|| path.to_path_buf())
}

/// An agent that connects to this path, whatever the address of a request.
pub(super) fn agent(config: Config, path: PathBuf) -> Agent {
    Agent::with_parts(config, ToPath(path), Nowhere)
}

#[derive(Debug)]
struct ToPath(PathBuf);

impl Connector<()> for ToPath {
    type Out = OverSocket;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<OverSocket>, Error> {
        let stream = UnixStream::connect(&self.0).map_err(|error| match error.kind() {
            // The same to whoever asks: nobody listens.
            io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::ConnectionRefused, error),
            _ => error,
        })?;
        let config = &details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(OverSocket { stream, buffers }))
    }
}

/// There is nothing to look up.
#[derive(Debug)]
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
        Ok(addresses)
    }
}

struct OverSocket {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl std::fmt::Debug for OverSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OverSocket").finish_non_exhaustive()
    }
}

fn limit(timeout: &NextTimeout) -> Option<Duration> {
    // A limit of nothing is no limit for the system.
    timeout.not_zero().map(|limit| (*limit).max(Duration::from_millis(1)))
}

fn in_time(error: io::Error, reason: Timeout) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Timeout(reason),
        _ => Error::Io(error),
    }
}

impl Transport for OverSocket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        self.stream.set_write_timeout(limit(&timeout))?;
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output).map_err(|error| in_time(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        self.stream.set_read_timeout(limit(&timeout))?;
        let input = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(input) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| in_time(error, timeout.reason))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // Whether anything is left to read shows that the other side has not gone; nothing is expected.
        let mut byte = [0u8; 1];
        if self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let is_open = matches!(self.stream.read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        self.stream.set_nonblocking(false).is_ok() && is_open
    }
}
