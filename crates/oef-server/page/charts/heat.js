// A matrix as a heat map, as a table that is coloured: it can be read by everybody.

import { h } from "../lib/dom.js";
import { heatColour, inkOn } from "../lib/colour.js";
import { figure } from "../lib/format.js";
import { badge } from "../lib/parts.js";

/** Whom each would rather be: rows compare, columns are compared with; 1 is as good as one's own. */
export function envyMap(matrix) {
  const cell = (ratio, i, j) => {
    if (i === j) return h("td", { class: "self", text: "" });
    const colour = heatColour(Math.max(-1, Math.min(1, (ratio - 1) / 0.5)));
    const words = `${matrix.tenants[i]} values the share of ${matrix.tenants[j]} at ${figure(ratio)} times its own`;
    return h("td", {
      class: "heat",
      style: { background: colour, color: inkOn(colour) },
      title: words,
      text: matrix.tenants.length <= 14 ? ratio.toFixed(2) : "",
    });
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who would prefer whose share" },
    h(
      "table",
      { class: "heatmap" },
      h("caption", { class: "sr", text: "Each row compares the shares of others with its own; above 1 is envy" }),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          matrix.tenants.map((name) =>
            h("th", { scope: "col", title: name }, badge(name), h("span", { class: "sr", text: name })),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        matrix.tenants.map((name, i) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, badge(name), " ", h("span", { class: "chip-name", text: name })),
            matrix.ratios[i].map((ratio, j) => cell(ratio, i, j)),
          ),
        ),
      ),
    ),
  );
}
