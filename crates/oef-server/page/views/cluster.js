// Cluster: nodes with their health, who is on them; drain and return.

import { all, api, part } from "../lib/api.js";
import { h, later, set, setText } from "../lib/dom.js";
import { absolute, bytes, count, figure, percent, span, whole } from "../lib/format.js";
import { choice, confirm, empty, loading, toast, trouble } from "../lib/parts.js";
import { colourOf, inkOn, lettersOf, roleColour } from "../lib/colour.js";
import { stacked } from "../charts/bars.js";
import { mayOperate } from "../lib/state.js";

/** Nodes that are drawn at once; the filter finds the others. */
const NODES_SHOWN = 240;
/** A job that has not used its GPU for so long is said to. */
const LONG_IDLE_S = 600;

export async function show(main) {
  const sub = h("p", { class: "sub" });
  const types = h("div", {}, loading(3));
  const place = h("div", {}, loading(6));
  const more = h("p", { class: "muted small" });
  let cluster = null;
  let owners = new Map();
  let text = "";
  let which = "all";
  const search = h("input", {
    type: "search",
    placeholder: "Search nodes or gpu types…",
    "aria-label": "Search nodes",
    on: {
      input: later(120, () => {
        text = search.value.toLowerCase();
        draw();
      }),
    },
  });
  set(
    main,
    h("div", { class: "head" }, h("h1", { text: "Cluster" }), sub),
    h("section", { class: "card" }, h("h2", { text: "Gpu types" }), types),
    h(
      "section",
      { class: "card" },
      h("h2", { text: "Nodes" }),
      h(
        "div",
        { class: "filters" },
        choice(
          "Which nodes",
          [
            ["all", "All"],
            ["down", "Down"],
            ["idle", "With idle GPUs"],
          ],
          which,
          (value) => {
            which = value;
            draw();
          },
        ),
        search,
      ),
      place,
      more,
    ),
  );

  async function load() {
    try {
      const [answer, jobs] = await Promise.all([
        api.get("/cluster"),
        all("/jobs", "jobs", { state: "starting,running,stopping", all: true }, 8000),
      ]);
      cluster = answer;
      owners = new Map(jobs.map((job) => [job.id, job]));
      draw();
    } catch (error) {
      set(place, trouble(error, load));
    }
  }

  function draw() {
    const down = cluster.nodes.filter((n) => n.health !== "up");
    setText(
      sub,
      `${count(cluster.nodes.length, "node")}${down.length ? `, ${down.length} down or draining` : ", all up"} · reference type ${cluster.reference ?? "not known yet"}`,
    );
    set(
      types,
      cluster.types.length
        ? cluster.types.map((t) =>
            h(
              "div",
              { class: "type-row" },
              h("b", { text: t.type }),
              stacked(holders(t.type), t.capacity, `${t.type} in use by`),
              h(
                "span",
                { class: "value" },
                h("b", { text: `${whole(t.capacity - t.idle)} of ${whole(t.capacity)}` }),
                t.price === null ? "" : ` · price ${figure(t.price)}`,
              ),
            ),
          )
        : empty("No GPUs", "No node has joined yet."),
    );
    const found = cluster.nodes.filter(
      (n) =>
        `${n.name} ${n.type}`.toLowerCase().includes(text) &&
        (which === "all" || (which === "down" ? n.health !== "up" : n.health === "up" && n.jobs.includes(null))),
    );
    set(
      place,
      found.length
        ? h("div", { class: "nodes" }, found.slice(0, NODES_SHOWN).map(nodeCard))
        : empty("No such node", "Change the filter."),
    );
    setText(more, found.length > NODES_SHOWN ? `${found.length - NODES_SHOWN} more nodes: narrow the filter` : "");
  }

  /** Who holds GPUs of a type, those with most first. */
  function holders(type) {
    const held = new Map();
    for (const node of cluster.nodes.filter((n) => n.type === type)) {
      for (const id of node.jobs.filter((j) => j !== null)) {
        const tenant = owners.get(id)?.tenant ?? "";
        held.set(tenant, (held.get(tenant) ?? 0) + 1);
      }
    }
    const sorted = [...held].sort((a, b) => b[1] - a[1]);
    return sorted.map(([tenant, value]) => ({ name: tenant || "other tenants", value, colour: colourOf(tenant) }));
  }

  function nodeCard(node) {
    const isUp = node.health === "up";
    const used = node.jobs.filter((j) => j !== null).length;
    const action =
      mayOperate() &&
      h(
        "button",
        {
          type: "button",
          class: "tool",
          "aria-label": `${isUp ? "Drain" : "Return"} ${node.name}`,
          on: { click: () => turn(node) },
        },
        isUp ? "Drain" : "Return",
      );
    return h(
      "article",
      { class: `node ${node.health}`, "aria-label": `node ${node.name}` },
      h("div", { class: "node-head" }, h("b", { text: node.name, title: node.name }), action),
      h("p", {
        class: "muted small",
        text: isUp
          ? `${node.type} · ${percent(used / (node.jobs.length || 1))} in use${meanBusy(node)}`
          : `${node.type} · ${node.health === "draining" ? "draining: takes no more jobs" : "down"}`,
      }),
      ...notes(node).map((text) => h("p", { class: "small", text })),
      h(
        "div",
        { class: "gpus" },
        node.jobs.map((job, i) => gpu(node, job, i)),
      ),
    );
  }

  /** Why it is out, until when, and when it will be. */
  function notes(node) {
    const until = (time) => (time ? ` until ${absolute(Date.parse(time))}` : "");
    const planned = (node.windows ?? []).map(
      (w) => `Out from ${absolute(Date.parse(w.from))}${until(w.until)}${w.reason ? `: ${w.reason}` : ""}`,
    );
    const why = node.reason || node.until ? [`${node.reason ?? "Out"}${until(node.until)}`] : [];
    return [...why, ...planned];
  }

  /** What a GPU does, where its driver tells. */
  function figures(read) {
    if (!read) return "";
    const busy = read.utilisation == null ? "" : `, ${percent(read.utilisation)} busy`;
    const memory =
      read.memory_used == null || read.memory_total == null
        ? ""
        : `, ${bytes(read.memory_used)} of ${bytes(read.memory_total)}`;
    const idle = read.idle_s >= LONG_IDLE_S ? `, not used by its job for ${span(read.idle_s)}` : "";
    return `${busy}${memory}${idle}`;
  }

  /** How busy the GPUs of a node are, where that is known. */
  function meanBusy(node) {
    const known = (node.gpus ?? []).map((g) => g.utilisation).filter((part) => part != null);
    return known.length ? ` · ${percent(known.reduce((a, b) => a + b, 0) / known.length)} busy` : "";
  }

  function gpu(node, id, index) {
    const name = `GPU ${index}${figures((node.gpus ?? [])[index])}`;
    if (id === null)
      return h("span", { class: "gpu", role: "img", "aria-label": `${name}: idle`, title: `${name}: idle` });
    const job = owners.get(id);
    const colour = job ? colourOf(job.tenant) : roleColour("rest");
    const words = id
      ? `${name}: job ${id}${job ? ` (${job.name}) of ${job.tenant}` : ""}`
      : `${name}: a job of another tenant`;
    const props = {
      class: "gpu",
      title: words,
      "aria-label": words,
      style: { background: colour, color: inkOn(colour) },
    };
    return id
      ? h("a", { ...props, href: `/jobs/${id}` }, job ? lettersOf(job.tenant) : "?")
      : h("span", { ...props, role: "img" }, "·");
  }

  async function turn(node) {
    const isUp = node.health === "up";
    const jobs = [...new Set(node.jobs.filter(Boolean))];
    const reason = h("input", { type: "text", maxlength: "200", name: "reason" });
    const finish = h("input", { type: "checkbox", name: "let-finish" });
    const body = isUp
      ? [
          h("p", {
            text: jobs.length
              ? `${count(jobs.length, "job")} on it ${jobs.length === 1 ? "is" : "are"} told to write a checkpoint and requeued on other nodes, unless they may end: ${jobs.slice(0, 12).join(", ")}${jobs.length > 12 ? "…" : ""}.`
              : "No job runs on it.",
          }),
          h("label", { class: "field" }, "Reason (everybody sees it)", reason),
          h("label", { class: "check" }, finish, " Let running jobs end there"),
          h("p", { class: "muted", text: "It stays out until it is returned, also when its machine restarts." }),
        ]
      : h("p", { text: "Jobs may run on it from the next round on." });
    if (
      !(await confirm(
        isUp ? `Drain ${node.name}?` : `Return ${node.name}?`,
        body,
        isUp ? "Drain" : "Return",
        isUp ? "danger" : "",
      ))
    )
      return;
    try {
      const out = { health: "down", let_finish: finish.checked, ...(reason.value && { reason: reason.value }) };
      await api.patch(`/cluster/nodes/${part(node.name)}`, isUp ? out : { health: "up" });
      toast(isUp ? `${node.name} is taken out` : `${node.name} is back`);
      await load();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  await load();
  return { title: "Cluster", refresh: load };
}
