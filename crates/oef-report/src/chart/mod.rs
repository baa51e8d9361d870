//! Charts as SVG.
//!
//! Every chart is built from its data, takes anything (what is not finite is left out, and the caption says so),
//! and is drawn by [`Chart::draw`] into a [`Figure`]: the same bytes for the same data.

mod axis;
mod bars;
mod cdf;
mod figure;
mod frame;
mod heat_map;
mod legend;
mod line;
mod looks;
mod markers;
mod palette;
mod reduce;
mod segments;
mod stack;
mod style;
mod svg;
mod text;
mod ticks;
mod timeline;
mod timeline_picture;

pub use axis::Axis;
pub use bars::{Bar, Bars};
pub use cdf::Cdf;
pub use figure::{Chart, Figure};
pub use heat_map::HeatMap;
pub use line::{LineChart, Series};
pub use palette::DISTINCT;
pub use timeline::{MAX_ROWS, Row, Timeline};

pub(crate) use text::FONT;
