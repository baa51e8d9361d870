//! How fast a model runs on a gpu type, as far as the demonstration is concerned.

/// Known gpu types, slowest first for most models.
const TYPES: [&str; 12] = [
    "k80",
    "p100",
    "t4",
    "v100",
    "rtx3070",
    "rtx3080",
    "rtx3090",
    "l4",
    "a100",
    "a100-80gb",
    "h100",
    "h200",
];

/// Speeds by model in the order of [`TYPES`], relative to the slowest. Rounded, and only for show:
/// what matters is that models gain differently from the same GPUs.
const MODELS: [(&str, [f64; 12]); 4] = [
    ("vgg16", [1.0, 2.8, 1.9, 4.0, 3.2, 3.9, 4.5, 3.0, 7.5, 7.9, 12.0, 13.5]),
    ("resnet50", [1.0, 3.1, 2.4, 5.2, 3.6, 4.9, 5.8, 4.1, 10.0, 10.4, 17.0, 18.2]),
    ("lstm", [1.0, 1.7, 1.3, 2.2, 1.9, 2.1, 2.4, 1.8, 3.1, 3.2, 4.2, 4.4]),
    ("transformer", [1.0, 2.4, 2.6, 6.1, 4.2, 5.9, 7.0, 5.0, 15.0, 16.0, 33.0, 38.0]),
];

/// The speed of a model on a gpu type; always more than 0. What is not in the table gets a speed
/// between 1 and 3 by its name, the same every time.
pub fn speed(model: &str, gpu_type: &str) -> f64 {
    let column = TYPES.iter().position(|known| *known == gpu_type);
    let row = MODELS.iter().find(|(known, _)| *known == model);
    match (row, column) {
        (Some((_, speeds)), Some(column)) => speeds[column],
        _ => 1.0 + 2.0 * fraction(&[model, "/", gpu_type].concat()),
    }
}

/// A number from 0 to 1 that depends on the text alone (FNV-1a).
fn fraction(text: &str) -> f64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The upper bits are the better mixed ones.
    (hash >> 40) as f64 / (1u64 << 24) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_known_or_stable() {
        assert_eq!(speed("vgg16", "rtx3090"), 4.5);
        assert_eq!(speed("transformer", "h200"), 38.0);
        for (model, gpu_type) in [("vgg16", "slow"), ("vgg16", "fast"), ("mine", "h200"), ("", "")]
        {
            let value = speed(model, gpu_type);
            assert!((1.0..=3.0).contains(&value), "{model} on {gpu_type}: {value}");
            assert_eq!(value, speed(model, gpu_type));
        }
        assert_ne!(speed("vgg16", "slow"), speed("vgg16", "fast"));
    }
}
