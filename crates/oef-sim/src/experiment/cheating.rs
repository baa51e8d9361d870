//! (b) Tenant 1 says that its jobs gain more from fast GPUs than they do.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four, MIDDLE_S};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, problem, shares};
use crate::world::Lie;
use oef_core::{Mechanism, TenantId};

/// How much larger a gain the tenant claims: the paper does not say; its speedup on the fastest type is told half
/// as large again.
const LIE: f64 = 1.5;
/// Other sizes of the lie, to see how the conclusion moves.
const LIES: [f64; 4] = [1.1, 1.25, 1.5, 2.0];

/// Changes of throughput by a lie: of the liar, of the others (mean), of all.
type Changes = [f64; 3];

/// The factors of a lie: on the middle type by its square root, so that the order of types stays.
fn factors(lie: f64) -> Vec<f64> {
    vec![1.0, lie.sqrt(), lie]
}

/// What a lie changes in the shares, counted by the true speedups.
fn in_shares(four: &Four, types: &[String], lie: f64) -> Result<Changes, ExperimentError> {
    let truth = problem(types, &four.parties)?;
    let honest = shares(&truth, Mechanism::Noncooperative)?.shares;
    let mut told = four.parties.clone();
    for (w, factor) in told[0].speedup.iter_mut().zip(factors(lie)) {
        *w *= factor;
    }
    let lied = shares(&problem(types, &told)?, Mechanism::Noncooperative)?.shares;
    let of = |s: &oef_core::Shares| -> Vec<f64> {
        truth.tenant_ids().map(|t: TenantId| s.throughput(&truth, t)).collect()
    };
    Ok(changes(&of(&honest), &of(&lied)))
}

fn changes(honest: &[f64], lied: &[f64]) -> Changes {
    let change = |a: f64, b: f64| if a > 0.0 { b / a - 1.0 } else { f64::NAN };
    let sum = |v: &[f64]| v.iter().sum::<f64>();
    [
        change(honest[0], lied[0]),
        change(sum(&honest[1..]), sum(&lied[1..])),
        change(sum(honest), sum(lied)),
    ]
}

/// What the lie changes in the simulation: before the fourth tenant leaves, and after.
fn simulated(four: &Four) -> Result<[Changes; 2], ExperimentError> {
    let run = |lies| four.run(Mechanism::Noncooperative, Stack::Ours, lies, four.fourth_leaves());
    let lie = Lie { tenant: four.parties[0].name.clone(), factors: factors(LIE) };
    let (honest, lied) = (run(Vec::new())?, run(vec![lie])?);
    let between = |from, to, stay: usize| {
        let mean = |result| four.means(result, from, to)[..stay].to_vec();
        changes(&mean(&honest), &mean(&lied))
    };
    Ok([between(0.0, MIDDLE_S, 4), between(MIDDLE_S, END_S, 3)])
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let mut found: Vec<[Changes; 2]> = Vec::new();
    let mut by_lie: Vec<Vec<Changes>> = vec![Vec::new(); LIES.len()];
    for draw in 0..setup.size.draws() {
        let four = Four::new(&table, setup.seed + draw);
        if four.parties.len() < 4 {
            continue;
        }
        found.push(simulated(&four)?);
        for (list, lie) in by_lie.iter_mut().zip(LIES) {
            list.push(in_shares(&four, &table.types, lie)?);
        }
    }
    let spread = |phase: usize, i: usize| Spread::of(found.iter().map(|f| f[phase][i]));
    let sign = |text: &str, said: &str, up, ours| {
        Claim::new(text, said, None, Quantity::Change, Rule::Sign { up }, ours)
    };
    let claims = vec![
        sign("Throughput of the tenant that cheats", "less than before", false, spread(0, 0)),
        sign("Throughput of the honest tenants", "more than before", true, spread(0, 1)),
        sign("The cheater's, after tenant 4 has left", "still less", false, spread(1, 0)),
        Claim::effect("Throughput of all", -0.1, Quantity::Change, spread(0, 2)),
    ];
    let four = Four::new(&table, setup.seed);
    let lie = Lie { tenant: four.parties[0].name.clone(), factors: factors(LIE) };
    let shown =
        four.run(Mechanism::Noncooperative, Stack::Ours, vec![lie], four.fourth_leaves())?;
    let total = Spread::of(by_lie.iter().map(|l| Spread::of(l.iter().map(|c| c[2])).median));
    let why = format!(
        "Equal throughput is counted in what tenants say: whoever exaggerates seems to have enough with fewer \
         fast GPUs and gets fewer; the others share what it leaves. The total falls because the tenant that \
         makes the most of fast GPUs now has fewer of them: by {} to {} over the lies in the table. That \
         under-reporting works the other way round is experiment l.",
        Quantity::Fraction.show(-total.high),
        Quantity::Fraction.show(-total.low)
    );
    let paper = "A tenant with LSTM jobs that inflates its speedup is penalised, the honest ones gain, and the \
                 total falls by about 10 %.";
    Ok(Experiment::new(Id::B, paper, claims, why)
        .done([
            format!("As in (a), but tenant 1 says that its speedup is {LIE} times as high on the fastest type and {:.2} times on the middle one; the paper does not print its lie.", LIE.sqrt()),
            "Throughputs are counted by true speeds, against the same run with the truth.".into(),
        ])
        .show(Exhibit::Lines {
            title: "Throughput when tenant 1 cheats".into(),
            caption: "The same draw as in (a).".into(),
            x: None,
            y: "normalised throughput".into(),
            log: (false, false),
            lines: four.lines(&shown),
            markers: vec![(MIDDLE_S, "tenant 4 leaves".into())],
        })
        .show(lies_table(&by_lie)))
}

fn lies_table(by_lie: &[Vec<Changes>]) -> Exhibit {
    let row = |(lie, list): (f64, &Vec<Changes>)| -> Vec<Cell> {
        let median = |i: usize| Cell::Number(Spread::of(list.iter().map(|c| c[i])).median);
        vec![Quantity::Ratio.show(lie).into(), median(0), median(1), median(2)]
    };
    Exhibit::Table {
        caption: "What lies of other sizes change in the shares, median over the draws".into(),
        columns: vec![
            Column::Text("speedup on the fastest type told as"),
            Column::Fraction("cheater"),
            Column::Fraction("honest tenants"),
            Column::Fraction("all"),
        ],
        rows: LIES.into_iter().zip(by_lie).map(row).collect(),
    }
}
