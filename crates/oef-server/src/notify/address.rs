//! Where requests may go. A tenant that could name any address would make the daemon knock at doors inside its network
//! that the tenant itself cannot reach.

use super::settings::NotifySettings;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Looks names up, and passes on only addresses outside, unless the operator lists the host. What is checked here is what
/// is connected to: a name that means something else a moment later changes nothing.
#[derive(Debug)]
pub(super) struct OutsideOnly {
    pub settings: Arc<NotifySettings>,
    pub inner: DefaultResolver,
}

impl Resolver for OutsideOnly {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        if self.settings.allows(uri) {
            return Ok(found);
        }
        let mut outside = self.empty();
        for address in found.iter().filter(|address| is_outside(address.ip())) {
            outside.push(*address);
        }
        match outside.is_empty() {
            false => Ok(outside),
            true => Err(ureq::Error::Other(
                "its address is inside a private network; the operator may list its host in [notify] hosts".into(),
            )),
        }
    }
}

/// Whether an address is one of the public network.
fn is_outside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_outside_v4(v4),
        IpAddr::V6(v6) => is_outside_v6(v6),
    }
}

fn is_outside_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let is_special = a == 0
        || a >= 224
        || v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_documentation()
        // Shared by providers and their customers, for protocols, for benchmarks.
        || (a == 100 && b & 0xc0 == 64)
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && b & 0xfe == 18);
    !is_special
}

fn is_outside_v6(v6: Ipv6Addr) -> bool {
    let [a, b, ..] = v6.segments();
    // Only 2000::/3 is given out; in it 6to4 and Teredo contain addresses of the other kind, and some are for documents.
    let is_special = a == 0x2002 || (a == 0x2001 && (b < 0x200 || b == 0xdb8));
    a & 0xe000 == 0x2000 && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_network_are_outside() {
        let inside = [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
        ];
        let outside = [
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "::ffff:8.8.8.8",
            "2606:4700::1111",
            "2a00:1450::1",
        ];
        for address in inside {
            assert!(!is_outside(address.parse().expect("an address")), "{address}");
        }
        for address in outside {
            assert!(is_outside(address.parse().expect("an address")), "{address}");
        }
    }
}
