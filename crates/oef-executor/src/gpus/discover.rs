//! The GPUs of this machine, as its driver tells.

use super::name::type_name;
use crate::device::{Device, DeviceKind};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::collections::BTreeMap;
use tracing::{debug, warn};

/// The GPUs of this machine, by number; none, and no error, where there is no driver. Each gpu type is
/// a node of its own, named after the machine and the type.
pub fn discover(machine: &str) -> Vec<Device> {
    let nvml = match Nvml::init() {
        Ok(nvml) => nvml,
        Err(error) => {
            debug!(%error, "no GPUs");
            return Vec::new();
        }
    };
    let count = nvml.device_count().unwrap_or(0);
    let mut found = Vec::new();
    for ordinal in 0..count {
        match look(&nvml, ordinal) {
            Ok((product, uuid)) => found.push((ordinal, product, uuid)),
            // One that has fallen off the bus keeps nobody from using the others.
            Err(error) => warn!(ordinal, %error, "GPU left out"),
        }
    }
    devices(machine, found)
}

fn look(nvml: &Nvml, ordinal: u32) -> Result<(String, String), NvmlError> {
    let device = nvml.device_by_index(ordinal)?;
    Ok((device.name()?, device.uuid()?))
}

/// Number, product and unique name of each, to devices on nodes.
fn devices(machine: &str, found: Vec<(u32, String, String)>) -> Vec<Device> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut devices = Vec::new();
    for (ordinal, product, uuid) in found {
        let gpu_type = type_name(&product);
        let count = counts.entry(gpu_type.clone()).or_default();
        let index = *count;
        *count += 1;
        let host = format!("{machine}-{gpu_type}");
        let kind = DeviceKind::Real { ordinal, uuid };
        devices.push(Device { host, index, gpu_type, kind });
    }
    devices
}

/// What this machine is called, without its domain.
pub fn machine_name() -> String {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_string_lossy();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let first = name.split('.').next().unwrap_or_default();
    let plain: String = first.chars().filter(is_plain).collect();
    if plain.is_empty() { "machine".to_string() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_for_each_type() {
        let found = ["NVIDIA A100-SXM4-80GB", "NVIDIA H200", "NVIDIA A100-SXM4-80GB"];
        let found = (0..).zip(found).map(|(n, product)| (n, product.into(), format!("GPU-{n}")));
        let devices = devices("box", found.collect());
        let shown: Vec<String> = devices.iter().map(Device::to_string).collect();
        assert_eq!(shown, ["box-a100-80gb:0", "box-h200:0", "box-a100-80gb:1"]);
        let kind = DeviceKind::Real { ordinal: 2, uuid: "GPU-2".into() };
        assert_eq!(devices[2].kind, kind);
    }

    #[test]
    fn discovery_never_fails() {
        let machine = machine_name();
        assert!(!machine.is_empty());
        for device in discover(&machine) {
            assert!(device.host.starts_with(&machine), "{device}");
        }
    }
}
