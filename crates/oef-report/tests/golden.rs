//! Small pictures kept as files: a change to how charts look shows as a difference that one can open in a browser.
//!
//! `OEF_BLESS=1 cargo test -p oef-report --test golden` writes them anew. Look at them before you commit them.

#![expect(clippy::disallowed_methods, reason = "golden files are read, and written on request")]

use oef_report::chart::{Axis, Bar, Bars, Cdf, Chart, HeatMap, LineChart, Row, Series, Timeline};
use std::path::Path;

/// Compares the picture without its style, which is the same for all.
fn check(name: &str, chart: &impl Chart) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let drawn = chart.draw().svg().to_string();
    if std::env::var_os("OEF_BLESS").is_some() {
        std::fs::write(&path, &drawn).expect("the golden file can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the golden file can be read");
    assert!(drawn == kept, "{name} has changed; see the top of this file:\n{drawn}");
}

fn two_tenants() -> LineChart {
    LineChart::new("Throughput", "Two lines")
        .y(Axis::new("throughput").unit("jobs/h"))
        .series(Series::new("tenant 1", vec![(0.0, 2.0), (2400.0, 3.0), (4800.0, 3.0)]))
        .series(Series::new("R&D", vec![(0.0, 2.0), (2400.0, f64::NAN), (4800.0, 1.0)]))
}

#[test]
fn line() {
    check(
        "line.svg",
        &two_tenants().reference(2.5, "equal split").marker(2400.0, "tenant 4 leaves"),
    );
}

#[test]
fn stacked() {
    check("stacked.svg", &two_tenants().steps().stacked());
}

#[test]
fn cdf() {
    let chart = Cdf::new("Completion time", "Two curves")
        .x(Axis::time("completion time").log())
        .samples("a", vec![60.0, 600.0, 1200.0, 90_000.0])
        .samples("b", vec![30.0, 0.0, 900.0])
        .quantile(0.5);
    check("cdf.svg", &chart);
}

#[test]
fn bars() {
    let chart = Bars::new("Gain", "Two groups of two bars")
        .axis(Axis::fraction("gain over max-min"))
        .series(["estimated", "actual"])
        .mark_name("the paper says")
        .group("noncooperative", [Bar::new(0.09).mark(0.1), Bar::new(0.08).range(0.06, 0.11)])
        .group("cooperative", [Bar::new(-0.02), Bar::new(f64::NAN)]);
    check("bars.svg", &chart);
}

#[test]
fn heat_map() {
    let chart = HeatMap::new("Envy", "A matrix around one")
        .rows(["a", "b"], "tenant")
        .columns(["a", "b"], "with the share of")
        .values(vec![vec![1.0, 0.8], vec![1.1]])
        .diverging(1.0);
    check("heat_map.svg", &chart);
}

#[test]
fn timeline() {
    let chart = Timeline::new("Who ran where", "Three rows")
        .categories(["tenant 1", "tenant 2"])
        .row(
            Row::new("RTX 3070", "node 1", "gpu 0").segment(0.0, 300.0, 0).segment(300.0, 900.0, 0),
        )
        .row(Row::new("RTX 3090", "node 2", "gpu 0").segment(0.0, 300.0, 1))
        .row(Row::new("RTX 3070", "node 1", "gpu 1").segment(600.0, 900.0, 1))
        .marker(300.0, "tenant 2 comes");
    check("timeline.svg", &chart);
}

#[test]
fn nothing() {
    check("nothing.svg", &LineChart::new("Nothing", "No data"));
}
