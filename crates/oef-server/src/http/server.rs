//! Listening, with or without TLS.

use super::App;
use super::connections::{Capped, room};
use crate::watchful;
use axum_server::Handle;
use axum_server::accept::DefaultAcceptor;
use axum_server::tls_rustls::RustlsConfig;
use hyper_util::rt::TokioTimer;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A client that takes longer to send its headers is not worth a connection.
pub(crate) const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// Requests that are under way when the server stops have so long to end.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Why a certificate cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The file of the certificates.
    #[error("the certificate `{}` cannot be read: {why}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file of the key.
    #[error("the private key `{}` cannot be read: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Both are fine, but not together.
    #[error("the certificate and the private key cannot be used together: {0}")]
    Together(#[source] rustls::Error),
}

/// TLS with a certificate and its key, as PEM files.
pub fn tls_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let wrong = |why: String| TlsError::Certificate { path: certificate.into(), why };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|why| wrong(why.to_string()))?;
    if chain.is_empty() {
        return Err(wrong("it holds no PEM certificate".into()));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|why| TlsError::Key { path: key.into(), why: why.to_string() })?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Together)?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(TlsError::Together)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// A server that listens.
pub struct Serving {
    app: App,
    handle: Handle<SocketAddr>,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

impl Serving {
    /// Begins to answer on a socket that listens already.
    pub fn begin(
        app: App,
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let handle = Handle::new();
        let service = app.router().into_make_service_with_connect_info::<SocketAddr>();
        app.look_at_jobs();
        let room = room(app.inner.limits.connections);
        let server = axum_server::from_tcp(listener)?.handle(handle.clone()).http1_only();
        let task = match tls {
            Some(tls) => {
                let acceptor =
                    axum_server::tls_rustls::RustlsAcceptor::new(RustlsConfig::from_config(tls));
                let mut server = server.acceptor(Capped::new(acceptor, room, HEADERS_WITHIN));
                patient(server.http_builder());
                tokio::spawn(server.serve(service))
            }
            None => {
                let mut server =
                    server.acceptor(Capped::new(DefaultAcceptor::new(), room, HEADERS_WITHIN));
                patient(server.http_builder());
                tokio::spawn(server.serve(service))
            }
        };
        Ok(Serving { app, handle, task })
    }

    /// Waits until it listens no more, which nobody asked for; why.
    pub async fn ended(&mut self) -> String {
        watchful::end_of(&mut self.task).await
    }

    /// Takes no more requests, ends the event streams, and waits a little for what is under way.
    pub async fn stop(self) -> io::Result<()> {
        self.app.close();
        self.handle.graceful_shutdown(Some(END_WITHIN));
        self.task.await.unwrap_or(Ok(()))
    }
}

fn patient(builder: &mut hyper_util::server::conn::auto::Builder<hyper_util::rt::TokioExecutor>) {
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
}
