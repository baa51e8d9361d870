//! Exhibits as charts and tables of a report.

use crate::experiment::{self as data, Exhibit};
use oef_report::chart::{Axis, Bar, Bars, Cdf, HeatMap, LineChart, Series};
use oef_report::html::Section;
use oef_report::table::{Cell, Column, Table};

/// Adds an exhibit to a section.
pub fn add(section: Section, exhibit: &Exhibit) -> Section {
    match exhibit {
        Exhibit::Lines { caption, .. } => section.figure(&lines(exhibit), caption.as_str()),
        Exhibit::Bars { caption, .. } => section.figure(&bars(exhibit), caption.as_str()),
        Exhibit::Heat { title, caption, rows, columns, values } => {
            let chart = HeatMap::new(title, caption)
                .rows(rows.0.clone(), rows.1.clone())
                .columns(columns.0.clone(), columns.1.clone())
                .values(values.clone())
                .diverging(1.0);
            section.figure(&chart, caption.as_str())
        }
        Exhibit::Cdf { title, caption, x, samples } => {
            let chart = Cdf::new(title, caption).x(Axis::time(x).log()).quantile(0.5).quantile(0.9);
            let chart = samples.iter().fold(chart, |c, (name, s)| c.samples(name, s.clone()));
            section.figure(&chart, caption.as_str())
        }
        Exhibit::Table { caption, columns, rows } => section.table(table(caption, columns, rows)),
    }
}

fn lines(exhibit: &Exhibit) -> LineChart {
    let Exhibit::Lines { title, caption, x, y, log, lines, markers } = exhibit else {
        return LineChart::new("", "");
    };
    let horizontal = match x {
        Some(x) => Axis::new(x),
        None => Axis::time("time"),
    };
    // Times to solve are the only quantity over another one that is measured in seconds.
    let vertical = if x.is_some() && log.1 { Axis::time(y) } else { Axis::new(y) };
    let scaled = |axis: Axis, log: bool| if log { axis.log() } else { axis };
    let chart =
        LineChart::new(title, caption).x(scaled(horizontal, log.0)).y(scaled(vertical, log.1));
    let chart = lines.iter().fold(chart, |c, l| c.series(Series::new(&l.name, l.points.clone())));
    // Over time a value holds for its whole round.
    let chart = if x.is_none() { chart.steps() } else { chart };
    markers.iter().fold(chart, |c, (at, label)| c.marker(*at, label))
}

fn bars(exhibit: &Exhibit) -> Bars {
    let Exhibit::Bars { title, caption, axis, fraction, series, groups } = exhibit else {
        return Bars::new("", "");
    };
    let axis = if *fraction { Axis::fraction(axis) } else { Axis::new(axis) };
    let chart =
        Bars::new(title, caption).axis(axis).series(series.clone()).mark_name("the paper says");
    let bar = |bar: &data::Bar| {
        let drawn = Bar::new(bar.ours.median);
        let drawn =
            if bar.ours.draws > 1 { drawn.range(bar.ours.low, bar.ours.high) } else { drawn };
        bar.paper.map_or(drawn, |paper| drawn.mark(paper))
    };
    groups.iter().fold(chart, |c, g| c.group(&g.name, g.bars.iter().map(bar)))
}

fn table(caption: &str, columns: &[data::Column], rows: &[Vec<data::Cell>]) -> Table {
    let column = |column: &data::Column| match column {
        data::Column::Text(name) => Column::text(*name),
        data::Column::Number(name) => Column::number(*name),
        data::Column::Fraction(name) => Column::fraction(*name),
        data::Column::Duration(name) => Column::duration(*name),
    };
    let mut table = columns.iter().fold(Table::new(caption), |t, c| t.column(column(c)));
    for row in rows {
        table.row(row.iter().map(|cell| match cell {
            data::Cell::Text(text) => Cell::Text(text.clone()),
            data::Cell::Number(value) => Cell::Number(*value),
        }));
    }
    table
}
