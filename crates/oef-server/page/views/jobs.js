// Jobs: search, filters, sorting, live states.

import { all, api, query } from "../lib/api.js";
import { h, later, set, setText } from "../lib/dom.js";
import { count, figure, span } from "../lib/format.js";
import { choice, empty, loading, statePill, tenantChip, trouble, when } from "../lib/parts.js";
import { seesAll, state } from "../lib/state.js";
import { table } from "../lib/table.js";

const STATES = {
  live: "queued,starting,running,stopping",
  queued: "queued",
  running: "starting,running,stopping",
  ended: "finished,failed,timed_out,cancelled",
  failed: "failed,timed_out",
};
/** Jobs that are fetched; beyond, the filter has to be narrower. */
const MOST = 3000;
/** With more jobs than this a change of a few of them loads only these. */
const FEW = 40;

export async function show(main, _params) {
  const url = new URLSearchParams(location.search);
  const filter = {
    state: url.get("state") in STATES ? url.get("state") : "live",
    tenant: url.get("tenant") ?? "",
    text: url.get("q") ?? "",
  };
  let jobs = [];
  let complete = true;
  const sub = h("p", { class: "sub" });
  const place = h("div", {}, loading(8));
  const list = table({
    caption: "Jobs",
    columns: columns(),
    sort: [0, -1],
    limit: 400,
    empty: empty("No jobs here", "Change the filter, or submit a job:", "oef submit -- python train.py"),
  });
  list.element.classList.add("cards-on-phone");
  const search = h("input", {
    type: "search",
    placeholder: "Search name, tenant, workload, number, reason…",
    "aria-label": "Search jobs",
    value: filter.text,
    on: {
      input: later(150, () => {
        filter.text = search.value;
        remember();
        draw();
      }),
    },
  });
  const tenants = h(
    "select",
    {
      "aria-label": "Tenant",
      on: {
        change: () => {
          filter.tenant = tenants.value;
          remember();
          load();
        },
      },
    },
    h("option", { value: "" }, "all tenants"),
    state.overview.tenants.map((t) => h("option", { value: t.name, selected: t.name === filter.tenant }, t.name)),
  );
  const states = choice(
    "States",
    [
      ["live", "Live"],
      ["running", "Running"],
      ["queued", "Waiting"],
      ["ended", "Ended"],
      ["failed", "Failed"],
    ],
    filter.state,
    (value) => {
      filter.state = value;
      remember();
      load();
    },
  );
  set(
    main,
    h(
      "div",
      { class: "head" },
      h("h1", { text: "Jobs" }),
      sub,
      h(
        "div",
        { class: "right" },
        h("button", { type: "button", class: "button", on: { click: () => list.csv("jobs") } }, "CSV"),
      ),
    ),
    h("section", { class: "card" }, h("div", { class: "filters" }, states, seesAll() && tenants, search), place),
  );

  function remember() {
    history.replaceState(
      null,
      "",
      "/jobs" + query({ state: filter.state === "live" ? "" : filter.state, tenant: filter.tenant, q: filter.text }),
    );
  }

  async function load() {
    try {
      const params = { state: STATES[filter.state], all: true, tenant: filter.tenant || undefined };
      jobs = await all("/jobs", "jobs", params, MOST);
      complete = jobs.length < MOST;
      if (place.firstChild !== list.element) set(place, list.element);
      draw();
    } catch (error) {
      set(place, trouble(error, load));
    }
  }

  function draw() {
    const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (job) =>
      `${job.id} ${job.name} ${job.tenant} ${job.workload} ${job.reason} ${Object.entries(job.labels)
        .map(([k, v]) => `${k}=${v}`)
        .join(" ")}`.toLowerCase();
    const found = words.length ? jobs.filter((job) => words.every((word) => text(job).includes(word))) : jobs;
    list.set(found);
    setText(
      sub,
      `${complete ? "" : "the newest "}${count(found.length, "job")}${words.length ? ` of ${jobs.length}` : ""}`,
    );
  }

  await load();
  return {
    title: "Jobs",
    async refresh(topics, events) {
      if (topics.has("reset")) return load();
      const changed = [...new Set(events.filter((e) => e.topic === "job" && e.job).map((e) => e.job))];
      const mine = changed.filter(
        (id) => !filter.tenant || events.some((e) => e.job === id && e.tenant === filter.tenant),
      );
      if (mine.length > FEW || topics.has("time") || topics.has("round")) return load();
      if (!mine.length) return;
      const fresh = await Promise.all(mine.map((id) => api.get(`/jobs/${id}`).catch(() => null)));
      const wanted = STATES[filter.state].split(",");
      jobs = jobs
        .filter((job) => !mine.includes(job.id))
        .concat(fresh.filter((job) => job && wanted.includes(job.state)));
      draw();
    },
  };
}

/** The columns of a list of jobs. */
export function columns({ withTenant = true } = {}) {
  const list = [
    { name: "job", show: (j) => h("a", { href: `/jobs/${j.id}` }, `${j.id}`), value: (j) => j.id, number: false },
    { name: "state", show: (j) => statePill(j.state), value: (j) => j.state },
    { name: "name", show: (j) => h("a", { class: "clip", href: `/jobs/${j.id}` }, j.name), value: (j) => j.name },
    { name: "tenant", show: (j) => tenantChip(j.tenant), value: (j) => j.tenant },
    { name: "workload", show: (j) => j.workload, value: (j) => j.workload, class: "on-desktop" },
    { name: "GPUs", show: (j) => where(j), value: (j) => j.workers, class: "on-desktop nowrap" },
    {
      name: "steps",
      show: (j) => (j.progress.steps ? figure(j.progress.steps) : "–"),
      value: (j) => j.progress.steps,
      number: true,
      class: "on-desktop",
    },
    { name: "ran", show: (j) => span(j.ran_s), value: (j) => j.ran_s, number: true, class: "on-desktop" },
    {
      name: "submitted",
      show: (j) => when(j.submitted),
      value: (j) => Date.parse(j.submitted),
      class: "on-desktop nowrap",
    },
    { name: "why", show: (j) => j.reason, value: (j) => j.reason, class: "why" },
  ];
  return withTenant ? list : list.filter((column) => column.name !== "tenant");
}

function where(job) {
  const types = new Map();
  for (const gpu of job.gpus) types.set(gpu.type, (types.get(gpu.type) ?? 0) + 1);
  const on = [...types].map(([type, n]) => `${n} ${type}`).join(" + ");
  return on || `${job.workers} wanted`;
}
