// GPU-hours as bars: what was held within the share, beyond it, what of the share others used, and what was lost.

import { h } from "../lib/dom.js";
import { figure } from "../lib/format.js";
import { isDark } from "../lib/colour.js";

const PARTS = [
  ["within", "within its share"],
  ["borrowed", "borrowed: beyond its share"],
  ["lent", "lent: its share, not used by it"],
  ["wasted", "wasted: work that was not saved"],
];

/**
 * A bar for each sum. `whole` is what a full width stands for.
 * @param {{name: any, label: string, colour?: string, within: number, borrowed: number, lent: number, wasted: number}[]} sums
 */
export function usageBars(sums) {
  const whole = Math.max(...sums.map((sum) => sum.within + sum.borrowed + sum.lent), 0) || 1;
  return h(
    "div",
    { class: "usage-bars" },
    sums.map((sum) => [h("div", { class: "usage-name" }, sum.name), bar(sum, whole)]),
  );
}

function bar(sum, whole) {
  const width = (hours) => `${(100 * hours) / whole}%`;
  const piece = (part) => sum[part] > 0 && h("span", { class: `usage-${part}`, style: { width: width(sum[part]) } });
  const words = PARTS.filter(([part]) => sum[part] >= 0.0005)
    .map(([part, text]) => `${figure(sum[part])} ${text}`)
    .join("; ");
  return h(
    "div",
    {
      class: "usage-bar",
      role: "img",
      "aria-label": `${sum.label}: ${words || "nothing"} (GPU-hours)`,
      title: words,
      style: { "--c": sum.colour ?? (isDark() ? "#7fb2f5" : "#00569f") },
    },
    h("div", { class: "usage-held" }, piece("within"), piece("borrowed"), piece("lent")),
    h("div", { class: "usage-lost" }, piece("wasted")),
  );
}

/** What the parts mean; without shares only what was held and what was lost. */
export function usageLegend(withShares) {
  const shown = withShares ? PARTS : [["within", "held"], PARTS[3]];
  return h(
    "ul",
    { class: "legend usage-legend" },
    shown.map(([part, text]) => h("li", {}, h("span", { class: `swatch usage-${part}` }), h("span", { text }))),
  );
}
