//! Small bars of block characters.

/// Eighths of a character cell, from nothing to full.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// The same standing upright, for one character per tenant.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A lying bar: `value` of `full`, drawn in at most `width` cells and padded to that width.
pub fn bar(value: f64, full: f64, width: usize) -> String {
    let part = if full > 0.0 { (value / full).clamp(0.0, 1.0) } else { 0.0 };
    // Rounding a part of a short bar; the cast saturates and cannot go wrong.
    let eighths = (part * (width * 8) as f64).round() as usize;
    let mut out: String = std::iter::repeat_n(EIGHTHS[8], eighths / 8).collect();
    out.extend(Some(EIGHTHS[eighths % 8]).filter(|&part| part != EIGHTHS[0]));
    let drawn = out.chars().count();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(drawn)));
    out
}

/// One standing block: `value` of `full`.
pub fn level(value: f64, full: f64) -> char {
    let part = if full > 0.0 { (value / full).clamp(0.0, 1.0) } else { 0.0 };
    LEVELS[((part * 8.0).ceil() as usize).clamp(1, 8) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_width() {
        assert_eq!(bar(1.0, 1.0, 4), "████");
        assert_eq!(bar(0.5, 1.0, 4), "██  ");
        assert_eq!(bar(0.0, 1.0, 3), "   ");
        assert_eq!(bar(9.0, 1.0, 2), "██");
        assert_eq!(bar(f64::NAN, 1.0, 2), "  ");
        assert_eq!(bar(1.0, 0.0, 2), "  ");
        assert_eq!(level(0.0, 1.0), '▁');
        assert_eq!(level(1.0, 1.0), '█');
    }
}
