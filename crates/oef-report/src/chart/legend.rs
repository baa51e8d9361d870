//! What the colours mean.

use super::palette::Look;
use super::svg::{Anchor, Path, Svg};
use super::text::{SIZE, fitted, width};
use crate::format::counted;

/// Longer names are cut here; the whole name is in the tooltip.
const NAME_ROOM: f64 = 176.0;
/// Rows end here even in a wide chart: on a phone one sees this much of it without scrolling.
const MAX_ROOM: f64 = 450.0;
const ROW: f64 = 20.0;
const SWATCH: f64 = 20.0;

/// One line of a legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub name: String,
    pub look: Look,
    pub swatch: Swatch,
}

/// The small picture beside a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swatch {
    Line,
    Area,
    /// The mark beside a bar.
    Mark,
}

/// An entry for each series that has a look of its own, and one for those in grey.
pub(crate) fn entries<'a>(
    series: impl Iterator<Item = (&'a String, &'a Look)>,
    in_grey: usize,
    swatch: Swatch,
) -> Vec<Entry> {
    let told_apart = series.filter(|(_, look)| **look != Look::Rest);
    let named = told_apart.map(|(name, look)| Entry { name: name.clone(), look: *look, swatch });
    let others = Entry { name: counted(in_grey, "other"), look: Look::Rest, swatch };
    named.chain((in_grey > 0).then_some(others)).collect()
}

/// Draws the entries in rows from `top` on; the answer is where the rest begins.
pub(crate) fn draw(svg: &mut Svg, entries: &[Entry], top: f64, room: f64) -> f64 {
    let room = room.min(MAX_ROOM);
    let (mut x, mut y) = (8.0, top);
    for entry in entries {
        let name = fitted(&entry.name, NAME_ROOM, SIZE);
        let length = SWATCH + 6.0 + width(&name, SIZE) + 14.0;
        if x > 8.0 && x + length > room {
            (x, y) = (8.0, y + ROW);
        }
        svg.group(&entry.look.class(), |svg| {
            swatch(svg, entry, [x, y + ROW / 2.0]);
            svg.text([x + SWATCH + 6.0, y + ROW / 2.0 + 4.5], Anchor::Start, "", &name);
        });
        x += length;
    }
    if entries.is_empty() { top } else { y + ROW + 4.0 }
}

fn swatch(svg: &mut Svg, entry: &Entry, [x, y]: [f64; 2]) {
    let tip = Some(entry.name.as_str());
    match entry.swatch {
        Swatch::Line => svg.line([x, y, x + SWATCH, y], line_class(entry.look), tip),
        Swatch::Area => {
            let area = [x + 3.0, y - 7.0, 14.0, 14.0];
            svg.rect(area, "area", tip);
            if entry.look.is_second() {
                svg.rect(area, "hatch", tip);
            }
        }
        Swatch::Mark => svg.path(&diamond([x + SWATCH / 2.0, y], 5.0), "mark", tip),
    }
}

/// The class of a line of this look.
pub(crate) fn line_class(look: Look) -> &'static str {
    match look {
        Look::Rest => "line rest",
        _ if look.is_second() => "line dash",
        _ => "line",
    }
}

/// A dot whose form goes with the colour, so that the colour is not needed.
pub(crate) fn dot(centre: [f64; 2], radius: f64, look: Look) -> Path {
    let Look::Slot(slot) = look else { return polygon(centre, radius, &CIRCLE) };
    match slot % 6 {
        0 => polygon(centre, radius, &CIRCLE),
        1 => polygon(centre, radius, &[[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]),
        2 => polygon(centre, radius * 1.15, &[[0.0, -1.0], [0.95, 0.7], [-0.95, 0.7]]),
        3 => diamond(centre, radius * 1.2),
        4 => polygon(centre, radius * 1.15, &[[0.0, 1.0], [0.95, -0.7], [-0.95, -0.7]]),
        _ => polygon(centre, radius * 1.1, &CROSS),
    }
}

/// A circle as an octagon: at this size nobody sees the corners, and all dots are one kind of element.
const CIRCLE: [[f64; 2]; 8] = [
    [0.0, -1.0],
    [0.71, -0.71],
    [1.0, 0.0],
    [0.71, 0.71],
    [0.0, 1.0],
    [-0.71, 0.71],
    [-1.0, 0.0],
    [-0.71, -0.71],
];

const CROSS: [[f64; 2]; 12] = [
    [-0.35, -1.0],
    [0.35, -1.0],
    [0.35, -0.35],
    [1.0, -0.35],
    [1.0, 0.35],
    [0.35, 0.35],
    [0.35, 1.0],
    [-0.35, 1.0],
    [-0.35, 0.35],
    [-1.0, 0.35],
    [-1.0, -0.35],
    [-0.35, -0.35],
];

pub(crate) fn diamond(centre: [f64; 2], radius: f64) -> Path {
    polygon(centre, radius, &[[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
}

fn polygon([x, y]: [f64; 2], radius: f64, corners: &[[f64; 2]]) -> Path {
    let mut path = Path::new();
    for (i, [dx, dy]) in corners.iter().enumerate() {
        let at = [x + dx * radius, y + dy * radius];
        if i == 0 {
            path.start(at)
        } else {
            path.to(at)
        };
    }
    path.close();
    path
}
