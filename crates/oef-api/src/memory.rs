//! Sizes of GPU memory as people write them.

use std::collections::BTreeMap;

/// More than any GPU has, in GiB.
const MEMORY_MAX: f64 = 1e6;

/// A size such as `20G`, `20GiB`, `16384M` or `20`, in GiB.
pub fn gibibytes(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a size of memory; write it as in 20G or 512M");
    let lower = text.trim().to_ascii_lowercase();
    let plain = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, unit) = match plain.strip_suffix('g') {
        Some(number) => (number, 1.0),
        None => match plain.strip_suffix('m') {
            Some(number) => (number, 1.0 / 1024.0),
            None => (plain, 1.0),
        },
    };
    let size = number.trim().parse::<f64>().map_err(|_| wrong())? * unit;
    is_memory(size).then_some(size).ok_or_else(wrong)
}

/// Whether a GPU can have so many GiB.
pub fn is_memory(gib: f64) -> bool {
    gib > 0.0 && gib <= MEMORY_MAX
}

/// The same in MiB, rounded up.
pub fn mebibytes(gib: f64) -> u32 {
    (gib * 1024.0).ceil() as u32
}

/// The memory of GPUs by type, as in `fast=24G,slow=11G`, in MiB; the empty text: of none.
pub fn by_type(text: &str) -> Result<BTreeMap<String, u32>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let wrong =
                || format!("`{part}` is not a gpu type with its memory; write it as in fast=24G");
            let (name, size) = part.split_once('=').ok_or_else(wrong)?;
            let name = name.trim();
            if name.is_empty() {
                return Err(wrong());
            }
            Ok((name.to_string(), mebibytes(gibibytes(size)?)))
        })
        .collect()
}

/// The reverse of [`by_type`].
pub fn as_text(memory: &BTreeMap<String, u32>) -> String {
    let parts: Vec<String> =
        memory.iter().map(|(name, &size)| format!("{name}={}", shown(size))).collect();
    parts.join(",")
}

/// A size in MiB for people: `24G`, or `11000M` where it is no whole number of GiB.
pub fn shown(mib: u32) -> String {
    match mib.is_multiple_of(1024) {
        true => format!("{}G", mib / 1024),
        false => format!("{mib}M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = ["20G", "20g", "20GiB", "20 GB", "20", "20480M", "20480MiB"].map(gibibytes);
        assert!(read.iter().all(|size| *size == Ok(20.0)), "{read:?}");
        for wrong in ["", "G", "twenty", "-1G", "0", "nan", "inf", "20T", "1e9G"] {
            assert!(gibibytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_memory_of_types_is_read_and_written() {
        let read = by_type(" slow=11G, fast = 24576M,odd=1000M ").expect("three types");
        assert_eq!(as_text(&read), "fast=24G,odd=1000M,slow=11G");
        assert_eq!(by_type(&as_text(&read)), Ok(read));
        assert_eq!(by_type(""), Ok(BTreeMap::new()));
        for wrong in ["fast", "=24G", "fast=much"] {
            assert!(by_type(wrong).is_err(), "{wrong}");
        }
    }
}
