// Tables that can be sorted and taken away as CSV.

import { download, h, set } from "./dom.js";

/**
 * @typedef {object} Column
 * @property {string} name what stands above it
 * @property {string} [unit]
 * @property {(row: any) => any} show what stands in a cell: text or an element
 * @property {(row: any) => any} [value] what it is sorted by and exported as; by default what is shown
 * @property {boolean} [number] whether it is a figure
 * @property {string} [class]
 */

/**
 * A table. `columns[i].value` gives what is compared; rows keep their order where it is the same.
 * @param {{caption: string, columns: Column[], sort?: [number, number], link?: (row: any) => string, empty?: any, limit?: number}} options
 */
export function table(options) {
  const { columns } = options;
  let [by, direction] = options.sort ?? [-1, 1];
  let rows = [];
  const head = h(
    "tr",
    {},
    columns.map((column, i) => header(column, i)),
  );
  const body = h("tbody");
  const more = h("p", { class: "muted small", hidden: true });
  const element = h(
    "div",
    { class: "table-wrap" },
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": options.caption },
      h(
        "table",
        {},
        h("caption", { class: options.quiet === false ? "" : "sr", text: options.caption }),
        h("thead", {}, head),
        body,
      ),
    ),
    more,
  );

  function header(column, i) {
    const text = column.unit ? `${column.name} (${column.unit})` : column.name;
    const cell = h("th", { scope: "col", class: cellClass(column) });
    if (column.value === null) return set(cell, text);
    cell.append(
      h(
        "button",
        { type: "button", class: "sort", on: { click: () => order(i) } },
        text,
        h("span", { class: "arrow", "aria-hidden": "true" }),
      ),
    );
    return cell;
  }

  function cellClass(column) {
    return [column.number ? "num" : "", column.class ?? ""].join(" ").trim() || null;
  }

  function order(i) {
    direction = by === i ? -direction : columns[i].number ? -1 : 1;
    by = i;
    draw();
  }

  function draw() {
    [...head.children].forEach((cell, i) => {
      if (i === by) cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
    const value = columns[by]?.value ?? columns[by]?.show;
    const sorted = value ? [...rows].sort((a, b) => direction * compare(value(a), value(b))) : rows;
    const limit = options.limit ?? 500;
    const shown = sorted.slice(0, limit).map((row) =>
      h(
        "tr",
        options.row?.(row) ?? {},
        columns.map((column, i) => {
          const content = column.show(row);
          return i === 0 && options.rowHead !== false
            ? h("th", { scope: "row", class: cellClass(column) }, content)
            : h("td", { class: cellClass(column), data: { name: column.name } }, content);
        }),
      ),
    );
    if (shown.length === 0)
      shown.push(
        h("tr", { class: "none" }, h("td", { colspan: String(columns.length) }, options.empty ?? "nothing to show")),
      );
    set(body, shown);
    more.hidden = sorted.length <= limit;
    more.textContent = `${sorted.length - limit} more; narrow the filter, or take the CSV`;
  }

  return {
    element,
    set(next) {
      rows = next;
      draw();
    },
    csv(name) {
      csv(name, columns, rows);
    },
  };
}

function compare(a, b) {
  const none = (x) => x === null || x === undefined || Number.isNaN(x);
  if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Rows as a file that every spreadsheet reads. What begins like a formula is made plain text. */
export function csv(name, columns, rows) {
  const cell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const plain = (column, row) => {
    const value = (column.value ?? column.show)(row);
    return value instanceof Node ? value.textContent : value;
  };
  const head = columns.map((column) => cell(column.unit ? `${column.name} (${column.unit})` : column.name));
  const lines = rows.map((row) => columns.map((column) => cell(plain(column, row))).join(","));
  download(`${name}.csv`, "text/csv", [head.join(","), ...lines, ""].join("\r\n"));
}
