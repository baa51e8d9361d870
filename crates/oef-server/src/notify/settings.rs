//! What an operator allows: which commands, and which addresses.

use crate::config::Length;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use ureq::http::Uri;

/// What notifications may do.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct NotifySettings {
    /// Hosts (`host` or `host:port`) that tenants may use although they are inside, or do not speak TLS.
    pub hosts: Vec<String>,
    /// Commands by the names under which tenants choose them: a program with its arguments.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The pause after the first failure, twice as long after every other one.
    pub pause: Length,
}

impl Default for NotifySettings {
    fn default() -> Self {
        NotifySettings {
            hosts: Vec::new(),
            commands: BTreeMap::new(),
            // A receiver that is started again is back by then.
            pause: Length(Duration::from_secs(5)),
        }
    }
}

impl NotifySettings {
    /// Whether the operator vouches for the host of an address.
    pub(super) fn allows(&self, uri: &Uri) -> bool {
        let Some(host) = uri.host() else { return false };
        let port = uri.port_u16().unwrap_or(if is_https(uri) { 443 } else { 80 });
        let with_port = format!("{host}:{port}");
        self.hosts
            .iter()
            .any(|own| own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(&with_port))
    }
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// What is wrong with an address, whatever it resolves to. `any`: an admin wants it.
pub(crate) fn refused(settings: &NotifySettings, url: &str, any: bool) -> Option<String> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Some("cannot be read; write it as https://HOST/PATH".into());
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Some("must begin with https:// or http:// and name a host".into());
    }
    if any || is_https(&uri) || settings.allows(&uri) {
        return None;
    }
    Some("must begin with https://, unless the operator lists its host in [notify] hosts".into())
}

/// Scheme and host of an address: what may be shown to everybody.
pub(crate) fn host_of(url: &str) -> String {
    let uri = url.parse::<Uri>().unwrap_or_default();
    format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_use_tls_or_hosts_that_the_operator_lists() {
        let hosts = ["Chat.lab", "10.0.0.5:8080"].map(String::from).into();
        let settings = NotifySettings { hosts, ..NotifySettings::default() };
        let cases = [
            ("https://hooks.example.org/a", true),
            ("http://hooks.example.org/a", false),
            ("http://chat.lab:3000/a", true),
            ("http://10.0.0.5:8080/", true),
            ("http://10.0.0.5/", false),
            ("http://10.0.0.5:8081/", false),
            ("http://chat.lab@hooks.example.org/", false),
            ("ftp://chat.lab/", false),
            ("file:///etc/passwd", false),
            ("chat.lab", false),
            ("https://", false),
            ("", false),
        ];
        for (url, fits) in cases {
            assert_eq!(refused(&settings, url, false).is_none(), fits, "{url}");
        }
        assert_eq!(refused(&settings, "http://127.0.0.1:9/", true), None);
        assert!(refused(&settings, "gopher://127.0.0.1/", true).is_some());
    }

    #[test]
    fn neither_path_nor_password_is_shown_to_all() {
        assert_eq!(
            host_of("https://me:word@hooks.example.org:8443/T/secret?x=1"),
            "https://hooks.example.org"
        );
    }
}
