// Tenants: who has what, who lacks what, and who would rather be whom.

import { all, api } from "../lib/api.js";
import { h, later, set, setText } from "../lib/dom.js";
import { count, figure, percent, signed, whole } from "../lib/format.js";
import { empty, loading, meter, tenantChip, trouble } from "../lib/parts.js";
import { colourOf } from "../lib/colour.js";
import { seesAll, state } from "../lib/state.js";
import { figure as withTable } from "../charts/figure.js";
import { stacked, typeColour, typeLegend } from "../charts/bars.js";
import { envyMap } from "../charts/heat.js";
import { table } from "../lib/table.js";

export async function show(main) {
  const sub = h("p", { class: "sub" });
  const place = h("div", {}, loading(6));
  const envyPlace = h("div", {}, loading(4));
  let details = new Map();
  let matrix = { tenants: [], ratios: [], more: 0 };
  let text = "";
  const list = table({
    caption: "Tenants",
    columns: columns(() => details),
    sort: [2, -1],
    limit: 100,
    empty: empty("No tenants yet", "A tenant appears with its first job.", "oef tenant create vision --weight 2"),
  });
  list.element.classList.add("cards-on-phone");
  const search = h("input", {
    type: "search",
    placeholder: "Search tenants…",
    "aria-label": "Search tenants",
    on: {
      input: later(120, () => {
        text = search.value.toLowerCase();
        draw();
      }),
    },
  });
  const envy = withTable({
    title: "Who would prefer whose share",
    name: "envy",
    chart: envyPlace,
    note: "Each row values the shares of others, scaled by weight, against its own. Blue, below 1: its own is worth more. Orange, above 1: envy.",
    data: () => ({
      columns: [
        { name: "tenant", show: (r) => r.tenant },
        { name: "share of", show: (r) => r.other },
        { name: "times its own", show: (r) => figure(r.ratio), value: (r) => r.ratio, number: true },
      ],
      rows: matrix.tenants.flatMap((tenant, i) =>
        matrix.tenants
          .map((other, j) => ({ tenant, other, ratio: matrix.ratios[i][j] }))
          .filter((r) => r.tenant !== r.other),
      ),
    }),
  });
  set(
    main,
    h(
      "div",
      { class: "head" },
      h("h1", { text: "Tenants" }),
      sub,
      h(
        "div",
        { class: "right" },
        h("button", { type: "button", class: "button", on: { click: () => list.csv("tenants") } }, "CSV"),
      ),
    ),
    h(
      "section",
      { class: "card" },
      h("div", { class: "filters" }, search, typeLegend(state.overview.types.map((t) => t.type))),
      place,
    ),
    h("section", { class: "card" }, envy.element),
  );

  function draw() {
    const shown = state.overview.tenants.filter((t) => t.name.toLowerCase().includes(text));
    list.set(shown);
    setText(
      sub,
      `${count(shown.length, "tenant")} · throughput in GPUs of ${state.overview.reference ?? "the reference type"}`,
    );
    if (place.firstChild !== list.element) set(place, list.element);
  }

  async function load() {
    draw();
    try {
      const [tenants, answer] = await Promise.all([all("/tenants", "tenants"), api.get("/fairness/envy")]);
      details = new Map(tenants.map((t) => [t.name, t]));
      matrix = answer;
      draw();
      if (matrix.tenants.length < 2)
        set(envyPlace, empty("Nobody to compare with", "Envy is between tenants that have jobs."));
      else
        set(
          envyPlace,
          envyMap(matrix),
          matrix.more > 0 &&
            h("p", {
              class: "muted small",
              text: `The ${matrix.tenants.length} who compare most; ${matrix.more} others are left out.`,
            }),
        );
      envy.refresh();
    } catch (error) {
      set(envyPlace, trouble(error, load));
    }
  }

  await load();
  return {
    title: "Tenants",
    refresh: (topics) => (topics.has("round") || topics.has("tenant") || topics.has("reset") ? load() : draw()),
  };
}

function columns(details) {
  const { types } = state.overview;
  const capacity = types.reduce((sum, t) => sum + t.capacity, 0);
  const share = (t) => details().get(t.name)?.share ?? {};
  const sum = (of) => Object.values(of).reduce((a, b) => a + b, 0);
  return [
    {
      name: "tenant",
      show: (t) => tenantChip(t.name, { asLink: seesAll() || t.name === state.who.tenant }),
      value: (t) => t.name,
    },
    { name: "weight", show: (t) => figure(t.weight), value: (t) => t.weight, number: true, class: "on-desktop" },
    { name: "promised", show: (t) => figure(t.promised), value: (t) => t.promised, number: true },
    { name: "in use now", show: (t) => figure(t.delivered), value: (t) => t.delivered, number: true },
    {
      name: "of promised",
      show: (t) =>
        t.promised > 0
          ? h(
              "span",
              {},
              `${percent(t.delivered / t.promised)} `,
              meter(t.delivered / t.promised, `${percent(t.delivered / t.promised)} of promised`, colourOf(t.name)),
            )
          : "–",
      value: (t) => (t.promised > 0 ? t.delivered / t.promised : null),
      number: true,
      class: "on-desktop",
    },
    {
      name: "of equal split",
      show: (t) => (t.equal_split > 0 ? percent(t.promised / t.equal_split) : "–"),
      value: (t) => (t.equal_split > 0 ? t.promised / t.equal_split : null),
      number: true,
      class: "on-desktop",
    },
    {
      name: "share by gpu type",
      show: (t) =>
        details().has(t.name)
          ? stacked(
              types.map((type, i) => ({
                name: type.type,
                value: share(t)[type.type] ?? 0,
                colour: typeColour(i, types.length),
              })),
              Math.max(...state.overview.tenants.map((x) => sum(share(x))), 1),
              `share of ${t.name}:`,
            )
          : h("span", { class: "muted", text: "–" }),
      value: (t) => sum(share(t)),
      class: "wide",
    },
    { name: "GPUs", show: (t) => whole(t.gpus), value: (t) => t.gpus, number: true },
    {
      name: "run",
      show: (t) => (t.running === null ? "–" : whole(t.running)),
      value: (t) => t.running,
      number: true,
      class: "on-desktop",
    },
    {
      name: "wait",
      show: (t) => (t.queued === null ? "–" : whole(t.queued)),
      value: (t) => t.queued,
      number: true,
      class: "on-desktop",
    },
    {
      name: "balance",
      unit: "GPU-rounds",
      show: (t) =>
        t.balance === null
          ? "–"
          : h(
              "span",
              { class: t.balance > 0.5 ? "warning" : "", title: "decides whose turn is next: + turns due, − used more than its turns; unused turns lapse" },
              signed(t.balance),
            ),
      value: (t) => t.balance,
      number: true,
      class: "on-desktop",
    },
  ].filter((column) => column && capacity >= 0);
}
