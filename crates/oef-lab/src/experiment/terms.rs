//! On which terms two schedulers are compared.

use super::claim::{Quantity, Spread};
use super::exhibit::{Cell, Column, Exhibit};
use super::stage::Stack;
use oef_core::Mechanism;
use oef_sim::engine::RunResult;
use std::collections::BTreeMap;

/// A mechanism, and what stands between its shares and the GPUs.
pub(super) type Key = (Mechanism, Stack);

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub estimated: f64,
    pub actual: f64,
    pub utilisation: f64,
    /// Workers in gangs across types, summed over rounds.
    pub stragglers: f64,
    /// GPUs granted beyond what there is, per round.
    pub overcommitted: f64,
    /// The least ratio of a tenant's promised throughput to its equal split.
    pub incentive: f64,
    pub jct: f64,
    pub median: f64,
    pub p90: f64,
    pub wait: f64,
    pub restarts: f64,
    pub unfinished: f64,
}

impl From<&RunResult> for Figures {
    fn from(run: &RunResult) -> Self {
        Figures {
            estimated: run.estimated,
            actual: run.actual,
            utilisation: run.utilisation,
            stragglers: run.straggler_workers as f64,
            overcommitted: run.overcommitted as f64 / run.rounds.max(1) as f64,
            incentive: run.worst_promised_incentive,
            jct: run.jct.mean,
            median: run.jct.p50,
            p90: run.jct.p90,
            wait: run.wait.mean,
            restarts: (run.migrations + run.preemptions) as f64,
            unfinished: run.unfinished as f64,
        }
    }
}

/// One of them.
pub(super) type Pick = fn(&Figures) -> f64;

/// What a table has of the draws.
pub(super) enum Shown {
    Median(Pick),
    Greatest(Pick),
}

/// Runs with one load and one table of speedups.
pub(super) struct Condition {
    pub name: String,
    /// The figures of every run, for each draw of models, job sizes and durations.
    pub draws: Vec<BTreeMap<Key, Figures>>,
}

impl Condition {
    /// How much more of a figure one has than another, over the draws.
    pub fn change(&self, (of, over): (Key, Key), figure: Pick) -> Spread {
        Spread::of(self.draws.iter().filter_map(|draw| {
            let (of, over) = (figure(draw.get(&of)?), figure(draw.get(&over)?));
            (over > 0.0).then(|| of / over - 1.0)
        }))
    }

    /// A figure over the draws.
    pub fn figure(&self, of: Key, figure: Pick) -> Spread {
        Spread::of(self.draws.iter().filter_map(|draw| draw.get(&of).map(figure)))
    }

    /// The runs, by what stands between shares and GPUs.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> =
            self.draws.first().map(|d| d.keys().copied().collect()).unwrap_or_default();
        keys.sort_by_key(|key| (key.1, key.0));
        keys
    }

    /// A table with a row for each of these runs.
    pub fn table<const N: usize>(
        &self,
        caption: &str,
        of: impl Fn(&Key) -> bool,
        figures: [(Column, Shown); N],
    ) -> Exhibit {
        let row = |key: Key| {
            let shown = figures.iter().map(|(_, shown)| match *shown {
                Shown::Median(pick) => self.figure(key, pick).median.into(),
                Shown::Greatest(pick) => self.figure(key, pick).high.into(),
            });
            [Cell::Text(run_name(key))].into_iter().chain(shown).collect()
        };
        let columns =
            [Column::Text("run")].into_iter().chain(figures.iter().map(|(column, _)| *column));
        Exhibit::Table {
            caption: caption.into(),
            columns: columns.collect(),
            rows: self.keys().into_iter().filter(of).map(row).collect(),
        }
    }
}

/// The baselines of the paper.
pub(super) const BASELINES: [Mechanism; 2] = [Mechanism::Gavel, Mechanism::GandivaFair];
/// The mechanisms of the paper.
pub(super) const OEF: [Mechanism; 2] = [Mechanism::Noncooperative, Mechanism::Cooperative];

/// What OEF and a baseline are given besides their shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terms {
    /// The paper's rounding for both, placement for OEF only. Verdicts are about this.
    AsInPaper,
    /// Our rounding for both, placement for OEF only.
    Placement,
    /// Our rounding and placement for both: only the mechanisms differ.
    Equal,
    /// Our rounding and placement for OEF, the paper's rounding and no placement for the baseline.
    Whole,
}

impl Terms {
    pub const ALL: [Terms; 4] = [Terms::AsInPaper, Terms::Placement, Terms::Equal, Terms::Whole];

    /// What is compared with what.
    pub fn keys(self, oef: Mechanism, baseline: Mechanism) -> (Key, Key) {
        let (of, over) = match self {
            Terms::AsInPaper => (Stack::Paper, Stack::Plain),
            Terms::Placement => (Stack::Ours, Stack::Unplaced),
            Terms::Equal => (Stack::Ours, Stack::Ours),
            Terms::Whole => (Stack::Ours, Stack::Plain),
        };
        ((oef, of), (baseline, over))
    }

    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Terms::AsInPaper => "as in the paper",
            Terms::Placement => "our rounding",
            Terms::Equal => "equal terms",
            Terms::Whole => "whole scheduler",
        }
    }

    /// What the words mean.
    pub fn explained() -> impl Iterator<Item = String> {
        let lines = [
            "as in the paper: the paper's rounding for both; OEF packs gangs on hosts, the baselines take the first free GPUs, since the paper says that they lack placement. Both baselines carry what they owe to the next round in their own publications, so they have the paper's deviations too. The verdict is about these.",
            "our rounding: for both, never more than there is, nothing idle; placement still for OEF only.",
            "equal terms: our rounding and placement for both, so only the mechanisms differ.",
            "whole scheduler: ours with OEF against the paper's rounding and no placement with the baseline, what somebody gains who changes everything at once.",
        ];
        lines.into_iter().map(String::from)
    }
}

/// Every run that a comparison of OEF with the baselines on all terms needs.
pub(super) fn compared() -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for oef in OEF {
        for baseline in BASELINES {
            for terms in Terms::ALL {
                let (of, over) = terms.keys(oef, baseline);
                keys.extend([of, over]);
            }
        }
    }
    keys.sort();
    keys.dedup();
    keys
}

/// The same, all mechanisms on ours, and max-min as plain as it can be.
pub(super) fn compared_and_all() -> Vec<Key> {
    let mut keys = compared();
    keys.extend(Mechanism::ALL.map(|m| (m, Stack::Ours)));
    keys.push((Mechanism::MaxMin, Stack::Plain));
    keys.sort();
    keys.dedup();
    keys
}

/// A pair of changes in one cell of a table, without line breaks.
pub(super) fn pair(changes: [Spread; 2]) -> Cell {
    let [a, b] = changes.map(|c| Quantity::Change.show(c.median));
    Cell::Text(format!("{} / {b}", a.trim_end_matches(" %")).replace(' ', "\u{a0}"))
}

/// The name of a run in tables.
pub(super) fn run_name((mechanism, stack): Key) -> String {
    let how = match stack {
        Stack::Paper => "paper's rounding, packed",
        Stack::Plain => "paper's rounding, first free GPUs",
        Stack::Unplaced => "our rounding, first free GPUs",
        Stack::Ours => "our rounding, packed",
    };
    format!("{mechanism}: {how}")
}
