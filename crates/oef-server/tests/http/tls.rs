//! TLS with a certificate of one's own.

use super::Test;
use super::common::{OWNER, Request, Server};
use oef_api::client::Client;
use oef_api::types::Access;
use oef_server::http::{TlsError, tls_config};
use std::fs;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[
    ("tls: a client that knows the authority", a_client_that_knows_the_authority),
    ("tls: files that cannot be used", files_that_cannot_be_used),
];

fn certificate(dir: &Path) -> (PathBuf, PathBuf) {
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_string(), "127.0.0.1".to_string()])
            .expect("a certificate");
    let (certificate, key) = (dir.join("certificate.pem"), dir.join("key.pem"));
    fs::write(&certificate, made.cert.pem()).expect("written");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    (certificate, key)
}

fn a_client_that_knows_the_authority() {
    let dir = tempfile::tempdir().expect("a folder");
    let (certificate, key) = certificate(dir.path());
    let server = Server::with_tls("", Some(tls_config(&certificate, &key).expect("it fits")));
    let access = |ca: Option<&Path>| Access {
        server: format!("https://{}", server.address),
        token: OWNER.into(),
        ca: ca.map(|path| path.display().to_string()),
        state: None,
    };
    let client = Client::new(access(Some(&certificate))).expect("a client");
    let info = client.info().expect("an answer over TLS");
    assert_eq!(info.name, "oef");
    let stranger = Client::new(access(None)).expect("a client");
    stranger.info().expect_err("a certificate that nobody signed");
    let plain = Request::new("GET", "/healthz").send(server.address);
    assert_ne!(plain.status, 200, "no answer without TLS");
}

fn files_that_cannot_be_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let (certificate, key) = certificate(dir.path());
    let other = dir.path().join("other");
    fs::create_dir(&other).expect("a folder");
    let (_, other_key) = self::certificate(&other);
    let empty = dir.path().join("empty.pem");
    fs::write(&empty, "").expect("written");
    let missing = dir.path().join("missing.pem");
    for path in [&empty, &missing] {
        assert!(matches!(tls_config(path, &key), Err(TlsError::Certificate { .. })));
        assert!(matches!(tls_config(&certificate, path), Err(TlsError::Key { .. })));
    }
    assert!(matches!(tls_config(&certificate, &other_key), Err(TlsError::Together(_))));
}
