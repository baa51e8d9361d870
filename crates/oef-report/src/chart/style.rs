//! How charts look: one style for all, which takes its colours from custom properties.

/// Sizes, weights and dashes; the colours come from the palette.
pub(crate) const CHARTS: &str = "\
.oef{height:auto}
.oef text{font-size:13px;fill:var(--ink);font-variant-numeric:tabular-nums}
.oef text.m{text-anchor:middle}
.oef text.e{text-anchor:end}
.oef text.title{font-size:15px;font-weight:650}
.oef text.quiet,.oef text.tick,.oef text.axis{fill:var(--muted)}
.oef text.tick{font-size:12px}
.oef text.head{font-weight:600}
.oef text.halo{stroke:var(--bg);stroke-width:3.5px;stroke-linejoin:round;paint-order:stroke}
.oef .grid{stroke:var(--grid);stroke-width:1}
.oef .base{stroke:var(--axis);stroke-width:1}
.oef .empty{fill:var(--panel);stroke:var(--grid)}
.oef .panel{fill:var(--panel)}
.oef .line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.oef .line.dash{stroke-dasharray:6 3}
.oef .line.rest{stroke-width:1}
.oef .hit{fill:none;stroke:transparent;stroke-width:12;pointer-events:stroke}
.oef .area{fill:var(--c)}
.oef .area.edge{stroke:var(--bg);stroke-width:.8}
.oef .hatch{fill:url(#oef-hatch)}
.oef .dot{fill:var(--c);stroke:var(--bg);stroke-width:.8}
.oef .strip{fill:none;stroke:var(--c)}
.oef .strip.hatch{fill:none;stroke:url(#oef-hatch)}
.oef .crisp{shape-rendering:crispEdges}
.oef .reference{stroke:var(--muted);stroke-width:1.4;stroke-dasharray:2 3}
.oef .marker{stroke:var(--ink);stroke-width:1;stroke-dasharray:5 3;opacity:.75}
.oef .whisker{stroke:var(--ink);stroke-width:1.2;fill:none}
.oef .mark{fill:var(--bg);stroke:var(--ink);stroke-width:1.6}
.oef .cell{fill:var(--h);stroke:var(--bg);stroke-width:1}
.oef .heat{fill:none;stroke:var(--h)}
.oef .strip.none{stroke:url(#oef-none)}
.oef .cell.tight{stroke-width:0}
.oef text.value{fill:var(--t);font-size:12px}
.oef .none{fill:url(#oef-none)}
@media print{.oef{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
";

/// Hatching for colours that come a second time, and for cells without a value.
pub(crate) const PATTERNS: &str = "<defs>\
<pattern id=\"oef-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect width=\"2.6\" height=\"6\" style=\"fill:var(--bg)\"/></pattern>\
<pattern id=\"oef-none\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect width=\"1.2\" height=\"6\" style=\"fill:var(--rest)\"/></pattern></defs>";
