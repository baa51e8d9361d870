//! How far chance alone may take what is seen from what is true.

/// A run, or a window, of an honest job is up to 20 % faster or slower than usual: by temperature, neighbours,
/// input. Two of them are apart by `ln(1.2 / 0.8)` at most, rounded up.
const LUCK: f64 = 0.4055;

/// `sqrt(ln(1 / 1e-6) / 2)`: one look at an honest workload in a million may be wrong (there are thousands of
/// looks in its life, most of them at the same evidence as the look before). Times 4/3: a mean without the
/// eighths at its ends moves by so much more than a plain one where the noise has two modes.
const DEVIATIONS: f64 = 3.504_35;

/// Below a tenth nobody gains anything worth a word.
const LEAST: f64 = 0.095_310_179_804_324_86;

/// Gangs of several workers lose to the network, and not the same part on each gpu type, while the profile
/// is of one worker: another quarter, `ln(1.25)`.
const GANGS: f64 = 0.223_143_551_314_209_7;

/// What the noise itself is like counts only from so many differences on: fewer may agree by chance (twenty
/// throws of a coin are alike once in a million).
const DIFFERENCES_MIN: u32 = 20;
/// Noise of two modes has half of their distance as its deviation: [`LUCK`] is twice that. The rest is for a
/// deviation that is itself a guess.
const PER_DEVIATION: f64 = 2.3;

/// How much chance there may be in a ratio: in its runs, or in its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Basis {
    /// `1 / (1/n + 1/m)` for `n` on one side and `m` on the other, summed over groups.
    pub weight: f64,
    /// The squares of the differences between those that should be alike...
    pub squares: f64,
    /// ... and of how many.
    pub differences: u32,
}

impl Basis {
    fn chance(&self) -> f64 {
        let by_number = DEVIATIONS / self.weight.sqrt();
        let known = LUCK * by_number.min(1.0);
        if self.differences < DIFFERENCES_MIN {
            return known;
        }
        let deviation = (self.squares / f64::from(self.differences)).sqrt();
        known.min(PER_DEVIATION * deviation * by_number)
    }
}

/// The tolerance for a logarithm of a ratio that rests on these runs and windows, with this part of it from
/// gangs.
pub(super) fn tolerance(runs: &Basis, windows: &Basis, gangs: f64) -> f64 {
    (runs.chance() + windows.chance()).max(LEAST) + GANGS * gangs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_each(count: f64) -> Basis {
        Basis { weight: count / 2.0, ..Basis::default() }
    }

    #[test]
    fn more_evidence_narrows_it() {
        // Runs and windows on each of the two types, and the factor that is tolerated.
        let cases =
            [(1.0, 4.0, 2.25), (1.0, 48.0, 2.01), (30.0, 600.0, 1.57), (64.0, 3000.0, 1.33)];
        for (runs, windows, expected) in cases {
            let factor = tolerance(&on_each(runs), &on_each(windows), 0.0).exp();
            assert!((factor - expected).abs() < 0.01, "{runs} runs: {factor}");
        }
        let much = on_each(1e9);
        assert!(tolerance(&much, &much, 0.0) == LEAST && tolerance(&much, &much, 1.0) > 0.3);
    }

    #[test]
    fn runs_that_agree_narrow_it_sooner() {
        let windows = on_each(1e9);
        let runs = |squares, differences| Basis { weight: 5.0, squares, differences };
        let factor = |squares, differences| tolerance(&runs(squares, differences), &windows, 0.0);
        let by_number = factor(0.0, 19);
        assert!(factor(0.0, 20) == LEAST && by_number > 0.4);
        assert!((0.11..0.25).contains(&factor(20.0 * 0.05 * 0.05, 20)));
        assert_eq!(factor(20.0, 20), by_number, "no wider than the noise that is granted");
    }
}
