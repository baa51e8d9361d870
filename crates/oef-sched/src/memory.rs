//! How much memory the GPUs of a type have, in MiB.

use crate::settings::Settings;

/// What products have, in GiB. Types with more or less of it say so at the end of their name (`a100-80gb`).
const USUAL: [(&str, u32); 37] = [
    ("a10", 24),
    ("a100", 40),
    ("a2", 16),
    ("a30", 24),
    ("a40", 48),
    ("a800", 80),
    ("b200", 180),
    ("gtx1080ti", 11),
    ("h100", 80),
    ("h200", 140),
    ("h800", 80),
    ("k80", 12),
    ("l4", 24),
    ("l40", 48),
    ("l40s", 48),
    ("m60", 8),
    ("p100", 16),
    ("p4", 8),
    ("p40", 24),
    ("rtx2080", 8),
    ("rtx2080ti", 11),
    ("rtx3060", 12),
    ("rtx3070", 8),
    ("rtx3080", 10),
    ("rtx3080ti", 12),
    ("rtx3090", 24),
    ("rtx3090ti", 24),
    ("rtx4070", 12),
    ("rtx4080", 16),
    ("rtx4090", 24),
    ("rtx5080", 16),
    ("rtx5090", 32),
    ("rtx6000ada", 48),
    ("rtxa5000", 24),
    ("rtxa6000", 48),
    ("t4", 16),
    ("v100", 16),
];

/// The memory of a GPU of a type as its name tells it: `a100` has 40 GiB, `a100-80gb` 80. `None`: it does not.
pub fn usual_memory(gpu_type: &str) -> Option<u32> {
    let name = gpu_type.to_ascii_lowercase();
    let told = name.split('-').find_map(|word| word.strip_suffix("gb")?.parse::<u32>().ok());
    let first = name.split('-').next().unwrap_or_default();
    let usual = || USUAL.iter().find(|(known, _)| *known == first).map(|&(_, memory)| memory);
    told.or_else(usual)?.checked_mul(1024)
}

impl Settings {
    /// The memory of a GPU of a type: as the operator says, else as its name tells it. `None`: nobody knows.
    pub fn memory_of(&self, gpu_type: &str) -> Option<u32> {
        self.gpu_memory.get(gpu_type).copied().or_else(|| usual_memory(gpu_type))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_memory() {
        let cases = [
            ("a100", Some(40)),
            ("a100-80gb", Some(80)),
            ("RTX3090", Some(24)),
            ("h100-pcie", Some(80)),
            ("h100-nvl-94gb", Some(94)),
            ("fast", None),
            ("gb", None),
            ("x-99999999gb", None),
            ("", None),
        ];
        for (name, memory) in cases {
            assert_eq!(usual_memory(name), memory.map(|gib| gib * 1024), "{name}");
        }
        let mut settings = Settings::default();
        settings.gpu_memory.insert("fast".into(), 11_000);
        settings.gpu_memory.insert("a100".into(), 81_920);
        assert_eq!(
            [settings.memory_of("fast"), settings.memory_of("a100")],
            [Some(11_000), Some(81_920)]
        );
        assert_eq!([settings.memory_of("slow"), settings.memory_of("t4")], [None, Some(16_384)]);
    }
}
