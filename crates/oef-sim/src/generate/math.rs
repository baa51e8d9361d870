//! The few functions that sampling needs. Those of the platform may differ in the last digit from machine to machine,
//! and a digit is enough to change a generated file; `libm` computes with the four operations alone.

pub use libm::{exp, log as ln, pow};

/// The sine of a turn: 0 at 0, 1 at a quarter.
pub fn sine_of_turn(turns: f64) -> f64 {
    libm::sin((turns - turns.floor()) * std::f64::consts::TAU)
}

/// The number below which a normal variable stays with probability `p`, by Acklam's rational approximation:
/// right to 1.2e-9 relative, far better than any sample can tell.
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const LOW: f64 = 0.02425;
    let p = p.clamp(1e-300, 1.0 - 1e-16);
    let poly = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, a| sum * x + a);
    let tail = |p: f64| {
        let q = (-2.0 * ln(p)).sqrt();
        poly(&C, q) / poly(&D, q)
    };
    if p < LOW {
        return tail(p);
    }
    if p > 1.0 - LOW {
        return -tail(1.0 - p);
    }
    let q = p - 0.5;
    q * poly(&A, q * q) / poly(&B, q * q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_is_that_of_the_tables() {
        for (p, z) in
            [(0.5, 0.0), (0.9, 1.2815515655), (0.975, 1.9599639845), (0.001, -3.0902323062)]
        {
            assert!((normal_quantile(p) - z).abs() < 1e-7, "{p}");
        }
    }
}
