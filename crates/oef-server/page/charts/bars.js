// Shares by gpu type as bars that are stacked, for tables and for before and after.

import { h } from "../lib/dom.js";
import { figure } from "../lib/format.js";
import { isDark, rgb } from "../lib/colour.js";

/** Gpu types are degrees of one hue, so that nobody takes them for tenants. */
export function typeColour(index, of = 3) {
  const [from, to] = isDark() ? ["#2c4766", "#8ec2ff"] : ["#a9c6e6", "#003d73"];
  const part = of > 1 ? index / (of - 1) : 1;
  const [a, b] = [rgb(from), rgb(to)];
  return (
    "#" +
    a
      .map((c, i) =>
        Math.round(c + (b[i] - c) * part)
          .toString(16)
          .padStart(2, "0"),
      )
      .join("")
  );
}

/**
 * Parts of a whole as one bar.
 * @param {{name: string, value: number, colour: string}[]} parts
 */
export function stacked(parts, whole, label) {
  const shown = parts.filter((part) => part.value > 0.004);
  const words = shown.map((part) => `${figure(part.value)} ${part.name}`).join(", ") || "nothing";
  return h(
    "span",
    { class: "stack", role: "img", "aria-label": `${label ?? ""} ${words}`.trim(), title: words },
    shown.map((part) => h("span", { style: { width: `${(100 * part.value) / (whole || 1)}%`, "--c": part.colour } })),
  );
}

/** A legend of gpu types. */
export function typeLegend(types) {
  return h(
    "ul",
    { class: "legend" },
    types.map((type, i) =>
      h("li", {}, h("span", { class: "swatch", style: { background: typeColour(i, types.length) } }), type),
    ),
  );
}
