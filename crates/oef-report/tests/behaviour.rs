//! What a reader relies on: sizes that stay small, peaks that stay, captions that say what is left out.

use oef_report::chart::{
    Axis, Bar, Bars, Cdf, Chart, Figure, HeatMap, LineChart, MAX_ROWS, Row, Series, Timeline,
};
use oef_report::html::{Card, Prose, Report, Section, Tone};

const DAY: f64 = 86_400.0;

fn texts(figure: &Figure) -> Vec<String> {
    let document = roxmltree::Document::parse(figure.svg()).expect("well-formed");
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(str::to_string)).collect()
}

fn count(figure: &Figure, class: &str) -> usize {
    let document = roxmltree::Document::parse(figure.svg()).expect("well-formed");
    let classes = document.descendants().filter_map(|node| node.attribute("class"));
    classes.filter(|c| c.split(' ').any(|c| c == class)).count()
}

#[test]
fn a_month_of_rounds_stays_small_and_keeps_its_peak() {
    let point = |i: usize| (i as f64 * 300.0, if i == 5_000 { 900.0 } else { (i % 17) as f64 });
    let chart = |spike: bool| {
        let points = (0..8_640).map(point).map(|(x, y)| (x, if spike { y } else { y.min(16.0) }));
        LineChart::new("a", "b")
            .y(Axis::new("").range(0.0, 1_000.0))
            .series(Series::new("s", points.collect()))
    };
    let figure = chart(true).draw();
    assert!(figure.svg().len() < 40_000, "{} bytes", figure.svg().len());
    assert_ne!(figure, chart(false).draw());
}

#[test]
fn a_large_cluster_for_a_month_stays_small_and_says_so() {
    let rows = (0..6_000).map(|g| {
        let mut row = Row::new(format!("type {}", g % 7), format!("node {}", g / 8), "gpu");
        for i in 0..400 {
            let start = i as f64 * 30.0 * DAY / 400.0;
            row.add(start, start + 30.0 * DAY / 400.0, (g * 31 + i * 17) % 500);
        }
        row
    });
    let figure = Timeline::new("a", "b")
        .categories((0..500).map(|t| format!("tenant {t}")))
        .rows(rows)
        .draw();
    assert!(figure.svg().len() < 700_000, "{} bytes", figure.svg().len());
    let notes = figure.notes().join(" ");
    assert!(notes.contains("of 6,000 GPUs are shown"), "{notes}");
    assert!(notes.contains("Time is drawn in columns"), "{notes}");
    assert!(notes.contains("the other 488 are grey"), "{notes}");
}

#[test]
fn rows_up_to_the_limit_are_all_drawn() {
    let row = |g: usize| Row::new("a", format!("n{g}"), "gpu").segment(0.0, 1.0, 0);
    let chart =
        |rows: usize| Timeline::new("a", "b").categories(["t"]).rows((0..rows).map(row)).draw();
    assert!(chart(MAX_ROWS).notes().is_empty());
    assert_eq!(chart(MAX_ROWS + 1).notes().len(), 1);
}

#[test]
fn many_series_are_grouped_and_the_caption_says_so() {
    let series =
        |t: usize| Series::new(format!("tenant {t}"), vec![(0.0, t as f64), (9.0, t as f64)]);
    let lines = (0..30).fold(LineChart::new("a", "b"), |chart, t| chart.series(series(t)));
    for chart in [lines.clone(), lines.stacked()] {
        let figure = chart.draw();
        assert!(figure.notes()[0].contains("the other 18"), "{:?}", figure.notes());
        let texts = texts(&figure);
        assert!(
            texts.contains(&"18 others".to_string()) && texts.contains(&"tenant 29".to_string())
        );
        assert!(!texts.contains(&"tenant 3".to_string()));
    }
}

#[test]
fn what_cannot_be_drawn_is_counted() {
    let chart = LineChart::new("a", "b").series(Series::new(
        "s",
        vec![(0.0, 1.0), (1.0, f64::NAN), (f64::INFINITY, 2.0), (3.0, 1.0)],
    ));
    assert!(chart.draw().notes()[0].starts_with("2 values"), "{:?}", chart.draw().notes());
    let cdf = Cdf::new("a", "b").samples("s", vec![1.0, f64::NAN]);
    assert!(cdf.draw().notes()[0].starts_with("One value"));
    let bars = Bars::new("a", "b").group("g", [Bar::new(1.0), Bar::new(f64::NAN)]);
    assert_eq!(bars.draw().notes(), ["One bar has no value."]);
}

#[test]
fn empty_charts_say_so() {
    let figures = [
        LineChart::new("a", "b").draw(),
        LineChart::new("a", "b").stacked().reference(1.0, "r").draw(),
        Cdf::new("a", "b").samples("s", vec![]).draw(),
        Bars::new("a", "b").group("g", [f64::NAN]).draw(),
        HeatMap::new("a", "b").rows(["r"], "").draw(),
        Timeline::new("a", "b").row(Row::new("", "", "")).draw(),
    ];
    for figure in figures {
        assert!(texts(&figure).contains(&"no data to show".to_string()));
    }
}

#[test]
fn one_point_is_a_dot_and_one_value_a_cell() {
    let line = LineChart::new("a", "b").series(Series::new("s", vec![(60.0, 3.0)])).draw();
    assert_eq!(count(&line, "dot"), 1);
    let map = HeatMap::new("a", "b").values(vec![vec![2.5]]).draw();
    assert!(texts(&map).contains(&"2.5".to_string()));
}

#[test]
fn markers_and_references_have_their_labels() {
    let chart = LineChart::new("a", "b")
        .series(Series::new("s", vec![(0.0, 1.0), (4_800.0, 2.0)]))
        .reference(1.5, "equal split")
        .reference(1.51, "nearly the same")
        .marker(2_400.0, "tenant 4 leaves")
        .marker(2_410.0, "tenant 5 comes")
        .marker(9e9, "out of sight");
    let texts = texts(&chart.draw());
    for label in
        ["equal split", "nearly the same", "tenant 4 leaves", "tenant 5 comes", "time (min)"]
    {
        assert!(texts.contains(&label.to_string()), "{label}: {texts:?}");
    }
    assert!(!texts.contains(&"out of sight".to_string()));
}

#[test]
fn a_large_matrix_is_drawn_in_blocks() {
    let values = (0..500).map(|i| (0..500).map(|j| ((i * j) % 97) as f64).collect()).collect();
    let figure = HeatMap::new("a", "b").values(values).draw();
    assert!(figure.svg().len() < 200_000, "{} bytes", figure.svg().len());
    assert!(figure.notes()[0].contains("6 by 6 values"), "{:?}", figure.notes());
}

#[test]
fn a_chart_keeps_the_colours_it_is_told() {
    let chart = LineChart::new("a", "b")
        .series(Series::new("x", vec![(0.0, 1.0), (1.0, 1.0)]).colour(4))
        .series(Series::new("y", vec![(0.0, 2.0), (1.0, 2.0)]));
    let figure = chart.draw();
    assert!(
        figure.svg().contains("class=\"s4 line\"") && figure.svg().contains("class=\"s0 line\"")
    );
}

#[test]
fn a_page_fetches_nothing_and_runs_nothing() {
    let html = Report::new("<Report> & co")
        .card(Card::new("1", "label", Prose::new().strong("a<b")).tone(Tone::Bad))
        .section(Section::new("one").figure(&LineChart::new("a", "b"), "c"))
        .section(Section::new("two").section(Section::new("below")))
        .section(Section::new("three").details(Section::new("more").paragraph("hidden")))
        .parameter("seed", "<42>")
        .to_html();
    let allowed = "http://www.w3.org/2000/svg";
    assert_eq!(html.matches("http").count(), html.matches(allowed).count());
    for word in ["<script", "@import", "src=", "<link", "javascript:", "url(h"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("&lt;Report&gt; &amp; co") && html.contains("&lt;42&gt;"));
    assert!(html.contains("<a href=\"#s2-1\">below</a>") && html.contains("<section id=\"s2-1\">"));
    assert!(html.contains("<strong>a&lt;b</strong>"));
}

#[test]
fn ids_come_once() {
    let inner = || {
        Section::new("x")
            .section(Section::new("y"))
            .details(Section::new("z").section(Section::new("w")))
    };
    let section = || inner().section(inner()).details(inner());
    let html = Report::new("r").section(section()).section(section()).section(section()).to_html();
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&html, options).expect("well-formed");
    let mut ids: Vec<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    let links = document.descendants().filter_map(|n| n.attribute("href"));
    for link in links {
        assert!(ids.contains(&link.trim_start_matches('#')), "{link}");
    }
}
