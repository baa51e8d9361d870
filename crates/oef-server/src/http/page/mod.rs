//! The page for people: what the browser needs, out of the binary.
//!
//! The sources in `crates/oef-server/page` are what is served; there is no build step. Nothing in them is about anybody:
//! all data comes over the REST interface, which asks who one is.

mod assets;

pub(super) use assets::compressed;

use super::App;
use super::live::takes_gzip;
use assets::{ASSETS, Asset, current};
use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// The addresses of the page; what each shows is the browser's business.
const ADDRESSES: [&str; 11] = [
    "/",
    "/login",
    "/tenants",
    "/tenants/{name}",
    "/jobs",
    "/jobs/{id}",
    "/whatif",
    "/rounds",
    "/usage",
    "/cluster",
    "/events",
];

/// Scripts and styles come from here and nowhere else, none of them inline, and no text becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

pub(super) fn routes() -> Router<App> {
    let pages = ADDRESSES.iter().fold(Router::new(), |router, path| router.route(path, get(shell)));
    pages.route("/assets/{version}/{*name}", get(asset))
}

async fn shell(headers: HeaderMap) -> Response {
    let Some(shell) = current("index.html") else { return StatusCode::NOT_FOUND.into_response() };
    let mut response = send(&shell, &headers, "no-cache");
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn asset(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    match current(&name) {
        // The address has the hash of the content: it never means anything else.
        Some(asset) if version == ASSETS.version => {
            send(&asset, &headers, "public, max-age=31536000, immutable")
        }
        // A page that was loaded before an upgrade gets what there is.
        Some(asset) => send(&asset, &headers, "no-cache"),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn send(asset: &Asset, asked: &HeaderMap, caching: &'static str) -> Response {
    let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == asset.tag));
    let mut response = match (is_known, takes_gzip(asked)) {
        (true, _) => StatusCode::NOT_MODIFIED.into_response(),
        (false, true) => {
            let mut response = asset.gzip.clone().into_response();
            let encoding = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::CONTENT_ENCODING, encoding);
            response
        }
        (false, false) => asset.plain.clone().into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests;
