//! GPUs that are described: emulated ones, and parts of real ones.

use crate::device::{Device, DeviceKind};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Emulated GPUs on one pretended host: as many as most machines have, so that gangs of eight need two.
const GPUS_PER_HOST: u32 = 4;

/// Every emulated GPU may get a process on this machine; more is a mistake.
const MAX_EMULATED: u32 = 1024;

/// So many programs share one GPU at most, by NVIDIA's documentation of the service.
const MAX_PARTS: u32 = 48;

/// A name that fits on a line with others.
const MAX_NAME: usize = 64;

/// What is wrong with a description of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// There is nothing in it.
    #[error("no GPUs are given; write them as in `{0}`")]
    Empty(&'static str),
    /// A part is not of the right form.
    #[error("`{part}` is not understood; write it as in `{example}`")]
    Form {
        /// The part.
        part: String,
        /// What would be right.
        example: &'static str,
    },
    /// A name cannot be one.
    #[error(
        "`{0}` cannot be the name of a gpu type; take letters, digits, `-`, `_` and `.`, 64 at most"
    )]
    Name(String),
    /// A count is not a whole number from 1.
    #[error("`{count}` of `{name}` is not a number of GPUs; it must be a whole number from 1")]
    Count {
        /// The gpu type.
        name: String,
        /// As it was given.
        count: String,
    },
    /// A percentage is out of its range.
    #[error("`{percent}` of `{name}` is not a part of a GPU; it must be from 1% to 100%")]
    Percent {
        /// The gpu type.
        name: String,
        /// As it was given.
        percent: String,
    },
    /// A number of a GPU is none.
    #[error("`{ordinal}` of `{name}` is not the number of a GPU; they are numbered from 0")]
    Ordinal {
        /// The gpu type.
        name: String,
        /// As it was given.
        ordinal: String,
    },
    /// A name is there twice.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// There are too many.
    #[error("{given} GPUs are more than the {max} that can be emulated")]
    TooMany {
        /// How many there would be.
        given: u64,
        /// How many there may be.
        max: u32,
    },
    /// Parts of a GPU are more than the GPU.
    #[error("the parts of GPU {ordinal} add up to {percent}%; a GPU has 100%")]
    MoreThanWhole {
        /// The GPU.
        ordinal: u32,
        /// What they add up to.
        percent: u64,
    },
    /// A GPU has too many parts.
    #[error("GPU {ordinal} is divided into {parts} parts; {max} are possible")]
    TooManyParts {
        /// The GPU.
        ordinal: u32,
        /// How many there would be.
        parts: u64,
        /// How many there may be.
        max: u32,
    },
}

const EMULATED_EXAMPLE: &str = "rtx3070=8,rtx3090=4";
const MPS_EXAMPLE: &str = "small=4x8%,big=1x60%@0";

/// Emulated GPUs from a description such as `rtx3070=8,rtx3090=4`, four to a host.
pub fn emulated(spec: &str) -> Result<Vec<Device>, SpecError> {
    let mut seen = BTreeSet::new();
    let mut total: u64 = 0;
    let mut counts = Vec::new();
    for (name, count) in parts(spec, EMULATED_EXAMPLE)? {
        let count = whole(&name, count)?;
        if !seen.insert(name.clone()) {
            return Err(SpecError::Twice(name));
        }
        total += u64::from(count);
        counts.push((name, count));
    }
    if total > u64::from(MAX_EMULATED) {
        return Err(SpecError::TooMany { given: total, max: MAX_EMULATED });
    }
    let device = |name: &str, number: u32| Device {
        host: format!("{name}-{}", number / GPUS_PER_HOST),
        index: number % GPUS_PER_HOST,
        gpu_type: name.to_string(),
        kind: DeviceKind::Emulated,
    };
    let all = counts.iter().flat_map(|(name, count)| (0..*count).map(|n| device(name, n)));
    Ok(all.collect())
}

/// Parts of this machine's GPUs from a description such as `small=4x8%,big=1x60%@0`: a name, how many,
/// how much of the GPU each has, and the number of the GPU (0 if none is given).
pub fn mps(spec: &str, machine: &str) -> Result<Vec<Device>, SpecError> {
    let mut seen = BTreeSet::new();
    let mut used: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut next: BTreeMap<String, (u32, u8)> = BTreeMap::new();
    let mut devices = Vec::new();
    for (name, value) in parts(spec, MPS_EXAMPLE)? {
        let part = Part::parse(&name, value)?;
        let is_new = seen.insert((name.clone(), part.ordinal));
        let (index, percent) = next.entry(name.clone()).or_insert((0, part.percent));
        if !is_new || *percent != part.percent {
            return Err(SpecError::Twice(name));
        }
        let (parts, percents) = used.entry(part.ordinal).or_default();
        *parts += u64::from(part.count);
        *percents += u64::from(part.count) * u64::from(part.percent);
        check_use(part.ordinal, *parts, *percents)?;
        for _ in 0..part.count {
            let kind = DeviceKind::Mps { ordinal: part.ordinal, percent: part.percent };
            let host = format!("{machine}-{name}");
            devices.push(Device { host, index: *index, gpu_type: name.clone(), kind });
            *index += 1;
        }
    }
    Ok(devices)
}

fn check_use(ordinal: u32, parts: u64, percent: u64) -> Result<(), SpecError> {
    if percent > 100 {
        return Err(SpecError::MoreThanWhole { ordinal, percent });
    }
    if parts > u64::from(MAX_PARTS) {
        return Err(SpecError::TooManyParts { ordinal, parts, max: MAX_PARTS });
    }
    Ok(())
}

/// One term of a description of parts.
struct Part {
    count: u32,
    percent: u8,
    ordinal: u32,
}

impl Part {
    fn parse(name: &str, value: &str) -> Result<Part, SpecError> {
        let form = || SpecError::Form { part: format!("{name}={value}"), example: MPS_EXAMPLE };
        let (size, ordinal) = value.split_once('@').unwrap_or((value, "0"));
        let (count, percent) = size.split_once('x').ok_or_else(form)?;
        let number = percent.trim().strip_suffix('%').ok_or_else(form)?;
        let number = number.trim().parse::<u8>().ok().filter(|part| (1..=100).contains(part));
        let percent = number.ok_or_else(|| SpecError::Percent {
            name: name.to_string(),
            percent: percent.trim().to_string(),
        })?;
        let ordinal = ordinal.trim().parse().map_err(|_| SpecError::Ordinal {
            name: name.to_string(),
            ordinal: ordinal.trim().to_string(),
        })?;
        Ok(Part { count: whole(name, count)?, percent, ordinal })
    }
}

/// `name=value` terms between commas, with names that can be names.
fn parts<'a>(spec: &'a str, example: &'static str) -> Result<Vec<(String, &'a str)>, SpecError> {
    if spec.trim().is_empty() {
        return Err(SpecError::Empty(example));
    }
    let mut found = Vec::new();
    for part in spec.split(',') {
        let form = || SpecError::Form { part: part.trim().to_string(), example };
        let (name, value) = part.split_once('=').ok_or_else(form)?;
        let name = name.trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            return Err(SpecError::Name(name.to_string()));
        }
        found.push((name.to_string(), value.trim()));
    }
    Ok(found)
}

fn whole(name: &str, count: &str) -> Result<u32, SpecError> {
    let number = count.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let count = count.trim().to_string();
    number.ok_or(SpecError::Count { name: name.to_string(), count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_emulated_gpus_to_a_host() {
        let devices = emulated("slow=5, fast=1").expect("devices");
        let shown: Vec<String> = devices.iter().map(Device::to_string).collect();
        assert_eq!(shown, ["slow-0:0", "slow-0:1", "slow-0:2", "slow-0:3", "slow-1:0", "fast-0:0"]);
        assert_eq!(devices[5].gpu_type, "fast");
        assert_eq!(emulated("rtx3070=8,rtx3080=8,rtx3090=8").expect("devices").len(), 24);
    }

    #[test]
    fn parts_of_gpus() {
        let devices = mps("small=2x8%,big=1x40%@1,small=1x8%@1", "box").expect("devices");
        let shown: Vec<String> = devices.iter().map(Device::to_string).collect();
        assert_eq!(shown, ["box-small:0", "box-small:1", "box-big:0", "box-small:2"]);
        assert_eq!(devices[2].kind, DeviceKind::Mps { ordinal: 1, percent: 40 });
        assert_eq!(devices[3].kind, DeviceKind::Mps { ordinal: 1, percent: 8 });
    }

    #[test]
    fn bad_descriptions_say_what_is_wrong() {
        let cases = [
            ("", "no GPUs are given; write them as in `rtx3070=8,rtx3090=4`"),
            ("rtx3070", "`rtx3070` is not understood; write it as in `rtx3070=8,rtx3090=4`"),
            ("a=1,", "`` is not understood; write it as in `rtx3070=8,rtx3090=4`"),
            ("a=0", "`0` of `a` is not a number of GPUs; it must be a whole number from 1"),
            ("a=-1", "`-1` of `a` is not a number of GPUs; it must be a whole number from 1"),
            ("a=1,a=2", "`a` is given twice"),
            ("a=1000,b=1000", "2000 GPUs are more than the 1024 that can be emulated"),
            (
                "a b=1",
                "`a b` cannot be the name of a gpu type; take letters, digits, `-`, `_` and `.`, \
                 64 at most",
            ),
        ];
        for (spec, message) in cases {
            assert_eq!(emulated(spec).expect_err(spec).to_string(), message);
        }
        let cases = [
            ("a=4", "`a=4` is not understood; write it as in `small=4x8%,big=1x60%@0`"),
            ("a=4x8", "`a=4x8` is not understood; write it as in `small=4x8%,big=1x60%@0`"),
            ("a=4x0%", "`0%` of `a` is not a part of a GPU; it must be from 1% to 100%"),
            ("a=1x8%@x", "`x` of `a` is not the number of a GPU; they are numbered from 0"),
            ("a=0x8%", "`0` of `a` is not a number of GPUs; it must be a whole number from 1"),
            ("a=2x40%,b=1x30%", "the parts of GPU 0 add up to 110%; a GPU has 100%"),
            ("a=50x1%", "GPU 0 is divided into 50 parts; 48 are possible"),
            ("a=1x8%,a=1x8%", "`a` is given twice"),
            ("a=1x8%,a=1x9%@1", "`a` is given twice"),
        ];
        for (spec, message) in cases {
            assert_eq!(mps(spec, "box").expect_err(spec).to_string(), message);
        }
    }
}
