//! The few functions that sampling needs, from the four operations alone. Those of the platform may differ
//! in the last digit from machine to machine, and a digit is enough to change a generated file.

/// ln(2).
const LN_2: f64 = std::f64::consts::LN_2;

/// The natural logarithm of a positive, finite number; right to about 1e-15 relative.
pub fn ln(x: f64) -> f64 {
    debug_assert!(x > 0.0 && x.is_finite());
    let bits = x.to_bits();
    let raw = (bits >> 52) as i64;
    if raw == 0 {
        // Too small to have an exponent of its own.
        return ln(x * 2f64.powi(60)) - 60.0 * LN_2;
    }
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    // Around 1, where the series is short.
    let (m, e) = if mantissa > std::f64::consts::SQRT_2 {
        (mantissa / 2.0, raw - 1022)
    } else {
        (mantissa, raw - 1023)
    };
    // ln(m) = 2 artanh(t), |t| < 0.172.
    let t = (m - 1.0) / (m + 1.0);
    let (square, mut term, mut sum) = (t * t, t, 0.0);
    for k in 0..12 {
        sum += term / f64::from(2 * k + 1);
        term *= square;
    }
    2.0 * sum + e as f64 * LN_2
}

/// e to the power of `x`; 0 or infinity beyond the range of doubles.
pub fn exp(x: f64) -> f64 {
    if !(-745.0..=709.0).contains(&x) {
        return if x < 0.0 { 0.0 } else { f64::INFINITY };
    }
    let k = (x / LN_2).round();
    let r = x - k * LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..=16 {
        term *= r / f64::from(n);
        sum += term;
    }
    // In two steps, since 2^k alone may be out of range.
    let half = (k / 2.0).trunc();
    sum * power_of_two(half) * power_of_two(k - half)
}

/// `x` to the power of `y`, for positive `x`.
pub fn pow(x: f64, y: f64) -> f64 {
    exp(y * ln(x))
}

/// The sine of a turn: 0 at 0, 1 at a quarter.
pub fn sine_of_turn(turns: f64) -> f64 {
    let x = (turns - turns.floor()) * 2.0 - 1.0; // -1..1, and sin(2 pi t) = -sin(pi x)
    let folded = if x > 0.5 {
        1.0 - x
    } else if x < -0.5 {
        -1.0 - x
    } else {
        x
    };
    let a = folded * std::f64::consts::PI;
    let (mut term, mut sum) = (a, a);
    for n in 1..=9 {
        term *= -a * a / f64::from((2 * n) * (2 * n + 1));
        sum += term;
    }
    -sum
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

fn power_of_two(k: f64) -> f64 {
    let exponent = (k as i64 + 1023).clamp(1, 2046) as u64;
    f64::from_bits(exponent << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_platform() {
        let close = |a: f64, b: f64| (a - b).abs() <= 4e-14 * (1.0 + b.abs());
        for i in 1..2000 {
            let x = f64::from(i) * 0.37;
            assert!(close(ln(x), x.ln()), "ln {x}");
            assert!(close(ln(1.0 / x), (1.0 / x).ln()), "ln 1/{x}");
            let y = f64::from(i - 1000) * 0.3;
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-12, "exp {y}");
            let turn = f64::from(i - 1000) * 0.013;
            assert!((sine_of_turn(turn) - (turn * std::f64::consts::TAU).sin()).abs() < 1e-11);
        }
        assert!(close(ln(5e-324), 5e-324_f64.ln()));
        assert_eq!((exp(-1e9), exp(1e9)), (0.0, f64::INFINITY));
    }

    #[test]
    fn the_normal_quantile_is_that_of_the_tables() {
        for (p, z) in
            [(0.5, 0.0), (0.9, 1.2815515655), (0.975, 1.9599639845), (0.001, -3.0902323062)]
        {
            assert!((normal_quantile(p) - z).abs() < 1e-7, "{p}");
        }
    }
}
