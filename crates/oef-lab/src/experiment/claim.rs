//! One sentence of the paper with its figure, ours beside it, and whether it holds.

use oef_report::format;
use serde::Serialize;

/// A figure of the paper beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What is measured.
    pub text: String,
    /// What the paper says, in words.
    pub said: String,
    /// The paper's figure, where it prints one.
    pub paper: Option<f64>,
    /// What we measured.
    pub ours: Spread,
    /// What the figures count.
    pub quantity: Quantity,
    /// How the verdict follows from the figures.
    pub rule: Rule,
    /// Whether the verdict of the experiment depends on this one; others stand beside for comparison.
    pub counts: bool,
    /// Whether it holds.
    pub verdict: Verdict,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// A change, 0.1 for 10 % more.
    Change,
    /// A part of one.
    Fraction,
    /// How many times as much.
    Ratio,
    /// Seconds.
    Seconds,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// The direction is right, the size is not.
    HoldsInPart,
    /// It does not.
    DoesNotHold,
    /// The paper says nothing about it.
    Beyond,
}

/// How a verdict follows from the median over all draws. A claim of a direction holds at most in part when more
/// than a quarter of the draws point the other way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The paper's effect, a difference from `none`: holds with the same sign and at least half of its size, in
    /// part with the same sign and at least a tenth of it.
    Effect {
        /// The figure that would mean no effect: 0 for changes, 1 for ratios.
        none: f64,
    },
    /// Only a direction: holds beyond one per cent, in part beyond nothing.
    Sign {
        /// Whether it goes up.
        up: bool,
    },
    /// As good as equal to a figure: holds within the first bound, in part within the second.
    Near {
        /// The figure.
        to: f64,
        /// The bound to hold.
        within: f64,
        /// The bound to hold in part.
        part: f64,
    },
    /// No less than a figure: holds from the first bound on, in part from the second on.
    AtLeast {
        /// The bound to hold.
        bound: f64,
        /// The bound to hold in part.
        part: f64,
    },
    /// No more than a figure: holds up to the first bound, in part up to the second.
    AtMost {
        /// The bound to hold.
        bound: f64,
        /// The bound to hold in part.
        part: f64,
    },
    /// The paper has no figure to compare with.
    None,
}

/// A figure over several draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// How many draws there were.
    pub draws: usize,
    /// The part of the draws above 0, and above 1.
    #[serde(skip)]
    sides: [f64; 2],
}

impl Spread {
    /// Of some figures; those that are no numbers are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
            return Spread { median: f64::NAN, low: f64::NAN, high: f64::NAN, ..Spread::default() };
        };
        let n = sorted.len();
        let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        let part = |keep: &dyn Fn(f64) -> bool| {
            sorted.iter().filter(|v| keep(**v)).count() as f64 / n as f64
        };
        let sides = [part(&|v| v > 0.0), part(&|v| v > 1.0)];
        Spread { median, low, high, draws: n, sides }
    }

    /// The part of the draws above `none` (0 or 1) if `up`, else of those not above.
    fn agreeing(&self, none: f64, up: bool) -> f64 {
        let above = if none == 1.0 { self.sides[1] } else { self.sides[0] };
        if up { above } else { 1.0 - above }
    }
}

/// Draws that must agree with a direction.
const AGREEING: f64 = 0.75;
/// The part of the paper's effect that must be there for the claim to hold, and to hold in part.
const EFFECT: (f64, f64) = (0.5, 0.1);
/// Below this a direction counts as hardly there.
const SIGN: f64 = 0.01;

impl Rule {
    /// The verdict.
    pub fn judge(&self, paper: Option<f64>, ours: &Spread) -> Verdict {
        if matches!(self, Rule::None) {
            return Verdict::Beyond;
        }
        if !ours.median.is_finite() {
            return Verdict::DoesNotHold;
        }
        let (holds, part) = self.reached(paper, ours);
        match (holds, part) {
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::HoldsInPart,
            (false, false) => Verdict::DoesNotHold,
        }
    }

    fn reached(&self, paper: Option<f64>, ours: &Spread) -> (bool, bool) {
        let x = ours.median;
        match *self {
            Rule::Effect { none } => {
                let effect = paper.unwrap_or(none) - none;
                let found = (x - none) * effect.signum();
                let sure = ours.agreeing(none, effect > 0.0) >= AGREEING;
                let least = effect.abs();
                (sure && found >= EFFECT.0 * least, found >= EFFECT.1 * least && least > 0.0)
            }
            Rule::Sign { up } => {
                let found = if up { x } else { -x };
                (ours.agreeing(0.0, up) >= AGREEING && found >= SIGN, found > 0.0)
            }
            Rule::Near { to, within, part } => ((x - to).abs() <= within, (x - to).abs() <= part),
            Rule::AtLeast { bound, part } => (x >= bound, x >= part),
            Rule::AtMost { bound, part } => (x <= bound, x <= part),
            Rule::None => (false, false),
        }
    }
}

impl Claim {
    /// A claim about a figure that the paper prints as a change or a ratio.
    pub fn effect(text: impl Into<String>, paper: f64, quantity: Quantity, ours: Spread) -> Self {
        let none = if quantity == Quantity::Ratio { 1.0 } else { 0.0 };
        let said = quantity.show(paper);
        Claim::new(text, said, Some(paper), quantity, Rule::Effect { none }, ours)
    }

    /// A claim with a rule of its own.
    pub fn new(
        text: impl Into<String>,
        said: impl Into<String>,
        paper: Option<f64>,
        quantity: Quantity,
        rule: Rule,
        ours: Spread,
    ) -> Self {
        let verdict = rule.judge(paper, &ours);
        let (text, said) = (text.into(), said.into());
        Claim { text, said, paper, ours, quantity, rule, counts: true, verdict }
    }

    /// A figure that the paper does not have.
    pub fn beyond(text: impl Into<String>, quantity: Quantity, ours: Spread) -> Self {
        Claim::new(text, "not in the paper", None, quantity, Rule::None, ours)
    }

    /// The same, only for comparison.
    pub fn beside(mut self) -> Self {
        self.counts = false;
        self
    }
}

impl Quantity {
    /// A figure with its unit.
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".into();
        }
        match self {
            // No negative nothing.
            Quantity::Change => format!("{:+.1} %", (1000.0 * value).round() / 10.0 + 0.0),
            Quantity::Fraction => format!("{:.1} %", 100.0 * value),
            Quantity::Ratio => format!("{value:.2}x"),
            Quantity::Seconds => format::duration(value),
        }
    }

    /// A median with its range, where there is one.
    pub fn show_spread(self, spread: &Spread) -> String {
        let median = self.show(spread.median);
        if spread.draws < 2 || spread.low == spread.high {
            return median;
        }
        format!("{median} ({})", self.show_range(spread))
    }

    /// The range, with its unit once.
    pub fn show_range(self, spread: &Spread) -> String {
        let (low, high) = (self.show(spread.low), self.show(spread.high));
        let bare = low.trim_end_matches([' ', '%', 'x', 's', 'm']);
        if self == Quantity::Seconds {
            format!("{low} to {high}")
        } else {
            format!("{bare} to {high}")
        }
    }
}

impl Verdict {
    /// The sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Beyond => "beyond the paper",
        }
    }

    /// Of several together: what all of them say, or else in part.
    pub fn of(claims: &[Claim]) -> Verdict {
        let mut verdicts = claims.iter().filter(|c| c.counts).map(|c| c.verdict);
        let Some(first) = verdicts.next() else { return Verdict::Beyond };
        if verdicts.all(|v| v == first) { first } else { Verdict::HoldsInPart }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Beyond, DoesNotHold, Holds, HoldsInPart};

    #[test]
    fn verdicts_follow_from_the_figures() {
        let effect = Rule::Effect { none: 0.0 };
        let ratio = Rule::Effect { none: 1.0 };
        let near = Rule::Near { to: 0.5, within: 0.05, part: 0.1 };
        let least = Rule::AtLeast { bound: -0.05, part: -0.1 };
        let most = Rule::AtMost { bound: 0.03, part: 0.06 };
        let cases: &[(Rule, Option<f64>, &[f64], Verdict)] = &[
            (effect, Some(0.2), &[0.2], Holds),
            (effect, Some(0.2), &[0.9], Holds),
            (effect, Some(0.2), &[0.1], Holds),
            (effect, Some(0.2), &[0.09], HoldsInPart),
            (effect, Some(0.2), &[0.01], DoesNotHold),
            (effect, Some(0.2), &[-0.2], DoesNotHold),
            (effect, Some(-0.1), &[-0.06], Holds),
            (effect, Some(-0.1), &[0.06], DoesNotHold),
            // Half of the draws point the other way.
            (effect, Some(0.2), &[-0.1, -0.1, 0.4, 0.5], HoldsInPart),
            (ratio, Some(1.16), &[1.08], Holds),
            (ratio, Some(1.16), &[1.02], HoldsInPart),
            (ratio, Some(1.16), &[0.9], DoesNotHold),
            (Rule::Sign { up: false }, None, &[-0.02], Holds),
            (Rule::Sign { up: false }, None, &[-0.002], HoldsInPart),
            (Rule::Sign { up: true }, None, &[-0.02], DoesNotHold),
            (near, None, &[0.46], Holds),
            (near, None, &[0.58], HoldsInPart),
            (near, None, &[0.7], DoesNotHold),
            (least, None, &[0.3], Holds),
            (least, None, &[-0.07], HoldsInPart),
            (least, None, &[-0.2], DoesNotHold),
            (most, None, &[0.01], Holds),
            (most, None, &[0.05], HoldsInPart),
            (most, None, &[0.2], DoesNotHold),
            (most, None, &[], DoesNotHold),
            (Rule::None, None, &[1.0], Beyond),
        ];
        for (rule, paper, ours, expected) in cases {
            let spread = Spread::of(ours.iter().copied());
            assert_eq!(rule.judge(*paper, &spread), *expected, "{rule:?} {paper:?} {ours:?}");
        }
    }

    #[test]
    fn an_experiment_holds_as_far_as_its_claims_do() {
        let claim = |ours: f64| Claim::effect("x", 0.1, Quantity::Change, Spread::of([ours]));
        assert_eq!(Verdict::of(&[claim(0.1), claim(0.1)]), Holds);
        assert_eq!(Verdict::of(&[claim(0.1), claim(-0.1)]), HoldsInPart);
        assert_eq!(Verdict::of(&[claim(-0.1), claim(-0.1)]), DoesNotHold);
        assert_eq!(Verdict::of(&[claim(0.1), claim(-0.1).beside()]), Holds);
        assert_eq!(Verdict::of(&[]), Beyond);
    }

    #[test]
    fn spreads_have_a_median_and_a_range() {
        let spread = Spread::of([3.0, f64::NAN, 1.0, 2.0, 10.0]);
        assert_eq!((spread.median, spread.low, spread.high, spread.draws), (2.5, 1.0, 10.0, 4));
        assert!(Spread::of([]).median.is_nan());
        assert_eq!(
            Quantity::Change.show_spread(&Spread::of([0.1, 0.2])),
            "+15.0 % (+10.0 to +20.0 %)"
        );
    }
}
