//! Every kind of chart in one page, with data from formulas: `cargo run -p oef-report --example gallery > gallery.html`.
//!
//! Look at it as a picture after every change to a chart: wide, on a phone, in the dark, in print.

use oef_report::chart::{Axis, Bar, Bars, Cdf, Chart, HeatMap, LineChart, Row, Series, Timeline};
use oef_report::html::{Card, Prose, Report, Section, Tone};
use oef_report::table::{Cell, Column, Table};

fn main() {
    let report = Report::new("Four tenants on twenty-four GPUs")
        .subtitle("A gallery of everything a report can show; the data comes from formulas and means nothing")
        .card(Card::new("-17 %", "job completion time", "Mean over 1,000 jobs, against gandiva-fair.").tone(Tone::Good))
        .card(Card::new("1.16 x", "sharing incentive", "No tenant gets less than its equal split.").tone(Tone::Good))
        .card(Card::new("97.2 %", "of all GPU time used", "Two nodes were down for three hours.").tone(Tone::Warning))
        .card(Card::new("864", "rounds of five minutes", "Three days of virtual time."))
        .section(lines())
        .section(distributions())
        .section(comparisons())
        .section(matrices())
        .section(timelines())
        .section(words())
        .section(extremes())
        .version("oef 0.1.0")
        .parameter("seed", "42")
        .parameter("round", "300 s")
        .parameter("cluster", "8 x RTX 3070, 8 x RTX 3080, 8 x RTX 3090")
        .parameter("mechanisms", "noncooperative, cooperative, gavel, gandiva-fair, max-min");
    #[expect(clippy::print_stdout, reason = "an example whose only purpose is to print a page")]
    {
        print!("{}", report.to_html());
    }
}

/// A number between 0 and 1 that looks random and is the same every time.
fn noise(seed: usize) -> f64 {
    let x = (seed as f64 * 12.9898 + 4.1).sin() * 43_758.545_3;
    x - x.floor()
}

fn lines() -> Section {
    let tenant = |t: usize| {
        let at = |i: usize| {
            let base = if i < 8 || t == 3 { 6.0 } else { 8.0 };
            let gone = t == 3 && i >= 8;
            (i as f64 * 300.0, if gone { 0.0 } else { base + 0.3 * noise(i + 100 * t) })
        };
        Series::new(format!("tenant {}", t + 1), (0..=16).map(at).collect())
    };
    let throughput = LineChart::new(
        "Throughput of four tenants",
        "Four nearly equal lines; the fourth falls to zero at 40 minutes and the others rise",
    )
    .y(Axis::new("normalised throughput").unit("x RTX 3070"))
    .reference(6.0, "equal split")
    .marker(2_400.0, "tenant 4 leaves");
    let throughput = (0..4).fold(throughput, |chart, t| chart.series(tenant(t)));
    let used = |t: usize| {
        let at = |i: usize| {
            let wave = 1.5 + (i as f64 / 90.0 + t as f64).sin() + 0.6 * noise(i / 7 + 31 * t);
            (i as f64 * 300.0, wave.max(0.0) * 24.0 / 50.0)
        };
        Series::new(format!("tenant {}", t + 1), (0..864).map(at).collect())
    };
    let stacked = LineChart::new(
        "GPUs in use by tenant over three days",
        "Areas on top of each other that nearly fill the capacity",
    )
    .y(Axis::new("GPUs in use").unit("GPUs"))
    .steps()
    .stacked()
    .reference(24.0, "capacity")
    .marker(86_400.0, "node 3 fails")
    .marker(93_600.0, "node 3 is back")
    .marker(200_000.0, "tenant 7 cheats");
    let stacked = (0..20).fold(stacked, |chart, t| chart.series(used(t)));
    let many = LineChart::new(
        "Deficit ledger of thirty tenants",
        "Thirty lines around zero, twelve of them coloured",
    )
    .y(Axis::new("deficit").unit("GPU rounds"))
    .reference(0.0, "promised = delivered");
    let ledger = |t: usize| {
        let at = |i: usize| {
            (
                i as f64 * 300.0,
                (i as f64 / (9.0 + t as f64)).sin() * (0.3 + 0.05 * t as f64)
                    + noise(i * 7 + t) * 0.3,
            )
        };
        Series::new(format!("tenant {}", t + 1), (0..864).map(at).collect())
    };
    let many = (0..30).fold(many, |chart, t| chart.series(ledger(t)));
    let queue = LineChart::new("Jobs waiting", "A line with one high peak")
        .y(Axis::new("jobs waiting"))
        .series(Series::new(
            "waiting",
            (0..8_640)
                .map(|i| {
                    let peak = if i == 4_321 { 160.0 } else { 0.0 };
                    (
                        i as f64 * 300.0,
                        30.0 + 25.0 * (i as f64 / 400.0).sin() + 20.0 * noise(i) + peak,
                    )
                })
                .collect(),
        ));
    Section::new("Over time")
        .paragraph(
            Prose::new()
                .text("All tenants get ")
                .strong("the same throughput")
                .text(" until the fourth leaves."),
        )
        .figure(&throughput, "Each tenant's throughput, as a multiple of one RTX 3070.")
        .figure(&stacked, "Who used how many GPUs.")
        .figure(&many, "Promised minus delivered.")
        .figure(
            &queue,
            "8,640 rounds are reduced to a few hundred points; the single peak is still there.",
        )
}

fn distributions() -> Section {
    let samples = |scale: f64| {
        (1..1_000)
            .map(|i| {
                let u: f64 = i as f64 / 1_000.0;
                scale * (-(1.0 - u).ln()).powf(1.7) * 3_600.0
            })
            .collect::<Vec<_>>()
    };
    let base = |log: bool| {
        let axis = Axis::time("job completion time");
        Cdf::new("Job completion time", "Three rising curves; noncooperative is furthest left")
            .x(if log { axis.log() } else { axis })
            .samples("noncooperative", samples(0.83))
            .samples("gandiva-fair", samples(1.0))
            .samples("gavel", samples(1.05))
            .quantile(0.5)
            .quantile(0.95)
    };
    Section::new("Distributions").figures([
        (base(true).draw(), "On a logarithmic axis."),
        (base(false).marker(36_000.0, "deadline").draw(), "The same on a linear axis."),
    ])
}

fn comparisons() -> Section {
    let gain = Bars::new(
        "Throughput against max-min, ours and the paper's",
        "Pairs of bars; each mark is the number that the paper prints",
    )
    .axis(Axis::fraction("gain over max-min"))
    .series(["estimated", "actual"])
    .mark_name("the paper says")
    .group("noncooperative", [Bar::new(0.093).mark(0.10), Bar::new(0.081).range(0.066, 0.11)])
    .group("cooperative", [Bar::new(0.18).mark(0.20), Bar::new(0.29).range(0.26, 0.33).mark(0.32)])
    .group("gavel", [Bar::new(0.07), Bar::new(-0.031).range(-0.05, -0.01)])
    .group("gandiva-fair with trading", [Bar::new(0.04), Bar::new(f64::NAN)]);
    let jobs = (0..8).fold(
        Bars::new("Jobs by mechanism", "Twelve bars in each of eight groups")
            .axis(Axis::new("jobs"))
            .series((1..=12).map(|s| format!("series {s}"))),
        |bars, g| {
            bars.group(
                format!("day {}", g + 1),
                (0..12).map(move |s| Bar::new(40.0 + 60.0 * noise(g * 12 + s))),
            )
        },
    );
    let mut table = Table::new("What each mechanism won and lost")
        .column(Column::text("mechanism"))
        .column(Column::number("throughput").unit("jobs/h").highest_is_best().mark_worst())
        .column(Column::duration("mean completion time").lowest_is_best().mark_worst())
        .column(Column::fraction("GPU time used").highest_is_best())
        .column(Column::number("restarts").lowest_is_best())
        .column(Column::text("envy-free"));
    let rows = [
        ("noncooperative", 14.25, 3_210.0, 0.972, 120usize, "yes"),
        ("cooperative", 14.71, 3_080.0, 0.981, 134, "yes"),
        ("gavel", 13.9, 3_950.0, 0.963, 310, "no"),
        ("gandiva-fair", 13.62, 3_870.0, 0.955, 255, "no"),
        ("max-min", 12.37, 4_410.0, 0.97, 98, "yes"),
    ];
    for (name, rate, time, used, restarts, envy) in rows {
        table.row([
            name.into(),
            rate.into(),
            time.into(),
            used.into(),
            restarts.into(),
            envy.into(),
        ]);
    }
    table.row(["efficiency <only>".into(), Cell::Missing, Cell::Number(f64::NAN)]);
    Section::new("Comparisons")
        .figure(&gain, "Error bars span five seeds.")
        .table(table)
        .verdict(
            Tone::Good,
            "The gain of the cooperative mechanism is within two points of the paper's.",
        )
        .note(Tone::Warning, "Two of the speedups are not printed in the paper; they were chosen.")
        .verdict(Tone::Bad, "Gavel's actual throughput is below max-min here.")
        .note(Tone::Plain, "Bars begin at zero.")
        .details(
            Section::new("All twelve series")
                .figure(&jobs, "Past eight series colours come again, hatched.")
                .paragraph("This was hidden."),
        )
}

fn matrices() -> Section {
    let names: Vec<String> = (1..=6).map(|t| format!("tenant {t}")).collect();
    let cell = |i: usize, j: usize| if i == j { 1.0 } else { 0.62 + 0.45 * noise(i * 7 + j) };
    let envy =
        HeatMap::new("Who would envy whom", "A matrix around one; values above one are envy")
            .rows(names.clone(), "tenant")
            .columns(names, "with the share of")
            .values((0..6).map(|i| (0..6).map(|j| cell(i, j)).collect()).collect())
            .diverging(1.0);
    let large =
        HeatMap::new("Utilisation by node and hour", "A matrix of per cents, darker is more")
            .rows((1..=40).map(|n| format!("node {n}")), "node")
            .columns((0..72).map(|h| format!("{h} h")), "hour")
            .values(
                (0..40)
                    .map(|i| {
                        (0..72)
                            .map(|j| {
                                if i == 11 && (20..26).contains(&j) {
                                    f64::NAN
                                } else {
                                    (0.5 + 0.5 * (j as f64 / 11.0 + i as f64 / 9.0).sin())
                                        * (0.7 + 0.3 * noise(i * 72 + j))
                                }
                            })
                            .collect()
                    })
                    .collect(),
            )
            .unit(oef_report::format::Unit::Fraction);
    Section::new("Matrices")
        .figures([(envy.draw(), "Each row: what a tenant would make of another's share, relative to its own. Orange is envy.")])
        .figure(&large, "Node 12 was down for six hours.")
}

fn timelines() -> Section {
    let types = ["RTX 3070", "RTX 3080", "RTX 3090"];
    let small_rows = (0..24).map(|g| {
        let mut row =
            Row::new(types[g / 8], format!("node {}", g / 4 + 1), format!("gpu {}", g % 4));
        for i in 0..16 {
            let tenant = (noise(g / 2 + 17 * (i / 4)) * 4.0) as usize;
            if !(i >= 8 && tenant == 3) {
                row.add(i as f64 * 300.0, (i + 1) as f64 * 300.0, tenant);
            }
        }
        row
    });
    let small =
        Timeline::new("Who ran where", "Twenty-four GPUs over eighty minutes, coloured by tenant")
            .categories((1..=4).map(|t| format!("tenant {t}")))
            .rows(small_rows)
            .marker(2_400.0, "tenant 4 leaves");
    Section::new("Who ran where")
        .figure(&small, "A GPU without colour is idle.")
        .figure(&large_timeline(), "Thirty days of a large cluster.")
}

fn large_timeline() -> Timeline {
    let kinds =
        [("V100M16", 200), ("G2", 4_392), ("T4", 842), ("P100", 265), ("V100M32", 204), ("A10", 2)];
    let mut rows = Vec::new();
    for (k, (kind, count)) in kinds.into_iter().enumerate() {
        for g in 0..count {
            let mut row = Row::new(kind, format!("n{k}-{}", g / 8), format!("gpu {}", g % 8));
            let (mut time, mut i) = (3_600.0 * noise(g), 0);
            while time < 30.0 * 86_400.0 {
                let seed = (g / 4) * 31 + i * 7 + k;
                let length = 3_600.0 * (2.0 + 60.0 * noise(seed).powi(3));
                let tenant = (50.0 * noise(seed + 5).powi(2)) as usize;
                if noise(seed + 11) > 0.08 {
                    row.add(time, time + length, tenant);
                }
                time += length;
                i += 1;
            }
            rows.push(row);
        }
    }
    Timeline::new(
        "Who ran where on 5,905 GPUs",
        "A sample of the GPUs of each type over thirty days",
    )
    .categories((1..=50).map(|t| format!("tenant {t}")))
    .rows(rows)
}

fn words() -> Section {
    Section::new("Words")
        .paragraph("A paragraph has no markup: <b>this is not bold</b>, and R&D stays R&D.")
        .list(["A list of points,", "each of them a sentence."])
        .preformatted("oef simulate --trace philly.csv \\\n    --cluster <file> --report out.html")
        .section(Section::new("A section below").paragraph("Its heading is in the contents, too."))
        .section(Section::new("Another one").paragraph("With a sentence."))
}

fn extremes() -> Section {
    let nothing = LineChart::new("Nothing at all", "No data");
    let one = LineChart::new("One point", "A single dot")
        .series(Series::new("lonely", vec![(60.0, 3.0)]));
    let odd = LineChart::new("Odd values & <names>", "Gaps where values are not numbers")
        .x(Axis::new("tenants"))
        .y(Axis::new("error").unit("ppm"))
        .series(Series::new(
            "a name that is far too long for any legend to hold in one piece",
            (0..200)
                .map(|i| {
                    (i as f64, if i % 50 < 5 { f64::NAN } else { (i as f64 / 20.0).sin() * 2e-4 })
                })
                .collect(),
        ));
    Section::new("Edges").figures([
        (nothing.draw(), "A chart without data says so."),
        (one.draw(), "One point is a dot."),
        (odd.draw(), "Values that are not numbers are gaps."),
    ])
}
