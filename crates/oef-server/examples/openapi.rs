//! Prints the OpenAPI document: `cargo run -p oef-server --example openapi > docs/openapi.json`.
#![forbid(unsafe_code)]

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    let document = oef_server::http::document_text();
    io::stdout().write_all(document.as_bytes())
}
