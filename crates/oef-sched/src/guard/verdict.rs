//! Whether what was seen fits what was said.

use super::link::Link;

/// A verdict that stands falls only when what was seen is within this part of the tolerance: no to and fro.
const FALLS_WITHIN: f64 = 0.5;

/// In which way a profile is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Direction {
    /// It claims a greater speedup than there is.
    Over,
    /// It claims a smaller one.
    Under,
}

/// What does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProfileVerdict {
    /// The two gpu types whose ratio sticks out most, by their positions; the faster by the profile...
    pub fast: usize,
    /// ... and the slower.
    pub slow: usize,
    /// In which way.
    pub direction: Direction,
    /// The ratio of the two by the profile.
    pub said: f64,
    /// As it was seen.
    pub seen: f64,
    /// What would have been taken for chance, as a factor.
    pub tolerance: f64,
    /// Windows that it rests on.
    pub windows: u32,
    /// Runs that it rests on.
    pub runs: u32,
    /// The jobs wait for their data most of the time.
    pub host_bound: bool,
}

/// Two honest measurements that are off by 20 % each, one up and one down, are so far apart (`1.2 / 0.8`, rounded up).
const HONEST: f64 = 1.5001;

impl ProfileVerdict {
    /// Whether somebody who measured the profile with an error of 20 % could have told it in good faith.
    pub fn may_be_honest(&self) -> bool {
        let off = self.said / self.seen;
        (1.0 / HONEST..=HONEST).contains(&off)
    }

    /// What sticks out most of a profile.
    pub(super) fn of(links: &[Link], profile: &[f64]) -> Option<ProfileVerdict> {
        let excess = |link: &Link| {
            let off = link.off(profile)?.abs() - link.tolerance;
            (off > 0.0).then_some(off)
        };
        let out = links.iter().filter_map(|link| Some((excess(link)?, link)));
        let (_, link) = out.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(link.verdict(profile))
    }

    /// Whether nothing that was seen is still far from a profile.
    pub(super) fn has_fallen(links: &[Link], profile: &[f64]) -> bool {
        let mut known = links.iter().filter_map(|link| Some((link.off(profile)?, link.tolerance)));
        known.all(|(off, tolerance)| off.abs() <= FALLS_WITHIN * tolerance)
    }
}

impl Link {
    /// The ratio that was seen over that of a profile, as a logarithm. `None`: the profile has none.
    pub(super) fn off(&self, profile: &[f64]) -> Option<f64> {
        let on = |gpu: usize| profile.get(gpu).copied().filter(|on| on.is_finite() && *on > 0.0);
        Some(self.ratio - (on(self.high)? / on(self.low)?).ln())
    }

    fn verdict(&self, profile: &[f64]) -> ProfileVerdict {
        let said = profile[self.high] / profile[self.low];
        // By the profile, and where that says nothing by what was seen.
        let is_high_fast = said > 1.0 || (said == 1.0 && self.ratio > 0.0);
        let seen = self.ratio.exp();
        let (fast, slow, said, seen) = match is_high_fast {
            true => (self.high, self.low, said, seen),
            false => (self.low, self.high, 1.0 / said, 1.0 / seen),
        };
        ProfileVerdict {
            fast,
            slow,
            direction: if seen < said { Direction::Over } else { Direction::Under },
            said,
            seen,
            tolerance: self.tolerance.exp(),
            windows: self.windows,
            runs: self.runs,
            host_bound: self.waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_is_a_mistake_and_much_is_none() {
        let verdict = |said: f64, seen: f64| ProfileVerdict {
            fast: 1,
            slow: 0,
            direction: if seen < said { Direction::Over } else { Direction::Under },
            said,
            seen,
            tolerance: 1.1,
            windows: 9,
            runs: 2,
            host_bound: false,
        };
        assert!(verdict(3.0, 2.0).may_be_honest() && verdict(2.0, 3.0).may_be_honest());
        assert!(!verdict(3.2, 2.0).may_be_honest() && !verdict(2.0, 3.2).may_be_honest());
    }
}
