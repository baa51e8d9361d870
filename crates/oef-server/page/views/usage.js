// Usage: GPU-hours by tenant, user, workload or gpu type, over a time.

import { api, query } from "../lib/api.js";
import { h, set, setText } from "../lib/dom.js";
import { absolute, figure, percent, shortTime, whole } from "../lib/format.js";
import { choice, empty, loading, stat, stats, tenantChip, trouble } from "../lib/parts.js";
import { colourOf } from "../lib/colour.js";
import { now, seesAll, state } from "../lib/state.js";
import { figure as withTable } from "../charts/figure.js";
import { usageBars, usageLegend } from "../charts/usage.js";
import { table } from "../lib/table.js";

/** Times to choose from. Days are counted as a whole (UTC), so that today is what has passed of it. */
const TIMES = [
  ["1d", "Today", 0],
  ["7d", "7 days", 6],
  ["30d", "30 days", 29],
  ["365d", "1 year", 364],
  ["all", "All", null],
];
const BY = [
  ["tenant", "Tenant"],
  ["user", "User"],
  ["workload", "Workload"],
  ["type", "Gpu type"],
];
const DAY_MS = 86_400_000;
/** More bars than this nobody reads: the table has them all. */
const BARS_MAX = 40;

export async function show(main) {
  const asked = new URLSearchParams(location.search);
  const known = (list, value, otherwise) => (list.some(([key]) => key === value) ? value : otherwise);
  let since = known(TIMES, asked.get("since"), "30d");
  let by = known(BY, asked.get("by"), "tenant");
  let usage = null;
  let wanted = 0;
  const sub = h("p", { class: "sub" });
  const figures = h("div", {}, loading(2));
  const bars = h("div", {}, loading(5));
  const rows = h("div", {}, loading(5));
  const picture = withTable({
    title: "GPU-hours",
    name: "usage",
    chart: bars,
    data: () => ({ columns: columns(by), rows: usage?.rows ?? [] }),
  });
  set(
    main,
    h("div", { class: "head" }, h("h1", { text: "Usage" }), sub),
    h(
      "section",
      { class: "card" },
      h(
        "div",
        { class: "filters" },
        choice(
          "Time",
          TIMES.map(([key, text]) => [key, text]),
          since,
          (chosen) => ask(() => (since = chosen)),
        ),
        choice("By", BY, by, (chosen) => ask(() => (by = chosen))),
      ),
      figures,
    ),
    h("section", { class: "card" }, picture.element),
    h("section", { class: "card" }, h("h2", { text: "By gpu type" }), rows),
  );

  function ask(change) {
    change();
    history.replaceState(null, "", "/usage" + query({ since, by }));
    return load();
  }

  async function load() {
    const turn = ++wanted;
    const back = TIMES.find(([key]) => key === since)[2];
    const from = back === null ? undefined : new Date(now() - back * DAY_MS).toISOString();
    try {
      const answer = await api.get("/usage" + query({ by, since: from }));
      if (turn !== wanted) return;
      usage = answer;
      draw();
    } catch (error) {
      if (turn === wanted) set(figures, trouble(error, load));
    }
  }

  function draw() {
    const { rows: all } = usage;
    if (!all.length) {
      setText(sub, "GPU-hours by tenant, user, workload or gpu type");
      const none = () => empty("Nothing was used in this time", "Choose a longer time, or submit a job.");
      set(figures, none());
      set(bars);
      set(rows);
      return;
    }
    const [from, to] = [Date.parse(usage.from), Date.parse(usage.to)];
    set(
      sub,
      "from ",
      h("span", { title: absolute(from), text: shortTime(from) }),
      " to ",
      h("span", { title: absolute(to), text: shortTime(to) }),
      "; what runs is counted up to the last round",
    );
    set(figures, totals(all));
    const sums = summed(all);
    const shown = sums.slice(0, BARS_MAX);
    const hasShares = all.some((row) => row.promised !== undefined);
    set(
      bars,
      usageBars(shown),
      usageLegend(hasShares),
      !hasShares && h("p", { class: "muted small", text: "Shares belong to tenants: choose Tenant or Gpu type to see them." }),
      sums.length > shown.length &&
        h("p", { class: "muted small", text: `and ${whole(sums.length - shown.length)} more, in the table` }),
    );
    const list = table({
      caption: `Usage by ${by}`,
      columns: columns(by),
      sort: [2, -1],
      limit: 200,
    });
    list.element.classList.add("cards-on-phone");
    list.set(all);
    set(rows, list.element);
    picture.refresh();
  }

  /** One sum for each name over all types, the largest first. */
  function summed(all) {
    const sums = new Map();
    for (const row of all) {
      const key = by === "type" ? row.type : row.name;
      const sum = sums.get(key) ?? { key, held: 0, within: 0, borrowed: 0, lent: 0, wasted: 0 };
      sum.held += row.gpu_hours;
      sum.borrowed += row.borrowed ?? 0;
      sum.within += Math.max(0, row.gpu_hours - (row.borrowed ?? 0));
      sum.lent += row.lent ?? 0;
      sum.wasted += row.wasted;
      sums.set(key, sum);
    }
    const list = [...sums.values()].sort((a, b) => b.held - a.held || (a.key < b.key ? -1 : 1));
    return list.map((sum) => ({
      ...sum,
      name: named(by, sum.key),
      label: sum.key || "not recorded",
      colour: tenantOf(by, sum.key) && colourOf(tenantOf(by, sum.key)),
    }));
  }

  await load();
  return {
    title: "Usage",
    refresh: (topics) => (topics.has("round") || topics.has("reset") ? load() : null),
  };
}

/** The tenant that a name is about, if it is about one. */
function tenantOf(by, name) {
  if (by === "tenant") return name;
  return by === "workload" ? name.slice(0, name.indexOf("/")) : null;
}

function named(by, name) {
  if (by === "tenant") return tenantChip(name, { asLink: seesAll() || name === state.who.tenant });
  if (!name) return h("span", { class: "muted", text: "not recorded" });
  return h("span", { text: name });
}

function totals(all) {
  const sum = (field) => all.reduce((total, row) => total + (row[field] ?? 0), 0);
  const [held, measured] = [sum("gpu_hours"), sum("measured")];
  const hasShares = all.some((row) => row.promised !== undefined);
  const part = (hours) => (held > 0 ? `${percent(hours / held)} of delivered` : "");
  const busy = all.reduce((total, row) => total + (row.utilisation ?? 0) * row.measured, 0);
  return stats(
    stat("delivered", figure(held), "GPU-hours"),
    hasShares && stat("promised", figure(sum("promised")), "GPU-hours"),
    hasShares && stat("borrowed", figure(sum("borrowed")), part(sum("borrowed"))),
    hasShares && stat("lent", figure(sum("lent")), "share not used by its owner"),
    stat("wasted", figure(sum("wasted")), part(sum("wasted"))),
    measured > 0 && stat("busy", percent(busy / measured), "of the measured hours"),
  );
}

function columns(by) {
  const hours = (name, field) => ({
    name,
    show: (row) => (row[field] === undefined ? "–" : figure(row[field])),
    value: (row) => row[field] ?? null,
    number: true,
  });
  const head = BY.find(([key]) => key === by)[1].toLowerCase();
  const type = { name: "gpu type", show: (row) => row.type };
  const name = { name: head, show: (row) => named(by, row.name), value: (row) => row.name };
  return [
    ...(by === "type" ? [type] : [name, type]),
    hours("delivered", "gpu_hours"),
    ...(by === "tenant" || by === "type"
      ? [hours("promised", "promised"), hours("borrowed", "borrowed"), hours("lent", "lent")]
      : []),
    hours("wasted", "wasted"),
    {
      name: "busy",
      show: (row) => (row.utilisation === null ? "–" : percent(row.utilisation)),
      value: (row) => row.utilisation,
      number: true,
    },
  ];
}
