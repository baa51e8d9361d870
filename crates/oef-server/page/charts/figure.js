// A chart with its title, its data as a table, and as CSV.

import { h, set } from "../lib/dom.js";
import { csv, table } from "../lib/table.js";

/**
 * @param {{title: any, note?: any, name: string, chart: Element, tools?: any, level?: string,
 *   data: () => {columns: import("../lib/table.js").Column[], rows: any[]}}} options
 */
export function figure({ title, note, name, chart, tools, data, level = "h2" }) {
  const place = h("div", { class: "figure-body" }, chart);
  let asTable = false;
  const flip = h("button", { type: "button", class: "tool", "aria-pressed": "false", on: { click: turn } }, "Table");
  const take = h(
    "button",
    {
      type: "button",
      class: "tool",
      on: {
        click: () => {
          const { columns, rows } = data();
          csv(name, columns, rows);
        },
      },
    },
    "CSV",
  );
  const element = h(
    "figure",
    { class: "figure" },
    h(
      "div",
      { class: "figure-head" },
      title && h(level, { class: "figure-title" }, title),
      h("div", { class: "tools" }, tools, flip, take),
    ),
    note && h("p", { class: "note muted" }, note),
    place,
  );

  function turn() {
    asTable = !asTable;
    flip.setAttribute("aria-pressed", String(asTable));
    flip.textContent = asTable ? "Chart" : "Table";
    draw();
  }

  function draw() {
    if (!asTable) {
      if (place.firstChild !== chart) set(place, chart);
      return;
    }
    const { columns, rows } = data();
    const shown = table({ caption: `Data of the chart ${name}`, columns, limit: 300, rowHead: false });
    shown.set(rows);
    set(place, shown.element);
  }

  return { element, refresh: () => asTable && draw() };
}
