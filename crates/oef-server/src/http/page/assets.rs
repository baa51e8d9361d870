//! The files of the page, compressed once. Their address has the hash of all of them: a browser keeps them for ever.

use axum::body::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::sync::LazyLock;

/// Where the shell says where the other files are.
const PLACE: &str = "@assets";
/// Where it lists the scripts, so that a browser fetches all at once and not one after the other.
const PRELOAD: &str = "<!--preload-->";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/page/", $name)))),*]
    };
}

/// Every file of the page.
pub(super) const FILES: &[(&str, &[u8])] = files![
    "index.html",
    "icon.svg",
    "css/base.css",
    "css/charts.css",
    "css/parts.css",
    "css/views.css",
    "app.js",
    "charts/axis.js",
    "charts/bars.js",
    "charts/figure.js",
    "charts/heat.js",
    "charts/lines.js",
    "charts/strip.js",
    "charts/timeline.js",
    "charts/timeline_input.js",
    "charts/timeline_paint.js",
    "charts/usage.js",
    "lib/api.js",
    "lib/colour.js",
    "lib/dom.js",
    "lib/format.js",
    "lib/live.js",
    "lib/parts.js",
    "lib/state.js",
    "lib/table.js",
    "views/cluster.js",
    "views/events.js",
    "views/job.js",
    "views/job_output.js",
    "views/jobs.js",
    "views/login.js",
    "views/now.js",
    "views/round.js",
    "views/rounds.js",
    "views/tenant.js",
    "views/tenants.js",
    "views/usage.js",
    "views/whatif.js",
    "views/whatif_apply.js",
    "views/whatif_result.js",
];

/// A file as it is sent.
#[derive(Clone)]
pub(super) struct Asset {
    pub kind: &'static str,
    pub tag: String,
    pub plain: Bytes,
    pub gzip: Bytes,
}

/// All files, and the hash in their address.
pub(super) struct Assets {
    pub version: String,
    files: Vec<(&'static str, Asset)>,
}

pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    let version = version();
    let files = FILES.iter().map(|(name, bytes)| (*name, asset(name, bytes, &version)));
    Assets { files: files.collect(), version }
});

/// A file by name.
pub(super) fn current(name: &str) -> Option<Asset> {
    if let Some(asset) = from_disk(name) {
        return Some(asset);
    }
    let found = ASSETS.files.iter().find(|(known, _)| *known == name);
    found.map(|(_, asset)| asset.clone())
}

/// While the page is being written: files as they are on disk, without building anew. Not in a release.
fn from_disk(name: &str) -> Option<Asset> {
    if !cfg!(debug_assertions) || std::env::var_os("OEF_PAGE_FROM_DISK").is_none() {
        return None;
    }
    // Only names that are known: a path from outside never reaches the disk.
    let (name, _) = FILES.iter().find(|(known, _)| *known == name)?;
    let path = format!("{}/page/{name}", env!("CARGO_MANIFEST_DIR"));
    Some(asset(name, &std::fs::read(path).ok()?, "dev"))
}

fn version() -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in FILES {
        hash.update(name.as_bytes());
        hash.update(bytes);
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn asset(name: &'static str, bytes: &[u8], version: &str) -> Asset {
    let plain = match name {
        "index.html" => Bytes::from(shell(bytes, version)),
        _ => Bytes::copy_from_slice(bytes),
    };
    let digest = Sha256::digest(&plain);
    let tag: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let gzip = compressed(&plain).unwrap_or_else(|| plain.clone());
    Asset { kind: kind(name), tag: format!("\"{tag}\""), plain, gzip }
}

/// The shell with the addresses of the other files.
fn shell(bytes: &[u8], version: &str) -> String {
    let place = format!("/assets/{version}");
    let scripts = FILES.iter().filter(|(name, _)| name.ends_with(".js"));
    let links: String = scripts
        .map(|(name, _)| format!("<link rel=\"modulepreload\" href=\"{place}/{name}\">\n"))
        .collect();
    String::from_utf8_lossy(bytes).replace(PLACE, &place).replace(PRELOAD, &links)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

/// Gzip; none: it could not be done, and the plain bytes have to do.
pub(in crate::http) fn compressed(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(5));
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}
