// Before, after and the difference.

import { h, set } from "../lib/dom.js";
import { change, figure, signed, span, whole } from "../lib/format.js";
import { badge, loading, stat, stats, trouble } from "../lib/parts.js";
import { figure as withTable } from "../charts/figure.js";
import { stacked, typeColour, typeLegend } from "../charts/bars.js";
import { seesAll } from "../lib/state.js";
import { table } from "../lib/table.js";
import { compared } from "./round.js";

/** The right side of the view. */
export function result() {
  const figures = h("div", {}, loading(2));
  const chart = h("div", {}, loading(6));
  const certs = h("div", {}, loading(3));
  const types = h("div");
  let answer = null;
  const shown = withTable({
    title: seesAll() ? "Everybody before and after" : "Before and after",
    name: "what-if",
    chart,
    note: "The pale bar is the share now, the full one the share in the scenario, by gpu type.",
    data: () => data(answer),
  });
  const element = h(
    "div",
    { class: "grid" },
    h("section", { class: "card" }, figures),
    h("section", { class: "card" }, shown.element),
    seesAll() && h("section", { class: "card span-7" }, h("h2", { text: "Certificate" }), certs),
    h("section", { class: "card span-5" }, h("h2", { text: "Gpu types" }), types),
  );

  return {
    element,
    show(next, ms) {
      // A certificate that comes later stays until the next one is there.
      if (!next.audit_after && answer?.audit_after) certs.classList.add("muted");
      else certs.classList.remove("muted");
      answer = next;
      set(figures, totals(answer, ms));
      set(chart, everybody(answer), typeLegend(answer.types.map((t) => t.type)));
      if (answer.audit_after) set(certs, compared(answer));
      set(types, typeTable(answer));
      shown.refresh();
    },
    fail: (error) => set(figures, trouble(error)),
  };
}

function totals(answer, ms) {
  const both = answer.tenants.filter((t) => t.before && t.after);
  const gain = both.filter((t) => t.after.throughput > t.before.throughput * 1.0005);
  const lose = both.filter((t) => t.after.throughput < t.before.throughput * 0.9995);
  const least = (side) =>
    Math.min(
      ...answer.tenants
        .map((t) => t[side])
        .filter((f) => f?.equal_split > 0)
        .map((f) => f.throughput / f.equal_split),
    );
  const [worstBefore, worstAfter] = [least("before"), least("after")];
  return stats(
    stat(seesAll() ? "total throughput" : "throughput", figure(answer.total_after), [
      `from ${figure(answer.total_before)} `,
      delta(answer.total_before, answer.total_after),
    ]),
    stat("gain", whole(gain.length), best(gain)),
    stat("lose", whole(lose.length), best(lose)),
    stat(
      "least of its equal split",
      Number.isFinite(worstAfter) ? `${(100 * worstAfter).toFixed(0)} %` : "–",
      Number.isFinite(worstBefore) ? `from ${(100 * worstBefore).toFixed(0)} %` : "",
      worstAfter < 0.9995 ? "warning" : "",
    ),
    stat("solved in", span(answer.solve_s), ms ? `answer in ${span(ms / 1000)}` : ""),
  );
}

function best(list) {
  if (!list.length) return "";
  const most = [...list].sort(
    (a, b) =>
      Math.abs(b.after.throughput / b.before.throughput - 1) - Math.abs(a.after.throughput / a.before.throughput - 1),
  )[0];
  return `most: ${most.tenant} ${change(most.before.throughput, most.after.throughput)}`;
}

function delta(before, after) {
  const up = after > before * 1.0005;
  const down = after < before * 0.9995;
  return h("span", { class: `delta ${up ? "good" : down ? "bad" : "muted"}`, text: change(before, after) });
}

function everybody(answer) {
  const sum = (figures) => (figures ? figures.share.reduce((a, b) => a + b, 0) : 0);
  const widest = Math.max(1, ...answer.tenants.flatMap((t) => [sum(t.before), sum(t.after)]));
  const parts = (figures) =>
    answer.types.map((type, i) => ({
      name: type.type,
      value: figures?.share[i] ?? 0,
      colour: typeColour(i, answer.types.length),
    }));
  const list = table({
    caption: "Everybody before and after",
    sort: [4, -1],
    limit: 120,
    columns: [
      {
        name: "tenant",
        show: (t) => h("span", { class: "chip" }, badge(t.tenant), h("span", { class: "chip-name", text: t.tenant })),
        value: (t) => t.tenant,
      },
      {
        name: "weight",
        show: (t) => weight(t),
        value: (t) => (t.after ?? t.before).weight,
        number: true,
        class: "on-desktop",
      },
      {
        name: "share",
        show: (t) => {
          const was = stacked(parts(t.before), widest, "now");
          was.classList.add("was");
          return h("span", { class: "ba" }, was, stacked(parts(t.after), widest, "then"));
        },
        value: (t) => sum(t.after),
        class: "wide",
      },
      {
        name: "now",
        show: (t) => figure(t.before?.throughput ?? NaN),
        value: (t) => t.before?.throughput ?? 0,
        number: true,
      },
      {
        name: "then",
        show: (t) => h("b", { text: figure(t.after?.throughput ?? NaN) }),
        value: (t) => t.after?.throughput ?? 0,
        number: true,
      },
      {
        name: "difference",
        show: (t) =>
          t.before && t.after
            ? delta(t.before.throughput, t.after.throughput)
            : h("span", { class: "tag", text: t.after ? "new" : "leaves" }),
        value: (t) => (t.before && t.after ? t.after.throughput / t.before.throughput : null),
        number: true,
      },
      {
        name: "of equal split",
        show: (t) =>
          t.after?.equal_split > 0 ? `${((100 * t.after.throughput) / t.after.equal_split).toFixed(0)} %` : "–",
        value: (t) => (t.after ? t.after.throughput / t.after.equal_split : null),
        number: true,
        class: "on-desktop",
      },
    ],
  });
  list.set(answer.tenants);
  list.element.classList.add("cards-on-phone");
  return list.element;
}

function weight(t) {
  const [before, after] = [t.before?.weight, t.after?.weight];
  if (before !== undefined && after !== undefined && Math.abs(before - after) > 1e-9)
    return h("span", {}, h("s", { class: "muted", text: figure(before) }), " ", h("b", { text: figure(after) }));
  return figure(after ?? before);
}

function typeTable(answer) {
  const list = table({
    caption: "Gpu types before and after",
    columns: [
      { name: "gpu type", show: (t) => t.type },
      {
        name: "GPUs",
        show: (t) =>
          t.before === t.after
            ? whole(t.after)
            : h("span", {}, h("s", { class: "muted", text: whole(t.before) }), " ", h("b", { text: whole(t.after) })),
        value: (t) => t.after,
        number: true,
      },
      { name: "price now", show: (t) => figure(t.price_before), value: (t) => t.price_before, number: true },
      {
        name: "then",
        show: (t) =>
          // What a price becomes follows from what others work on: a tenant does not see it.
          t.price_after === null
            ? "–"
            : h(
                "span",
                {},
                figure(t.price_after),
                " ",
                h("span", { class: "muted", text: `(${signed(t.price_after - t.price_before)})` }),
              ),
        value: (t) => t.price_after,
        number: true,
      },
    ],
  });
  list.set(answer.types);
  return h(
    "div",
    {},
    list.element,
    h("p", {
      class: "muted small",
      text: `Price of a GPU, in throughput; 0 if more of the type would help nobody. Throughput counts in GPUs of ${answer.reference}.`,
    }),
  );
}

function data(answer) {
  const number = (name, value) => ({ name, show: (t) => figure(value(t)), value, number: true });
  return {
    columns: [
      { name: "tenant", show: (t) => t.tenant },
      number("weight now", (t) => t.before?.weight ?? null),
      number("weight then", (t) => t.after?.weight ?? null),
      number("throughput now", (t) => t.before?.throughput ?? null),
      number("throughput then", (t) => t.after?.throughput ?? null),
      number("equal split now", (t) => t.before?.equal_split ?? null),
      number("equal split then", (t) => t.after?.equal_split ?? null),
      ...(answer?.types ?? []).flatMap((type, i) => [
        number(`${type.type} now`, (t) => t.before?.share[i] ?? null),
        number(`${type.type} then`, (t) => t.after?.share[i] ?? null),
      ]),
    ],
    rows: answer?.tenants ?? [],
  };
}
