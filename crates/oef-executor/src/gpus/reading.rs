//! What the GPUs of this machine do, as their driver tells: how busy they are, and how much of their memory is used.
//!
//! A driver may hang in any call, and nobody can interrupt it. So it is asked on a thread of its own that holds nothing
//! that others need, and that nobody waits for.

use crate::device::{Device, DeviceId, DeviceKind};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::Duration;
use tracing::{debug, warn};

/// What one GPU does. A figure that the driver does not tell is none.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReading {
    /// The GPU. Parts of one GPU have the figures of the whole.
    pub device: DeviceId,
    /// The part of the last moment in which it computed, from 0 to 1.
    pub utilisation: Option<f64>,
    /// Bytes of its memory that are used.
    pub memory_used: Option<u64>,
    /// Bytes of memory that it has.
    pub memory_total: Option<u64>,
}

/// A GPU of the machine, as its driver finds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Physical {
    Uuid(String),
    Ordinal(u32),
}

/// Reads the real GPUs among these every so often, and tells what each of them does until `tell` says that nobody
/// listens. Nothing happens where there is none, or no time is given.
pub(crate) fn begin(
    devices: &[Device],
    every: Duration,
    tell: impl Fn(Vec<GpuReading>) -> bool + Send + 'static,
) -> io::Result<()> {
    let physical = by_gpu(devices);
    if physical.is_empty() || every.is_zero() {
        return Ok(());
    }
    let reader = move || {
        let mut reader = Reader { physical, nvml: None, troubles: BTreeMap::new() };
        while let Some(readings) = reader.read() {
            if !tell(readings) {
                return;
            }
            thread::sleep(every);
        }
    };
    thread::Builder::new().name("gpu figures".into()).spawn(reader).map(drop)
}

fn by_gpu(devices: &[Device]) -> BTreeMap<Physical, Vec<DeviceId>> {
    let mut physical: BTreeMap<Physical, Vec<DeviceId>> = BTreeMap::new();
    for device in devices {
        let gpu = match &device.kind {
            DeviceKind::Real { uuid, .. } => Physical::Uuid(uuid.clone()),
            DeviceKind::Mps { ordinal, .. } => Physical::Ordinal(*ordinal),
            DeviceKind::Allocated | DeviceKind::Emulated => continue,
        };
        physical.entry(gpu).or_default().push(device.id());
    }
    physical
}

struct Reader {
    physical: BTreeMap<Physical, Vec<DeviceId>>,
    /// The driver's library, once it works.
    nvml: Option<Nvml>,
    /// What the log has been told of each GPU; of none: of the library.
    troubles: BTreeMap<Option<Physical>, String>,
}

impl Reader {
    /// All GPUs; none: there is no library, and there will be none.
    fn read(&mut self) -> Option<Vec<GpuReading>> {
        let nvml = match self.nvml.take().map_or_else(Nvml::init, Ok) {
            Ok(nvml) => nvml,
            Err(NvmlError::LibloadingError(error)) => {
                debug!(%error, "no figures of GPUs: NVML is not there");
                return None;
            }
            Err(error) => {
                self.tell_once(None, &error);
                return Some(self.unknown());
            }
        };
        self.troubles.remove(&None);
        let (mut all, mut is_alive) = (Vec::new(), false);
        for (gpu, devices) in self.physical.clone() {
            let figures = look(&nvml, &gpu);
            match &figures.trouble {
                Some(error) => self.tell_once(Some(gpu), error),
                None => drop(self.troubles.remove(&Some(gpu))),
            }
            is_alive |= figures.is_there;
            all.extend(devices.into_iter().map(|device| figures.of(device)));
        }
        // After the driver was loaded again a library that was opened before finds nothing.
        self.nvml = is_alive.then_some(nvml);
        Some(all)
    }

    fn unknown(&self) -> Vec<GpuReading> {
        let devices = self.physical.values().flatten();
        devices.map(|device| Figures::default().of(device.clone())).collect()
    }

    /// The same trouble is told once, until it is over.
    fn tell_once(&mut self, gpu: Option<Physical>, error: &NvmlError) {
        let text = error.to_string();
        if self.troubles.get(&gpu) != Some(&text) {
            match &gpu {
                Some(gpu) => warn!(?gpu, error = text, "a GPU does not tell what it does"),
                None => warn!(error = text, "the driver does not tell what the GPUs do"),
            }
            self.troubles.insert(gpu, text);
        }
    }
}

#[derive(Debug, Default)]
struct Figures {
    /// The driver finds it.
    is_there: bool,
    utilisation: Option<f64>,
    memory: Option<(u64, u64)>,
    trouble: Option<NvmlError>,
}

impl Figures {
    fn of(&self, device: DeviceId) -> GpuReading {
        GpuReading {
            device,
            utilisation: self.utilisation,
            memory_used: self.memory.map(|(used, _)| used),
            memory_total: self.memory.map(|(_, total)| total),
        }
    }
}

fn look(nvml: &Nvml, gpu: &Physical) -> Figures {
    let found = match gpu {
        Physical::Uuid(uuid) => nvml.device_by_uuid(uuid.as_str()),
        Physical::Ordinal(ordinal) => nvml.device_by_index(*ordinal),
    };
    let device = match found {
        Ok(device) => device,
        Err(error) => return Figures { trouble: Some(error), ..Figures::default() },
    };
    let mut figures = Figures { is_there: true, ..Figures::default() };
    match device.utilization_rates() {
        Ok(rates) => figures.utilisation = Some(f64::from(rates.gpu.min(100)) / 100.0),
        Err(error) => figures.trouble = Some(error),
    }
    match device.memory_info() {
        Ok(memory) => figures.memory = Some((memory.used.min(memory.total), memory.total)),
        Err(error) => figures.trouble = Some(error),
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpus::{emulated, mps};

    #[test]
    fn parts_of_a_gpu_are_read_together_and_emulated_ones_never() {
        let parts = mps("small=2x8%,big=1x40%@1,other=1x8%@0", "box").expect("devices");
        let by_gpu = by_gpu(&parts);
        let of = |ordinal| by_gpu[&Physical::Ordinal(ordinal)].iter().map(ToString::to_string);
        assert_eq!(of(0).collect::<Vec<_>>(), ["box-small:0", "box-small:1", "box-other:0"]);
        assert_eq!(of(1).collect::<Vec<_>>(), ["box-big:0"]);
        assert!(super::by_gpu(&emulated("a=4").expect("devices")).is_empty());
    }
}
