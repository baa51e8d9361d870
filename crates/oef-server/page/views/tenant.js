// A tenant: its shares, what it was promised and got, why, whom it would envy, its profiles, its jobs, its limits.

import { all, api, part, query } from "../lib/api.js";
import { h, set } from "../lib/dom.js";
import { count, figure, percent, signed, whole } from "../lib/format.js";
import { badge, empty, loading, meter, stat, stats, trouble, when } from "../lib/parts.js";
import { colourOf } from "../lib/colour.js";
import { state } from "../lib/state.js";
import { figure as withTable } from "../charts/figure.js";
import { envyMap } from "../charts/heat.js";
import { lines } from "../charts/lines.js";
import { table } from "../lib/table.js";
import { columns } from "./jobs.js";
import { legendOfLines, seriesTable } from "./now.js";
import { profileTable } from "./job.js";

export async function show(main, [name]) {
  set(main, loading(6));
  let tenant = await api.get(`/tenants/${part(name)}`);
  const figures = h("div");
  const why = h("div");
  const byType = h("div");
  const envyPlace = h("div", {}, loading(3));
  const profiles = h("div", {}, loading(3));
  const curve = curves(name);
  const jobs = table({
    caption: `Jobs of ${name}`,
    columns: columns({ withTenant: false }),
    sort: [0, -1],
    limit: 100,
    empty: empty("No live jobs", null, `oef submit --tenant ${name} -- python train.py`),
  });
  jobs.element.classList.add("cards-on-phone");
  let matrix = { tenants: [], ratios: [] };
  const envy = withTable({
    title: "Tenants that it would envy",
    name: `envy-of-${name}`,
    chart: envyPlace,
    note: "The first row is this tenant's: others' shares, scaled by weight, against its own. Above 1, orange, is envy.",
    data: () => ({
      columns: [
        { name: "share of", show: (r) => r.other },
        { name: "worth to it, times its own", show: (r) => figure(r.ratio), value: (r) => r.ratio, number: true },
        { name: "its share is worth to them", show: (r) => figure(r.back), value: (r) => r.back, number: true },
      ],
      rows: matrix.tenants
        .slice(1)
        .map((other, j) => ({ other, ratio: matrix.ratios[0][j + 1], back: matrix.ratios[j + 1][0] })),
    }),
  });
  set(
    main,
    h(
      "div",
      { class: "head" },
      h("h1", { class: "chip" }, badge(name), name),
      h(
        "p",
        { class: "sub" },
        tenant.group ? `in group ${tenant.group} · ` : "",
        "since ",
        when(tenant.created),
        tenant.suspended && h("span", { class: "tag bad", text: "suspended" }),
      ),
      h(
        "div",
        { class: "right" },
        h(
          "a",
          {
            class: "button",
            href: `/whatif?${new URLSearchParams({ s: JSON.stringify({ weights: { [name]: tenant.weight * 2 } }) })}`,
          },
          "What if its weight doubled?",
        ),
      ),
    ),
    h(
      "div",
      { class: "grid" },
      h("section", { class: "card" }, figures),
      h("section", { class: "card span-7" }, curve.element),
      h("section", { class: "card span-5" }, why),
      h("section", { class: "card span-6" }, h("h2", { text: "Shares, GPUs and prices by gpu type" }), byType),
      h("section", { class: "card span-6" }, envy.element),
      h("section", { class: "card" }, h("h2", { text: "Profiles" }), profiles),
      h(
        "section",
        { class: "card" },
        h(
          "h2",
          {},
          "Live jobs ",
          h("a", { class: "small", href: "/jobs" + query({ tenant: name, state: "ended" }) }, "ended ones"),
        ),
        jobs.element,
      ),
    ),
  );

  function draw() {
    const line = state.overview.tenants.find((t) => t.name === name);
    const balance = Object.values(tenant.deficit).reduce((a, b) => a + b, 0);
    set(
      figures,
      stats(
        stat("in use now", figure(line?.delivered ?? 0), `of ${figure(line?.promised ?? 0)} promised`),
        stat(
          "of its equal split",
          line?.equal_split > 0 ? percent(line.promised / line.equal_split) : "–",
          line?.equal_split > 0 ? `${figure(line.equal_split)} by equal split` : "",
        ),
        stat(
          "weight",
          figure(tenant.weight),
          tenant.effective_weight !== null && tenant.effective_weight !== tenant.weight
            ? `counts ${figure(tenant.effective_weight)}`
            : "",
        ),
        ...(tenant.past
          ? [stat("past usage", percent(tenant.past.usage), `weight × ${figure(tenant.past.factor)}`)]
          : []),
        stat("balance", signed(balance), "GPU-rounds; + turns due, − used more"),
        stat(
          "GPUs held",
          whole(Object.values(tenant.holds).reduce((a, b) => a + b, 0)),
          tenant.limits.gpus ? `limit ${tenant.limits.gpus}` : "no limit",
        ),
        stat(
          "jobs",
          whole(tenant.running),
          `run, ${tenant.queued} wait${tenant.limits.jobs ? `, limit ${tenant.limits.jobs}` : ""}`,
        ),
      ),
    );
    const rows = state.overview.types.map((t) => ({
      ...t,
      guarantee: tenant.guarantee?.[t.type],
      limit: tenant.limit?.[t.type],
      share: tenant.share[t.type] ?? 0,
      holds: tenant.holds[t.type] ?? 0,
      deficit: tenant.deficit[t.type] ?? 0,
    }));
    const types = table({
      caption: "By gpu type",
      columns: [
        { name: "gpu type", show: (r) => r.type },
        { name: "share", show: (r) => figure(r.share), value: (r) => r.share, number: true },
        { name: "holds", show: (r) => whole(r.holds), value: (r) => r.holds, number: true },
        ...(rows.some((r) => r.guarantee !== undefined || r.limit !== undefined)
          ? [
              { name: "guarantee", show: (r) => (r.guarantee === undefined ? "–" : whole(r.guarantee)), number: true },
              { name: "limit", show: (r) => (r.limit === undefined ? "–" : whole(r.limit)), number: true },
            ]
          : []),
        {
          name: "of all",
          show: (r) =>
            meter(
              r.capacity ? r.share / r.capacity : 0,
              `${percent(r.capacity ? r.share / r.capacity : 0)} of ${r.capacity}`,
              colourOf(name),
            ),
          value: (r) => r.share / r.capacity,
        },
        { name: "balance", show: (r) => signed(r.deficit), value: (r) => r.deficit, number: true },
        {
          name: "price",
          show: (r) => (r.price === null ? "–" : figure(r.price)),
          value: (r) => r.price,
          number: true,
        },
      ],
    });
    types.element.classList.add("cards-on-phone");
    types.set(rows);
    set(
      byType,
      types.element,
      h("p", { class: "muted small", text: "In GPUs. Price: what a GPU of the type counts in the shares, in throughput; 0 if more of them would help nobody." }),
    );
  }

  async function load(topics) {
    draw();
    const live = await all("/jobs", "jobs", { tenant: name }, 1000);
    jobs.set(live);
    if (topics && !topics.has("round") && !topics.has("reset") && !topics.has("tenant")) return;
    const [reasons, answer, workloads] = await Promise.all([
      api.get(`/tenants/${part(name)}/why`),
      api.get("/fairness/envy" + query({ tenant: name })),
      all("/workloads", "workloads", { tenant: name }, 200),
      curve.load(),
    ]);
    set(
      why,
      h("h2", { text: "Why it has what it has" }),
      h("p", { text: reasons.sentence }),
      h(
        "ul",
        { class: "muted" },
        reasons.details.map((text) => h("li", { text })),
      ),
    );
    matrix = answer;
    set(
      envyPlace,
      matrix.tenants.length < 2
        ? empty("Nobody to compare with", "It has no share in this round, or is alone.")
        : envyMap(cut(matrix, 12)),
    );
    envy.refresh();
    set(
      profiles,
      workloads.length
        ? h(
            "div",
            { class: "smalls wide" },
            workloads.map((w) =>
              h(
                "div",
                {},
                h("h3", {}, w.name, " ", h("span", { class: "muted", text: count(w.jobs, "live job") })),
                profileTable(w),
              ),
            ),
          )
        : empty("No workloads yet"),
    );
  }

  try {
    await load();
  } catch (error) {
    set(profiles, trouble(error));
  }
  return {
    title: name,
    async refresh(topics, events) {
      const mine = topics.has("round") || topics.has("reset") || events.some((e) => e.tenant === name);
      if (!mine) return;
      tenant = await api.get(`/tenants/${part(name)}`);
      await load(topics);
    },
  };
}

/** The first so many of a matrix. */
function cut(matrix, most) {
  return {
    tenants: matrix.tenants.slice(0, most),
    ratios: matrix.ratios.slice(0, most).map((row) => row.slice(0, most)),
  };
}

function curves(name) {
  const chart = lines({ label: `Promised and delivered to ${name}`, height: 230 });
  let series = null;
  const shown = withTable({
    title: "Promised and delivered, against the equal split",
    name: `promised-${name}`,
    chart: h("div", {}, chart.element, legendOfLines()),
    data: () => seriesTable(series),
  });
  return {
    element: shown.element,
    async load() {
      series = await api.get("/fairness/series" + query({ tenant: name, rounds: 288 }));
      const t = series.tenants[0];
      const colour = colourOf(name);
      if (t)
        chart.show({
          at: series.at_ms,
          level: t.equal_split ? { name: "equal split", value: t.equal_split } : undefined,
          series: [
            { name: "delivered", values: t.curve.delivered, colour, area: true },
            { name: "promised", values: t.curve.promised, class: "promised", colour },
          ],
        });
      shown.refresh();
    },
  };
}
