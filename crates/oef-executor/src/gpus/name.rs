//! From the name of a product to the name of a gpu type.

/// Words that say nothing about how fast a GPU is, or nothing that its number does not say.
const NOISE: [&str; 13] = [
    "nvidia",
    "tesla",
    "geforce",
    "quadro",
    "gpu",
    "generation",
    "edition",
    "server",
    "workstation",
    "graphics",
    "pcie",
    "with",
    "design",
];

/// Words that make another type of the same number.
const VARIANTS: [&str; 4] = ["nvl", "laptop", "mobile", "maxq"];

/// The memory that goes without saying, in GB; more or less of it makes another type.
const USUAL_MEMORY: [(&str, &str); 9] = [
    ("p100", "16gb"),
    ("v100", "16gb"),
    ("v100s", "32gb"),
    ("a100", "40gb"),
    ("a800", "80gb"),
    ("h100", "80gb"),
    ("h800", "80gb"),
    ("h200", "141gb"),
    ("gh200", "480gb"),
];

/// Whose PCIe cards are much slower than those on a board.
const SLOWER_AS_CARD: [&str; 2] = ["h100", "h800"];

/// A gpu type by the name of the product: `NVIDIA GeForce RTX 3090` is an `rtx3090`, an
/// `NVIDIA A100-SXM4-80GB` is an `a100-80gb`.
pub fn type_name(product: &str) -> String {
    let lower = product.to_ascii_lowercase().replace("max-q", "maxq");
    let is_split = |c: char| !c.is_ascii_alphanumeric();
    let words: Vec<&str> = lower.split(is_split).filter(|word| !word.is_empty()).collect();
    let (mut name, mut suffixes) = (String::new(), Vec::new());
    for word in &words {
        if VARIANTS.contains(word) || is_memory(word) {
            suffixes.push(*word);
        } else if !NOISE.contains(word) && !is_board(word) {
            name.push_str(word);
        }
    }
    if name.is_empty() {
        return "gpu".to_string();
    }
    if words.contains(&"pcie") && SLOWER_AS_CARD.contains(&name.as_str()) {
        suffixes.insert(0, "pcie");
    }
    let usual = USUAL_MEMORY.iter().find(|(known, _)| *known == name).map(|(_, memory)| *memory);
    let told = suffixes.into_iter().filter(|word| Some(*word) != usual);
    let parts: Vec<&str> = [name.as_str()].into_iter().chain(told).collect();
    parts.join("-")
}

/// Such as `80gb`.
fn is_memory(word: &str) -> bool {
    let number = word.strip_suffix("gb");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// How the GPU or its memory is mounted, such as `sxm4` or `hbm3`.
fn is_board(word: &str) -> bool {
    ["sxm", "hbm"].iter().any(|kind| word.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::type_name;

    #[test]
    fn products() {
        let cases = [
            ("NVIDIA H200", "h200"),
            ("NVIDIA H200 NVL", "h200-nvl"),
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("NVIDIA H100 PCIe", "h100-pcie"),
            ("NVIDIA H100 NVL", "h100-nvl"),
            ("NVIDIA B200", "b200"),
            ("NVIDIA GH200 480GB", "gh200"),
            ("NVIDIA A100-SXM4-40GB", "a100"),
            ("NVIDIA A100-SXM4-80GB", "a100-80gb"),
            ("NVIDIA A100 80GB PCIe", "a100-80gb"),
            ("A100-PCIE-40GB", "a100"),
            ("Tesla V100-SXM2-16GB", "v100"),
            ("Tesla V100-SXM2-32GB", "v100-32gb"),
            ("Tesla V100S-PCIE-32GB", "v100s"),
            ("Tesla P100-PCIE-16GB", "p100"),
            ("Tesla P100-PCIE-12GB", "p100-12gb"),
            ("Tesla T4", "t4"),
            ("Tesla K80", "k80"),
            ("NVIDIA L4", "l4"),
            ("NVIDIA L40S", "l40s"),
            ("NVIDIA A10G", "a10g"),
            ("NVIDIA GeForce RTX 3070", "rtx3070"),
            ("NVIDIA GeForce RTX 3080 Ti", "rtx3080ti"),
            ("NVIDIA GeForce RTX 3090", "rtx3090"),
            ("GeForce GTX 1080 Ti", "gtx1080ti"),
            ("NVIDIA GeForce RTX 4090 D", "rtx4090d"),
            ("NVIDIA GeForce RTX 4060 Laptop GPU", "rtx4060-laptop"),
            ("NVIDIA GeForce RTX 2070 with Max-Q Design", "rtx2070-maxq"),
            ("NVIDIA RTX A6000", "rtxa6000"),
            ("NVIDIA RTX 6000 Ada Generation", "rtx6000ada"),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtxpro6000blackwell"),
            ("Quadro RTX 8000", "rtx8000"),
            ("NVIDIA TITAN RTX", "titanrtx"),
            ("NVIDIA", "gpu"),
            ("", "gpu"),
        ];
        for (product, expected) in cases {
            assert_eq!(type_name(product), expected, "{product}");
        }
    }
}
