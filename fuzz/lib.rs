//! What all targets share.

/// Gives the bytes to what reads them.
pub fn read(name: &str, bytes: &[u8]) {
    let target = oef_lab::fuzz::TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of oef-lab").read)(bytes);
}
