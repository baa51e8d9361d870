//! Tables, SVG charts and one self-contained HTML report, as pure functions of their data.
//!
//! The crate knows nothing of scheduling: it is told names and numbers. It does no I/O and cannot fail: data that
//! cannot be shown is left out and the caption says so, and the same data gives the same bytes.
//!
//! ```
//! use oef_report::chart::{Axis, Cdf, LineChart, Series};
//! use oef_report::html::{Card, Report, Section, Tone};
//! use oef_report::table::{Column, Table};
//!
//! let throughput = LineChart::new("Throughput", "Throughput of two tenants over an hour and a half")
//!     .y(Axis::new("throughput").unit("jobs/h"))
//!     .steps()
//!     .series(Series::new("tenant 1", vec![(0.0, 2.0), (2400.0, 3.0), (5400.0, 3.0)]))
//!     .series(Series::new("tenant 2", vec![(0.0, 2.0), (2400.0, 0.0)]))
//!     .marker(2400.0, "tenant 2 leaves");
//! let times = Cdf::new("Job completion time", "Share of jobs that are done after a time")
//!     .x(Axis::time("job completion time").log())
//!     .samples("noncooperative", vec![600.0, 1800.0, 7200.0]);
//! let mut table = Table::new("Mechanisms")
//!     .column(Column::text("mechanism"))
//!     .column(Column::duration("mean completion time").lowest_is_best());
//! table.row(["noncooperative".into(), 3200.0.into()]);
//! table.row(["max-min".into(), 3900.0.into()]);
//! let html = Report::new("A small cluster")
//!     .card(Card::new("-18 %", "completion time", "Against max-min.").tone(Tone::Good))
//!     .section(Section::new("Throughput").figure(&throughput, "Equal until tenant 2 leaves."))
//!     .section(Section::new("Jobs").figure(&times, "Further left is better.").table(table))
//!     .version("oef 0.1.0")
//!     .to_html();
//! assert!(html.contains("tenant 2 leaves"));
//! ```

#![forbid(unsafe_code)]

pub mod chart;
mod escape;
pub mod format;
pub mod html;
pub mod table;

pub use escape::escape;
