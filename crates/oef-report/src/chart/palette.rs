//! The colours of series, in light and in dark, and of heat maps.
//!
//! The hues are about those of Okabe and Ito, with a violet for their yellow, which is hardly seen on white. They were
//! moved so that every one stands out from the page, and from each other one also for readers with protanopia,
//! deuteranopia or tritanopia; the tests of this file measure both. Past eight, colours come again with dashes (lines)
//! or hatching (areas).

use std::fmt::Write;

/// How many series are told apart in one chart; the others are drawn in grey or together.
pub const DISTINCT: usize = 12;
/// How many colours there are.
pub(crate) const COLOURS: usize = 8;
/// How many steps the scale of a heat map has.
pub(crate) const HEAT_STEPS: usize = 17;

const LIGHT: [u32; COLOURS] =
    [0x005da4, 0xc89e00, 0x049462, 0xf367a8, 0xa5320b, 0x61a4eb, 0x222222, 0x9b30f0];
const DARK: [u32; COLOURS] =
    [0x6f96ec, 0xf2b003, 0x0fdf98, 0xdc6c9f, 0xd63f20, 0xc2baf3, 0xffffff, 0x8551fa];

/// Names of the colours of a page: background, panel, ink, quiet ink, grid, axis, and what is drawn in grey.
const ROLES: [&str; 7] = ["bg", "panel", "ink", "muted", "grid", "axis", "rest"];
const LIGHT_ROLES: [u32; 7] =
    [0xffffff, 0xf6f8fa, 0x1b1f24, 0x57606a, 0xe3e7eb, 0x7d8590, 0xced3d9];
const DARK_ROLES: [u32; 7] = [0x14181d, 0x1d2229, 0xe8ebee, 0xa3acb6, 0x2d343c, 0x7d8590, 0x545c65];

/// Low, middle and high end of a heat map: blue and orange, which no common form of colour-blindness confuses.
const LIGHT_HEAT: [u32; 3] = [0x0a5c99, 0xf7f8f9, 0xb84a00];
const DARK_HEAT: [u32; 3] = [0x58b0ee, 0x232a32, 0xf59342];

/// The style of one series: which colour, and whether the second way to draw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// One of the [`DISTINCT`] looks.
    Slot(usize),
    /// Grey: one of those that are not told apart.
    Rest,
}

impl Look {
    /// The class that sets the colour.
    pub fn class(self) -> String {
        match self {
            Look::Slot(slot) => format!("s{}", slot % COLOURS),
            Look::Rest => "sx".into(),
        }
    }

    /// Whether the colour comes a second time, with dashes or hatching.
    pub fn is_second(self) -> bool {
        matches!(self, Look::Slot(slot) if slot % DISTINCT >= COLOURS)
    }
}

/// The colours as custom properties: light, dark where the screen asks for it, always light in print.
pub(crate) fn custom_properties() -> String {
    let mut css = String::new();
    let light = theme(LIGHT_ROLES, LIGHT, LIGHT_HEAT);
    let dark = theme(DARK_ROLES, DARK, DARK_HEAT);
    let _ = writeln!(css, ":root{{color-scheme:light dark;{light}}}");
    let _ = writeln!(css, "@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}");
    for slot in 0..COLOURS {
        let _ = write!(css, ".s{slot}{{--c:var(--c{slot})}}");
    }
    css.push_str(".sx{--c:var(--rest)}\n");
    for step in 0..HEAT_STEPS {
        let _ = write!(css, ".h{step}{{--h:var(--h{step});--t:var(--t{step})}}");
    }
    css.push('\n');
    css
}

fn theme(roles: [u32; 7], series: [u32; COLOURS], heat: [u32; 3]) -> String {
    let mut css = String::new();
    for (name, colour) in ROLES.iter().zip(roles) {
        let _ = write!(css, "--{name}:#{colour:06x};");
    }
    for (slot, colour) in series.into_iter().enumerate() {
        let _ = write!(css, "--c{slot}:#{colour:06x};");
    }
    for step in 0..HEAT_STEPS {
        let colour = heat_colour(heat, step);
        let dark_text = contrast(colour, 0x000000) >= contrast(colour, 0xffffff);
        let text = if dark_text { "#000" } else { "#fff" };
        let _ = write!(css, "--h{step}:#{colour:06x};--t{step}:{text};");
    }
    css
}

/// The colour of a step between the low (0), middle and high end.
fn heat_colour([low, middle, high]: [u32; 3], step: usize) -> u32 {
    let half = (HEAT_STEPS / 2) as f64;
    let part = (step as f64 - half) / half;
    mixed(middle, if part < 0.0 { low } else { high }, part.abs())
}

fn mixed(a: u32, b: u32, part: f64) -> u32 {
    [16, 8, 0].into_iter().fold(0, |out, shift| {
        let channel = |colour: u32| f64::from((colour >> shift) & 0xff);
        // Between two bytes, so it is a byte.
        let byte = (channel(a) + (channel(b) - channel(a)) * part).round() as u32;
        out | (byte.min(0xff) << shift)
    })
}

/// The contrast of two colours as the web accessibility guidelines define it, from 1 to 21.
fn contrast(a: u32, b: u32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: u32) -> f64 {
    let [r, g, b] = linear(colour);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Red, green and blue in linear light.
fn linear(colour: u32) -> [f64; 3] {
    [16, 8, 0].map(|shift| {
        let c = f64::from((colour >> shift) & 0xff) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What people see who lack one kind of cone, after Machado, Oliveira and Fernandes (2009), severity 1.
    const SIGHTS: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// A colour as it is seen, in Oklab, where distances are about even.
    fn seen(colour: u32, sight: [[f64; 3]; 3]) -> [f64; 3] {
        let c = linear(colour);
        let [r, g, b] =
            sight.map(|row| row.iter().zip(c).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0));
        let l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b).cbrt();
        let m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b).cbrt();
        let s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b).cbrt();
        [
            0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
        ]
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn colour_blind_readers_can_tell_the_series_apart() {
        for (theme, colours) in [("light", LIGHT), ("dark", DARK)] {
            for (sight, matrix) in SIGHTS {
                for i in 0..COLOURS {
                    for j in 0..i {
                        let d = distance(seen(colours[i], matrix), seen(colours[j], matrix));
                        // The plain Okabe-Ito colours come to 0.076.
                        assert!(d > 0.1, "{theme}, {sight}: colours {j} and {i} are {d:.3} apart");
                    }
                }
            }
        }
    }

    #[test]
    fn nobody_takes_a_series_for_the_rest() {
        for (theme, roles, colours) in [("light", LIGHT_ROLES, LIGHT), ("dark", DARK_ROLES, DARK)] {
            for (sight, matrix) in SIGHTS {
                for (slot, colour) in colours.into_iter().enumerate() {
                    let d = distance(seen(colour, matrix), seen(roles[6], matrix));
                    assert!(d > 0.1, "{theme}, {sight}: colour {slot} is {d:.3} from grey");
                }
            }
            assert!(contrast(roles[6], roles[0]) > 1.3, "{theme}: grey is seen");
        }
    }

    #[test]
    fn series_and_text_stand_out_from_the_page() {
        for (theme, roles, colours) in [("light", LIGHT_ROLES, LIGHT), ("dark", DARK_ROLES, DARK)] {
            for (slot, colour) in colours.into_iter().enumerate() {
                let c = contrast(colour, roles[0]);
                assert!(c >= 2.45, "{theme}: colour {slot} has contrast {c:.2}");
            }
            for page in [roles[0], roles[1]] {
                assert!(contrast(roles[2], page) >= 12.0, "{theme}: ink");
                assert!(contrast(roles[3], page) >= 5.5, "{theme}: quiet ink");
            }
        }
    }

    #[test]
    fn text_on_a_heat_map_can_be_read() {
        for heat in [LIGHT_HEAT, DARK_HEAT] {
            for step in 0..HEAT_STEPS {
                let colour = heat_colour(heat, step);
                let best = contrast(colour, 0x000000).max(contrast(colour, 0xffffff));
                assert!(best >= 4.5, "step {step} has contrast {best:.2}");
            }
        }
    }

    #[test]
    fn lightness_grows_from_the_middle_of_a_heat_map_to_both_ends() {
        for heat in [LIGHT_HEAT, DARK_HEAT] {
            let middle = luminance(heat[1]);
            for step in HEAT_STEPS / 2..HEAT_STEPS - 1 {
                let away = |step| (luminance(heat_colour(heat, step)) - middle).abs();
                assert!(away(step + 1) > away(step));
                assert!(away(HEAT_STEPS - 2 - step) > away(HEAT_STEPS - 1 - step));
            }
        }
    }
}
