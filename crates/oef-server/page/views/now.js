// Now: the rounds and whether their promises held, who runs where, promised and delivered.

import { api, query } from "../lib/api.js";
import { h, set, setText } from "../lib/dom.js";
import { count, figure, percent, shortTime, span, whole } from "../lib/format.js";
import { empty, loading, stat, stats, tenantChip, trouble } from "../lib/parts.js";
import { colourOf } from "../lib/colour.js";
import { now, state } from "../lib/state.js";
import { figure as withTable } from "../charts/figure.js";
import { Timeline } from "../charts/timeline.js";
import { lines } from "../charts/lines.js";
import { strip } from "../charts/strip.js";
import { certificate, explainer } from "./round.js";

const HOUR = 3_600_000;
/** Runs that ended while an answer was under way come again. */
const OVERLAP = 3_000;
/** Tenants in the legend; the others are a hover away. */
const LEGEND = 14;

export async function show(main, _params, { go }) {
  const sub = h("p", { class: "sub" });
  const figures = h("div");
  const rounds = roundStrip();
  const where = whereabouts(go);
  const curves = promises();
  set(
    main,
    h("div", { class: "head" }, h("h1", { text: "Now" }), sub),
    h(
      "div",
      { class: "grid" },
      h("section", { class: "card" }, figures),
      h("section", { class: "card" }, rounds.element),
      h("section", { class: "card" }, where.element),
      h("section", { class: "card" }, curves.element),
    ),
  );

  const drawHead = () => head(sub, figures);
  drawHead();
  await Promise.all([rounds.load(), where.load(), curves.load()]);
  return {
    title: "Now",
    async refresh(topics) {
      drawHead();
      const jobs = [where.refresh(topics)];
      if (topics.has("round") || topics.has("reset")) jobs.push(rounds.load(), curves.load());
      await Promise.all(jobs);
    },
    close: () => where.close(),
  };
}

function head(sub, place) {
  const o = state.overview;
  const capacity = o.types.reduce((sum, t) => sum + t.capacity, 0);
  const used = capacity - o.types.reduce((sum, t) => sum + t.idle, 0);
  const promised = o.tenants.reduce((sum, t) => sum + t.promised, 0);
  const delivered = o.tenants.reduce((sum, t) => sum + t.delivered, 0);
  setText(
    sub,
    `${o.mechanism} · ${count(o.tenants.length, "tenant")} · ${count(o.nodes, "node")}${o.nodes_down ? `, ${o.nodes_down} down` : ""} · throughput in GPUs of ${o.reference ?? "the reference type"}`,
  );
  const under = o.tenants.filter((t) => t.promised > 0 && t.delivered < 0.8 * t.promised).length;
  set(
    place,
    stats(
      stat(
        "GPUs in use",
        whole(used),
        `of ${whole(capacity)}`,
        capacity && used / capacity < 0.5 && o.queued ? "warning" : "",
      ),
      stat("jobs running", whole(o.running)),
      stat("jobs waiting", whole(o.queued)),
      stat("in use now", figure(delivered), `of ${figure(promised)} promised`),
      stat("below 80 % of promised", whole(under), under === 1 ? "tenant" : "tenants", under ? "warning" : ""),
      ...(o.types.length > 3 ? [] : o.types).map((t) =>
        stat(
          t.type,
          `${whole(t.capacity - t.idle)}/${whole(t.capacity)}`,
          t.price === null ? "" : `price ${figure(t.price)}`,
        ),
      ),
    ),
    o.trouble && h("p", { class: "bad", text: o.trouble }),
  );
}

function roundStrip() {
  const place = h("div");
  let ticks = [];
  let chosen = null;
  const chart = strip({ choose: (tick) => showWitness(tick) });
  const shown = withTable({
    title: "Rounds",
    name: "rounds",
    chart: chart.element,
    note: "A tick for each round, as tall as the GPUs in use. Green: every promise of the mechanism held. Red with a cap: one did not. A click shows the certificate and its witness.",
    data: () => ({ columns: tickColumns(), rows: [...ticks].reverse() }),
  });
  async function load() {
    try {
      const after = ticks.at(-1)?.round;
      const { rounds } = await api.get("/rounds/recent" + query({ after, limit: 360 }));
      ticks = [...ticks, ...rounds.filter((r) => !(r.round <= after))].slice(-360);
      chart.set(ticks);
      shown.refresh();
      if (!ticks.length) set(place, empty("No round has begun yet", "The first begins within the length of a round."));
      else if (chosen === null) set(place);
    } catch (error) {
      if (!ticks.length) set(place, trouble(error, load));
    }
  }
  async function showWitness(tick) {
    chosen = tick.round;
    set(place, h("div", { class: "witness-box" }, loading(2)));
    try {
      const round = await api.get(`/rounds/${tick.round}`);
      if (chosen !== tick.round) return;
      set(
        place,
        h(
          "div",
          { class: "witness-box" },
          h(
            "h3",
            {},
            `Round ${tick.round} `,
            h("span", {
              class: "muted",
              text: `at ${shortTime(tick.began_ms)} · ${tick.mechanism} · ${tick.running} ran, ${tick.queued} waited · shares in ${span(round.shares_age.solve_s)}${round.shares_age.kept ? ", kept from before" : ""}`,
            }),
          ),
          certificate(round.audit, tick.promises, tick.mechanism),
          h("p", { class: "small" }, h("a", { href: `/rounds?round=${tick.round}` }, "The whole round")),
        ),
      );
    } catch (error) {
      set(place, trouble(error));
    }
  }
  return { element: h("div", {}, shown.element, place), load };
}

export function tickColumns() {
  return [
    { name: "round", show: (r) => String(r.round), value: (r) => r.round, number: true },
    { name: "began", show: (r) => new Date(r.began_ms).toISOString() },
    { name: "mechanism", show: (r) => r.mechanism },
    { name: "broken promises", show: (r) => (r.broken === null ? "nothing to share" : r.broken.join(", ") || "none") },
    { name: "holds", show: (r) => r.holds.join(", ") },
    { name: "GPUs used", show: (r) => String(r.gpus_used), value: (r) => r.gpus_used, number: true },
    { name: "GPUs", show: (r) => String(r.gpus), value: (r) => r.gpus, number: true },
    { name: "jobs ran", show: (r) => String(r.running), value: (r) => r.running, number: true },
    { name: "jobs waited", show: (r) => String(r.queued), value: (r) => r.queued, number: true },
    { name: "total throughput", show: (r) => figure(r.total), value: (r) => r.total, number: true },
  ];
}

function whereabouts(go) {
  const explain = explainer();
  const place = h("div");
  const legend = h("ul", { class: "legend" });
  const timeline = new Timeline({
    label:
      "Who ran where in the last hour. Arrow keys go from GPU to GPU and from run to run, plus and minus zoom, Enter opens the job.",
    open: (job) => go(`/jobs/${job}`),
    explain,
  });
  const zoom = (factor) => () =>
    timeline.zoom(factor, timeline.seen.row + timeline.seen.rows / 2, (timeline.seen.from + timeline.seen.to) / 2);
  const shown = withTable({
    title: "Who ran where",
    name: "who-ran-where",
    chart: place,
    data: () => timeline.data(),
    note: "The last hour, a row for each GPU. Letters and colours are tenants; grey is idle.",
    tools: [
      h("button", { type: "button", class: "tool", "aria-label": "Zoom in", on: { click: zoom(0.5) } }, "+"),
      h("button", { type: "button", class: "tool", "aria-label": "Zoom out", on: { click: zoom(2) } }, "−"),
      h("button", { type: "button", class: "tool", on: { click: () => timeline.reset() } }, "All"),
    ],
  });
  let upTo = 0;
  let from = 0;
  async function load() {
    try {
      const answer = await api.get("/timeline");
      timeline.clear();
      timeline.setNodes(answer.nodes);
      timeline.merge(answer);
      upTo = answer.to_ms;
      // A daemon that is younger than an hour fills the picture all the same.
      const first = Math.min(...answer.spans.map((span) => span.from), answer.to_ms - 60_000);
      from = Math.max(answer.from_ms, first);
      if (!answer.nodes.length) set(place, empty("No GPUs", "No node has joined yet."));
      else set(place, timeline.element);
      follow();
    } catch (error) {
      set(place, trouble(error, load));
    }
  }
  function follow() {
    const end = Math.max(upTo, now());
    from = Math.max(from, end - HOUR);
    timeline.setTime(from, end);
    timeline.draw();
    drawLegend();
    shown.refresh();
  }
  function drawLegend() {
    const held = state.overview.tenants.filter((t) => t.gpus > 0).sort((a, b) => b.gpus - a.gpus);
    const key =
      held
        .slice(0, LEGEND)
        .map((t) => t.name + t.gpus)
        .join() + held.length;
    if (legend.dataset.key === key) return;
    legend.dataset.key = key;
    set(
      legend,
      held.slice(0, LEGEND).map((t) => {
        const chip = tenantChip(t.name);
        const light = (name) => () => {
          timeline.bright = name;
          timeline.draw();
        };
        for (const event of ["pointerenter", "focus"]) chip.addEventListener(event, light(t.name));
        for (const event of ["pointerleave", "blur"]) chip.addEventListener(event, light(null));
        return h("li", {}, chip, h("span", { text: count(t.gpus, "GPU") }));
      }),
      held.length > LEGEND && h("li", { text: `and ${held.length - LEGEND} more tenants` }),
    );
  }
  async function refresh(topics) {
    if (topics.has("cluster") || topics.has("reset")) return load();
    const answer = await api.get("/timeline" + query({ changed_after_ms: upTo - OVERLAP }));
    timeline.merge(answer);
    upTo = answer.to_ms;
    follow();
  }
  // Between events time goes on.
  const timer = setInterval(
    () =>
      !document.hidden &&
      upTo &&
      state.overview &&
      !document.documentElement.hasAttribute("data-stale") &&
      timeline.rows.length < 200 &&
      follow(),
    1000,
  );
  set(place, loading(8));
  return {
    element: h("div", {}, shown.element, legend),
    load,
    refresh,
    close: () => {
      clearInterval(timer);
      explain(null, null);
    },
  };
}

function promises() {
  const place = h("div", { class: "smalls" });
  const more = h("p", { class: "muted small" });
  const charts = new Map();
  let series = null;
  const shown = withTable({
    title: "Promised and delivered",
    name: "promised-and-delivered",
    chart: h("div", {}, place, legendOfLines(), more),
    note: "Promised: the throughput of each tenant's share. Delivered: the throughput of the GPUs that it held. Round by round, tenants furthest below their share first.",
    data: () => seriesTable(series),
  });
  set(place, loading(4));
  async function load() {
    try {
      series = await api.get("/fairness/series");
      draw();
    } catch (error) {
      if (!series) set(place, trouble(error, load));
    }
  }
  function draw() {
    if (!series.tenants.length)
      return set(
        place,
        empty(
          "No shares yet",
          "Shares are computed when the first job arrives.",
          "oef submit -- python train.py",
        ),
      );
    const wanted = series.tenants.map((t) => t.tenant);
    const parts = series.tenants.map((t) => {
      const chart = charts.get(t.tenant) ?? small(t.tenant);
      charts.set(t.tenant, chart);
      chart.show(series, t);
      return chart.element;
    });
    for (const name of charts.keys()) if (!wanted.includes(name)) charts.delete(name);
    if (place.children.length !== parts.length || parts.some((part, i) => place.children[i] !== part))
      set(place, parts);
    setText(more, series.more ? `${count(series.more, "more tenant")} closer to their share.` : "");
    shown.refresh();
  }
  return { element: shown.element, load };
}

export function legendOfLines() {
  return h(
    "ul",
    { class: "legend" },
    h("li", {}, h("span", { class: "swatch line" }), "delivered"),
    h("li", {}, h("span", { class: "swatch line dashed" }), "promised"),
    h("li", {}, h("span", { class: "swatch line dotted" }), "equal split now"),
  );
}

function small(tenant) {
  const chart = lines({ label: `Promised and delivered to ${tenant}`, small: true });
  const value = h("span", { class: "value" });
  const element = h(
    "div",
    { class: "small-chart" },
    h("div", { class: "top-line" }, tenantChip(tenant), value),
    chart.element,
  );
  return {
    element,
    show(series, t) {
      const line = state.overview.tenants.find((x) => x.name === tenant);
      const last = (list) => [...list].reverse().find((v) => v !== null);
      const delivered = line?.delivered ?? last(t.curve.delivered);
      const promised = line?.promised ?? last(t.curve.promised);
      set(value, h("b", { text: figure(delivered) }), ` of ${figure(promised)}`);
      const colour = colourOf(tenant);
      chart.show({
        at: series.at_ms,
        level: t.equal_split ? { name: "equal split", value: t.equal_split } : undefined,
        series: [
          { name: "delivered", values: t.curve.delivered, colour, area: true },
          { name: "promised", values: t.curve.promised, class: "promised", colour },
        ],
      });
    },
  };
}

export function seriesTable(series) {
  const rows = (series?.tenants ?? []).flatMap((t) =>
    series.rounds.map((round, i) => ({
      tenant: t.tenant,
      round,
      at: series.at_ms[i],
      promised: t.curve.promised[i],
      delivered: t.curve.delivered[i],
    })),
  );
  return {
    columns: [
      { name: "tenant", show: (r) => r.tenant },
      { name: "round", show: (r) => String(r.round), value: (r) => r.round, number: true },
      { name: "ended", show: (r) => new Date(r.at).toISOString() },
      { name: "promised", show: (r) => figure(r.promised), value: (r) => r.promised, number: true },
      { name: "delivered", show: (r) => figure(r.delivered), value: (r) => r.delivered, number: true },
      {
        name: "part",
        show: (r) => (r.promised > 0 ? percent(r.delivered / r.promised) : "–"),
        value: (r) => (r.promised > 0 ? r.delivered / r.promised : null),
        number: true,
      },
    ],
    rows: rows.filter((r) => r.promised !== null).reverse(),
  };
}
