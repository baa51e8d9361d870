//! What is measured, and the bar that each case must clear.

use oef_core::Mechanism;
use std::time::Duration;

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Tenants.
    pub tenants: usize,
    /// Different profiles among them.
    pub profiles: usize,
    /// Whether half of them have a demand, between 0.3 and 1.2 of an equal split.
    pub demands: bool,
    /// What is done with the instance.
    pub work: Work,
    /// What is asked of it.
    pub bar: Bar,
    /// The seconds that we would like to see.
    pub aim: Option<f64>,
    /// Whether it is quick enough for a first look.
    pub quick: bool,
}

/// What is done with an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Solved from scratch.
    Scratch,
    /// Solved from scratch with a time limit.
    Limited(Duration),
    /// Solved again after a tenant came.
    Arrival,
    /// Solved again after a tenant left.
    Departure,
    /// Solved again after a tenant's demand changed.
    Demand,
    /// Solved again round after round, with all demands a little different each time.
    Rounds,
}

/// What a case must clear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Nothing.
    None,
    /// Take less time than this.
    Seconds(f64),
    /// Be so many times faster than the vectorised prototype.
    OverPrototype(f64),
    /// Be so many times faster than from scratch, in the same run.
    OverScratch(f64),
    /// Take at most so many times what the same problem takes without demands, in the same run.
    OverPlain(f64),
    /// Be exactly envy-free, with a proven gap below this.
    Gap(f64),
}

/// A cooperative case from scratch.
const fn cooperative(name: &'static str, tenants: usize, bar: Bar, aim: f64) -> Case {
    Case {
        name,
        mechanism: Mechanism::Cooperative,
        tenants,
        profiles: tenants,
        demands: false,
        work: Work::Scratch,
        bar,
        aim: Some(aim),
        quick: tenants <= 300,
    }
}

/// A cooperative case in which half of the tenants have a demand.
const fn with_demands(name: &'static str, tenants: usize, work: Work, bar: Bar) -> Case {
    Case { demands: true, work, aim: None, ..cooperative(name, tenants, bar, 0.0) }
}

/// A noncooperative case from scratch.
const fn noncooperative(name: &'static str, tenants: usize, bar: Bar) -> Case {
    Case {
        name,
        mechanism: Mechanism::Noncooperative,
        tenants,
        profiles: tenants,
        demands: false,
        work: Work::Scratch,
        bar,
        aim: None,
        quick: tenants <= 10_000,
    }
}

/// A nash case from scratch, with demands.
const fn nash(name: &'static str, tenants: usize, bar: Bar) -> Case {
    Case { mechanism: Mechanism::Nash, demands: true, ..noncooperative(name, tenants, bar) }
}

/// Every case, in the order in which they are measured.
pub const ALL: [Case; 22] = [
    cooperative("cooperative-50", 50, Bar::None, 0.015),
    cooperative("cooperative-100", 100, Bar::OverPrototype(100.0), 0.04),
    cooperative("cooperative-200", 200, Bar::OverPrototype(400.0), 0.12),
    cooperative("cooperative-300", 300, Bar::None, 0.2),
    cooperative("cooperative-1000", 1000, Bar::None, 2.5),
    Case {
        work: Work::Limited(Duration::from_secs(1)),
        ..cooperative("cooperative-1000-in-1s", 1000, Bar::Gap(0.005), 1.0)
    },
    Case {
        profiles: 100,
        quick: true,
        ..cooperative("cooperative-10000-of-100", 10_000, Bar::Seconds(0.1), 0.1)
    },
    noncooperative("noncooperative-10000", 10_000, Bar::OverPrototype(20.0)),
    noncooperative("noncooperative-100000", 100_000, Bar::Seconds(1.5)),
    with_demands("cooperative-100-demands", 100, Work::Scratch, Bar::OverPlain(3.0)),
    with_demands("cooperative-200-demands", 200, Work::Scratch, Bar::OverPlain(3.0)),
    with_demands("cooperative-300-demands", 300, Work::Scratch, Bar::OverPlain(3.0)),
    with_demands("cooperative-300-demands-arrival", 300, Work::Arrival, Bar::OverScratch(4.0)),
    with_demands("cooperative-300-demands-departure", 300, Work::Departure, Bar::OverScratch(4.0)),
    with_demands("cooperative-300-demands-demand", 300, Work::Demand, Bar::OverScratch(4.0)),
    with_demands("cooperative-300-demands-rounds", 300, Work::Rounds, Bar::Seconds(0.5)),
    nash("nash-1000-demands", 1000, Bar::Seconds(0.05)),
    nash("nash-10000-demands", 10_000, Bar::Seconds(0.5)),
    Case {
        work: Work::Arrival,
        aim: None,
        ..cooperative("cooperative-300-arrival", 300, Bar::OverScratch(4.0), 0.0)
    },
    Case {
        work: Work::Departure,
        aim: None,
        ..cooperative("cooperative-300-departure", 300, Bar::OverScratch(4.0), 0.0)
    },
    Case {
        work: Work::Arrival,
        ..noncooperative("noncooperative-10000-arrival", 10_000, Bar::OverScratch(10.0))
    },
    Case {
        work: Work::Departure,
        ..noncooperative("noncooperative-10000-departure", 10_000, Bar::OverScratch(10.0))
    },
];

impl crate::bench::choose::Case for Case {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_quick(&self) -> bool {
        self.quick
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::choose::choose;

    #[test]
    fn cases_are_chosen_by_name() {
        let count = |quick, names: &[&str]| {
            choose(&ALL, quick, &names.iter().map(|n| (*n).into()).collect::<Vec<_>>())
                .map_or(0, |cases| cases.len())
        };
        assert_eq!(count(false, &[]), ALL.len());
        assert!(count(true, &[]) < ALL.len());
        assert_eq!(count(false, &["noncooperative-10000"]), 1);
        assert_eq!(count(true, &["arrival"]), 3);
        assert_eq!(count(false, &["nothing"]), 0);
    }
}
