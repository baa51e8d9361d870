//! (b) Tenant 1 says that its jobs gain more from fast GPUs than they do.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four, MIDDLE_S};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, problem, shares};
use oef_core::{Mechanism, Shares, TenantId};
use oef_sim::world::Lie;

/// How much larger the speedup on the fastest type is told; the paper does not print its lie.
const LIE: f64 = 1.5;
/// Other sizes of the lie, to see how the conclusion moves.
const LIES: [f64; 4] = [1.1, 1.25, 1.5, 2.0];

/// Changes of throughput by a lie: of the liar, of the others together, of all.
type Changes = [f64; 3];

/// The factors of a lie: on the middle type by its square root, so that the order of types stays.
fn factors(lie: f64) -> Vec<f64> {
    vec![1.0, lie.sqrt(), lie]
}

/// What a lie changes in the shares, counted by the true speedups.
fn in_shares(table: &SpeedupTable, seed: u64, lie: f64) -> Result<Changes, ExperimentError> {
    let parties = Four::new(table, seed).parties;
    let truth = problem(&table.types, &parties)?;
    let honest = shares(&truth, Mechanism::Noncooperative)?.shares;
    let mut told = parties;
    for (w, factor) in told[0].speedup.iter_mut().zip(factors(lie)) {
        *w *= factor;
    }
    let lied = shares(&problem(&table.types, &told)?, Mechanism::Noncooperative)?.shares;
    let of = |s: &Shares| -> Vec<f64> {
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
fn simulated(four: &Four, stack: Stack) -> Result<[Changes; 2], ExperimentError> {
    let key = (Mechanism::Noncooperative, stack);
    let run = |lies| four.run(key, END_S, lies, four.fourth_leaves());
    let (honest, lied) = (run(Vec::new())?, run(vec![lie_of(four)])?);
    let between = |from, to, stay: usize| {
        let mean = |result| four.means(result, from, to)[..stay].to_vec();
        changes(&mean(&honest), &mean(&lied))
    };
    Ok([between(0.0, MIDDLE_S, 4), between(MIDDLE_S, END_S, 3)])
}

fn lie_of(four: &Four) -> Lie {
    Lie { tenant: four.parties[0].name.clone(), factors: factors(LIE) }
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let over_draws = |stack| -> Result<Vec<[Changes; 2]>, ExperimentError> {
        let draws = 0..setup.size.draws();
        draws.map(|d| simulated(&Four::new(&table, setup.seed + d), stack)).collect()
    };
    let (paper_stack, ours) = (over_draws(Stack::Paper)?, over_draws(Stack::Ours)?);
    let four = Four::new(&table, setup.seed);
    let key = (Mechanism::Noncooperative, Stack::Paper);
    let shown = four.run(key, END_S, vec![lie_of(&four)], four.fourth_leaves())?;
    let (lies, totals) = lies_table(setup)?;
    let why = format!(
        "Equal throughput is counted in what tenants say: whoever exaggerates seems to have enough with fewer fast \
         GPUs and gets fewer; the others share what it leaves. The total falls because the tenant that makes the most \
         of fast GPUs now has fewer of them, but the others make good use of them too: it is {} to {} for the lies \
         and speedups in the table. That under-reporting works the other way round is experiment l.",
        Quantity::Change.show(totals.high),
        Quantity::Change.show(totals.low)
    );
    let paper = "A tenant with LSTM jobs that inflates its speedup is penalised, the honest ones gain, and the \
                 total falls by about 10 %.";
    let said = format!(
        "As in (a), but tenant 1 says that its speedup is {LIE} times as high on the fastest type and {:.2} times on \
         the middle one; the paper does not print its lie.",
        LIE.sqrt()
    );
    let counted = "Throughputs are counted by true speeds, against the same run with the truth.";
    Ok(Experiment::new(Id::B, paper, claims(&paper_stack, &ours), why)
        .done([said.as_str(), counted])
        .show(Exhibit::Lines {
            title: "Throughput when tenant 1 cheats, the paper's rounding".into(),
            caption: "The same draw as in (a).".into(),
            x: None,
            y: "normalised throughput".into(),
            log: (false, false),
            lines: four.lines(&shown),
            markers: vec![(MIDDLE_S, "tenant 4 leaves".into())],
        })
        .show(lies))
}

fn claims(paper: &[[Changes; 2]], ours: &[[Changes; 2]]) -> Vec<Claim> {
    let over = |found: &[[Changes; 2]], phase: usize, i: usize| {
        Spread::of(found.iter().map(|f| f[phase][i]))
    };
    let sign = |text: &str, said: &str, up, spread| {
        Claim::new(text, said, None, Quantity::Change, Rule::Sign { up }, spread)
    };
    let total = |text: &str, spread| Claim::effect(text, -0.1, Quantity::Change, spread);
    vec![
        sign("Throughput of the tenant that cheats", "less than before", false, over(paper, 0, 0)),
        sign("Throughput of the honest tenants", "more than before", true, over(paper, 0, 1)),
        sign("The cheater's, after tenant 4 has left", "still less", false, over(paper, 1, 0)),
        total("Throughput of all", over(paper, 0, 2)),
        sign("The cheater's, with our rounding", "less than before", false, over(ours, 0, 0))
            .beside(),
        total("Throughput of all, with our rounding", over(ours, 0, 2)).beside(),
    ]
}

/// Lies of other sizes and with other speedups, and the range of what they do to the total.
fn lies_table(setup: &Setup) -> Result<(Exhibit, Spread), ExperimentError> {
    let (mut rows, mut totals) = (Vec::new(), Vec::new());
    for table in setup.all_tables() {
        let sizes: &[f64] = if rows.is_empty() { &LIES } else { &[LIE] };
        for &lie in sizes {
            let found: Vec<Changes> = (0..setup.size.draws())
                .map(|d| in_shares(&table, setup.seed + d, lie))
                .collect::<Result<_, _>>()?;
            let median = |i: usize| Spread::of(found.iter().map(|c| c[i])).median;
            totals.push(median(2));
            let cells: Vec<Cell> = vec![
                table.name.clone().into(),
                Quantity::Ratio.show(lie).into(),
                median(0).into(),
                median(1).into(),
                median(2).into(),
            ];
            rows.push(cells);
        }
    }
    let exhibit = Exhibit::Table {
        caption: "What other lies and speedups change in the shares, median over the draws".into(),
        columns: vec![
            Column::Text("speedups"),
            Column::Text("speedup on the fastest type told as"),
            Column::Fraction("cheater"),
            Column::Fraction("honest tenants"),
            Column::Fraction("all"),
        ],
        rows,
    };
    Ok((exhibit, Spread::of(totals)))
}
