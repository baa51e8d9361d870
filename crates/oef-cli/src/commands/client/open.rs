//! `oef open`.

use crate::args::cluster::OpenArgs;
use oef_api::client::Client;
use oef_terminal::{Exit, Failure, Printer};
use serde_json::json;
use std::process::{Command, Stdio};

/// What opens an address in the usual browser: on Linux, on a Mac, in WSL.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub fn run(args: &OpenArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let code = client.login_code()?;
    // A browser cannot use the local socket.
    let by_network = client.server().starts_with("http");
    let server = code.server.filter(|_| !by_network).unwrap_or_else(|| client.server().into());
    let link = format!("{}{}", server.trim_end_matches('/'), code.path);
    if args.json {
        let document = json!({"version": 1, "link": link, "expires_in_s": code.expires_in_s});
        return printer.json(&document);
    }
    if !args.print && opened(&link) {
        printer.note("the page opens in your browser; `oef open --print` prints a link instead");
        return Ok(Exit::Done);
    }
    printer.result(&format!("{link}\n"))?;
    let minutes = code.expires_in_s / 60;
    printer.note(&format!("it logs one browser in as you, once, within {minutes} minutes"));
    Ok(Exit::Done)
}

/// Whether some program took the link. On a machine without a screen there is none.
fn opened(link: &str) -> bool {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
        || cfg!(target_os = "macos");
    has_screen
        && OPENERS.iter().any(|opener| {
            let mut command = Command::new(opener);
            command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
}
