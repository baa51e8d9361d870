//! Whatever the data, a chart is drawn: no panic, well-formed, the same bytes each time, and never a `NaN` in it.

use oef_report::chart::{
    Axis, Bar, Bars, Cdf, Chart, Figure, HeatMap, LineChart, Row, Series, Timeline,
};
use oef_report::format;
use oef_report::format::Unit;
use oef_report::html::{Card, Report, Section, Tone};
use oef_report::table::{Cell, Column, Table};
use proptest::prelude::*;

/// Numbers as they come, and those that make trouble.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e3f64,
        2 => 0.0..1e7f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e100, 1e-100,
            f64::EPSILON, 1e15 + 1.0,
        ]),
    ]
}

fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop_oneof![
        3 => prop::collection::vec((number(), number()), 0..12),
        1 => prop::collection::vec((0.0..1e6f64, -1.0..1.0f64), 700..1200),
    ]
}

/// Names with markup, control characters, other scripts; without words that the checks look for.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-e &<>\"'\u{0}-\u{1f}\u{7f}\u{85}]{0,12}",
        "[公平أبé🦀\u{fffe}\u{202e}]{0,8}",
        Just("]]><script>".to_string()),
        "[a-e ]{80,120}",
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let unit = prop_oneof![
        Just(Unit::None),
        Just(Unit::Seconds),
        Just(Unit::Fraction),
        name().prop_map(Unit::Named)
    ];
    (name(), unit, any::<bool>(), any::<bool>(), prop::option::of((number(), number()))).prop_map(
        |(label, unit, is_log, has_zero, range)| {
            let mut axis = Axis::new(label).unit(unit);
            axis = if is_log { axis.log() } else { axis };
            axis = if has_zero { axis } else { axis.without_zero() };
            range.map_or(axis.clone(), |(low, high)| axis.range(low, high))
        },
    )
}

/// What holds for every chart.
fn check(chart: &impl Chart) -> Figure {
    let figure = chart.draw();
    assert_eq!(figure, chart.draw(), "two drawings differ");
    let document = roxmltree::Document::parse(figure.svg()).expect("a well-formed picture");
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    assert!(root.attribute("aria-label").is_some());
    no_strange_numbers(figure.svg());
    figure
}

fn no_strange_numbers(text: &str) {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let strange = words.find(|word| matches!(*word, "NaN" | "inf" | "infinity"));
    assert_eq!(strange, None, "in {text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_line_chart_is_drawn(
        (title, x, y) in (name(), axis(), axis()),
        series in prop::collection::vec((name(), points(), prop::option::of(0usize..20)), 0..18),
        (is_stacked, is_step) in (any::<bool>(), any::<bool>()),
        lines in prop::collection::vec((number(), name()), 0..6),
    ) {
        let mut chart = LineChart::new(title, "a description").x(x).y(y);
        for (name, points, slot) in series {
            let series = Series::new(name, points);
            chart = chart.series(if let Some(slot) = slot { series.colour(slot) } else { series });
        }
        chart = if is_stacked { chart.stacked() } else { chart };
        chart = if is_step { chart.steps() } else { chart };
        for (at, label) in lines {
            chart = chart.reference(at, label.clone()).marker(at, label);
        }
        check(&chart);
    }

    #[test]
    fn any_cdf_is_drawn(
        (title, x) in (name(), axis()),
        curves in prop::collection::vec((name(), prop::collection::vec(number(), 0..400)), 0..15),
        quantiles in prop::collection::vec(number(), 0..4),
    ) {
        let mut chart = Cdf::new(title, "a description").x(x);
        for (name, samples) in curves {
            chart = chart.samples(name, samples);
        }
        for quantile in quantiles {
            chart = chart.quantile(quantile).marker(quantile, "m");
        }
        check(&chart);
    }

    #[test]
    fn any_bars_are_drawn(
        (title, axis) in (name(), axis()),
        series in prop::collection::vec(name(), 0..15),
        groups in prop::collection::vec((name(), prop::collection::vec([number(), number(), number(), number()], 0..15)), 0..70),
    ) {
        let mut chart = Bars::new(title, "a description").axis(axis).series(series).mark_name("mark");
        for (name, bars) in groups {
            let bar = |[value, low, high, mark]: [f64; 4]| Bar::new(value).range(low, high).mark(mark);
            chart = chart.group(name, bars.into_iter().map(bar));
        }
        check(&chart);
    }

    #[test]
    fn any_heat_map_is_drawn(
        (title, middle) in (name(), prop::option::of(number())),
        names in prop::collection::vec(name(), 0..20),
        values in prop::collection::vec(prop::collection::vec(number(), 0..20), 0..20),
        repeat in prop::sample::select(vec![1usize, 1, 1, 30]),
    ) {
        let values: Vec<Vec<f64>> = values.into_iter().map(|row| row.repeat(repeat)).collect();
        let chart = HeatMap::new(title, "a description")
            .rows(names.clone(), "row")
            .columns(names, "column")
            .values(values);
        check(&middle.map_or(chart.clone(), |middle| chart.diverging(middle)));
    }

    #[test]
    fn any_timeline_is_drawn(
        title in name(),
        categories in prop::collection::vec(name(), 0..20),
        rows in prop::collection::vec(
            ((0usize..3, 0usize..3, name()), prop::collection::vec((number(), number(), prop_oneof![0usize..25, any::<usize>()]), 0..40)),
            0..300,
        ),
        until in prop::option::of(number()),
    ) {
        let mut chart = Timeline::new(title, "a description").categories(categories).marker(1.0, "m");
        for ((group, node, name), segments) in rows {
            let mut row = Row::new(format!("type {group}"), format!("node {node}"), name);
            for (start, end, category) in segments {
                row.add(start, end, category);
            }
            chart = chart.row(row);
        }
        check(&until.map_or(chart.clone(), |until| chart.until(until)));
    }

    #[test]
    fn any_report_is_well_formed(
        (title, text, value) in (name(), name(), number()),
        rows in prop::collection::vec(prop::collection::vec((name(), number()), 0..4), 0..6),
    ) {
        let mut table = Table::new(text.clone())
            .column(Column::text(title.clone()))
            .column(Column::number("x").unit(text.as_str()).highest_is_best().mark_worst())
            .column(Column::duration("y").lowest_is_best())
            .column(Column::fraction("z"));
        for row in rows {
            let cells = row.into_iter().flat_map(|(name, number)| [Cell::from(name), Cell::from(number)]);
            table.row(cells);
        }
        let section = Section::new(title.clone())
            .paragraph(text.clone())
            .note(Tone::Warning, text.clone())
            .preformatted(text.clone())
            .table(table)
            .details(Section::new(text.clone()).section(Section::new("inner").list([text.clone()])))
            .figure(&LineChart::new(title.clone(), text.clone()), text.clone());
        let report = Report::new(title)
            .subtitle(text.clone())
            .card(Card::new(format::number(value), format::clock(value), text.clone()))
            .section(section.clone()).section(section.clone()).section(section)
            .version(text.clone())
            .parameter(text.clone(), text);
        let html = report.to_html();
        prop_assert_eq!(&html, &report.to_html());
        no_strange_numbers(&html);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        roxmltree::Document::parse_with_options(&html, options).expect("a well-formed page");
    }

    #[test]
    fn numbers_are_never_strange(value in number(), decimals in 0usize..20) {
        for text in [
            format::number(value), format::si(value), format::percent(value), format::duration(value),
            format::clock(value), format::fixed(value, decimals), format::figure(value), format::span(value),
        ] {
            prop_assert!(!text.is_empty());
            no_strange_numbers(&text);
        }
    }
}
