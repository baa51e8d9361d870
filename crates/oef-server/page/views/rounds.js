// Rounds: back through history with a slider. Who ran where, what moved and why, the certificate.

import { api, query } from "../lib/api.js";
import { h, later, set } from "../lib/dom.js";
import { absolute, count, figure, shortTime, span, whole } from "../lib/format.js";
import { empty, loading, stat, stats, tenantChip, trouble } from "../lib/parts.js";
import { figure as withTable } from "../charts/figure.js";
import { strip } from "../charts/strip.js";
import { Timeline } from "../charts/timeline.js";
import { table } from "../lib/table.js";
import { certificate, explainer } from "./round.js";
import { tickColumns } from "./now.js";

/** How much of the time around a round is drawn: what was before, and what came of it. */
const AROUND = 6;

export async function show(main, _params, { go }) {
  let ticks = [];
  let at = -1;
  let following = true;
  const explain = explainer();
  const chart = strip({ choose: (tick) => choose(ticks.indexOf(tick)) });
  const range = h("input", {
    type: "range",
    min: "0",
    max: "0",
    step: "1",
    "aria-label": "Round",
    on: { input: () => choose(Number(range.value)) },
  });
  const step = (by) => () => choose(at + by);
  const head = h("div");
  const cert = h("div");
  const moved = h("div");
  const shares = h("div");
  const where = new Timeline({
    label: "Who ran where around this round. Arrow keys go from GPU to GPU and from run to run.",
    open: (job) => go(`/jobs/${job}`),
    explain,
  });
  const wherePlace = h("div", {}, loading(5));
  const strips = withTable({
    title: "Rounds",
    name: "rounds",
    chart: chart.element,
    data: () => ({ columns: tickColumns(), rows: [...ticks].reverse() }),
  });
  const picture = withTable({
    title: "Who ran where",
    name: "round-who-ran-where",
    chart: wherePlace,
    note: "This round between the dashed lines, with what was before and after.",
    data: () => where.data(),
  });
  set(
    main,
    h(
      "div",
      { class: "head" },
      h("h1", { text: "Rounds" }),
      h("p", {
        class: "sub",
        text: "Go back through history: who ran where, what moved and why, and whether it was fair.",
      }),
    ),
    h(
      "section",
      { class: "card" },
      strips.element,
      h(
        "div",
        { class: "scrub" },
        h(
          "button",
          { type: "button", class: "button", "aria-label": "The round before", on: { click: step(-1) } },
          "‹",
        ),
        range,
        h("button", { type: "button", class: "button", "aria-label": "The round after", on: { click: step(1) } }, "›"),
      ),
    ),
    h(
      "div",
      { class: "grid" },
      h("section", { class: "card" }, head),
      h("section", { class: "card span-6" }, h("h2", { text: "Certificate" }), cert),
      h("section", { class: "card span-6" }, h("h2", { text: "What moved, and why" }), moved),
      h("section", { class: "card" }, picture.element),
      h("section", { class: "card" }, h("h2", { text: "Shares" }), shares),
    ),
  );
  set(head, loading(2));

  const detail = later(60, async () => {
    const tick = ticks[at];
    try {
      const before = ticks[at - 1];
      const [round, last, runs] = await Promise.all([
        api.get(`/rounds/${tick.round}`),
        before ? api.get(`/rounds/${before.round}`).catch(() => null) : null,
        api.get("/timeline" + query({ from_ms: stretch(tick)[0], to_ms: stretch(tick)[1] })),
      ]);
      if (ticks[at] !== tick) return;
      draw(tick, round, last, runs);
    } catch (error) {
      set(head, trouble(error));
    }
  });

  function stretch(tick) {
    const length = (ticks[at + 1]?.began_ms ?? tick.began_ms + lengthOf()) - tick.began_ms;
    return [tick.began_ms - AROUND * length, tick.began_ms + (AROUND / 2) * length];
  }

  function lengthOf() {
    const gaps = ticks
      .slice(1)
      .map((t, i) => t.began_ms - ticks[i].began_ms)
      .sort((a, b) => a - b);
    return gaps[Math.floor(gaps.length / 2)] ?? 60_000;
  }

  function choose(i) {
    if (!ticks.length) return;
    at = Math.max(0, Math.min(ticks.length - 1, i));
    following = at === ticks.length - 1;
    range.value = String(at);
    range.setAttribute("aria-valuetext", `round ${ticks[at].round}`);
    chart.choose(ticks[at].round);
    history.replaceState(null, "", following ? "/rounds" : `/rounds?round=${ticks[at].round}`);
    detail();
  }

  function draw(tick, round, last, runs) {
    set(
      head,
      stats(
        stat(
          "round",
          String(tick.round),
          h("span", { title: absolute(tick.began_ms), text: shortTime(tick.began_ms) }),
        ),
        stat(
          "mechanism",
          tick.mechanism,
          round.shares_age.kept ? "last round's shares" : `shares in ${span(round.shares_age.solve_s)}`,
        ),
        stat("GPUs in use", whole(tick.gpus_used), `of ${whole(tick.gpus)}`),
        stat("jobs", whole(tick.running), `ran, ${whole(tick.queued)} waited`),
        last &&
          stat(
            "work lost",
            span(Math.max(0, round.wasted_gpu_s - last.wasted_gpu_s)),
            "of a GPU, since the round before",
          ),
        stat("promised in total", figure(round.total), `plan in ${span(round.plan_s)}`),
      ),
      round.shares_age.trouble && h("p", { class: "bad", text: round.shares_age.trouble }),
      round.solver &&
        !round.shares_age.trouble &&
        h("p", { class: round.solver.status === "optimal" ? "" : "warning", text: `shares are ${round.solver.sentence}` }),
    );
    set(cert, certificate(round.audit, tick.promises, tick.mechanism));
    set(moved, moves(round, last));
    set(shares, shareTable(round));
    where.clear();
    where.setNodes(runs.nodes);
    where.merge(runs);
    const [from, to] = stretch(tick);
    where.setTime(from, Math.min(to, Date.now()));
    const end = ticks[at + 1]?.began_ms;
    where.marks = [{ at: tick.began_ms, text: `round ${tick.round}` }, ...(end ? [{ at: end, text: "" }] : [])];
    set(wherePlace, where.element);
    where.draw();
    picture.refresh();
  }

  async function load() {
    try {
      const after = ticks.at(-1)?.round;
      const { rounds } = await api.get("/rounds/recent" + query({ after, limit: 1000 }));
      ticks = [...ticks, ...rounds.filter((r) => !(r.round <= after))].slice(-1000);
      chart.set(ticks);
      strips.refresh();
      range.max = String(Math.max(0, ticks.length - 1));
      if (!ticks.length)
        return set(head, empty("No round has begun yet", "The first begins within the length of a round."));
      const wanted = Number(new URLSearchParams(location.search).get("round"));
      const found = at < 0 && wanted ? ticks.findIndex((t) => t.round === wanted) : -1;
      if (found >= 0) choose(found);
      else if (following) choose(ticks.length - 1);
    } catch (error) {
      set(head, trouble(error, load));
    }
  }

  await load();
  return {
    title: "Rounds",
    refresh: (topics) => (topics.has("round") || topics.has("reset") ? load() : null),
    close: () => explain(null, null),
  };
}

/** What a round began, moved and stopped, against the one before. */
function moves(round, last) {
  if (!last) return h("p", { class: "muted", text: "The round before is not kept." });
  const key = (p) => p.gpus.map((g) => `${g.node}:${g.index}`).join();
  const before = new Map(last.placements.map((p) => [p.job, p]));
  const list = [];
  for (const p of round.placements) {
    const old = before.get(p.job);
    before.delete(p.job);
    if (!old) list.push({ what: "starts", tone: "good", ...p, text: `on ${describe(p)}` });
    else if (key(old) !== key(p))
      list.push({ what: "moves", tone: "", ...p, text: `from ${describe(old)} to ${describe(p)}` });
  }
  for (const p of before.values())
    list.push({ what: "leaves", tone: "bad", ...p, text: describe(p), reason: "ended or preempted" });
  const stayed = round.placements.length - list.filter((m) => m.what !== "leaves").length;
  const shown = list.slice(0, 40);
  return h(
    "div",
    {},
    h("p", {
      class: "muted",
      text: `${count(stayed, "job")} stayed, ${list.length ? "the others:" : "nothing moved."}`,
    }),
    h(
      "ul",
      { class: "list" },
      shown.map((m) =>
        h(
          "li",
          {},
          h("span", { class: `tag ${m.tone}`, text: m.what }),
          " ",
          h("a", { href: `/jobs/${m.job}` }, `job ${m.job}`),
          " of ",
          tenantChip(m.tenant),
          h("span", { class: "muted", text: ` ${m.text}; ${m.reason}` }),
        ),
      ),
    ),
    list.length > shown.length && h("p", { class: "muted small", text: `and ${list.length - shown.length} more` }),
  );
}

function describe(placement) {
  const types = [...new Set(placement.gpus.map((g) => g.type))].join(" + ");
  return `${placement.gpus.length} ${types}`;
}

function shareTable(round) {
  const types = [...new Set(round.shares.flatMap((s) => Object.keys(s.share)))];
  const list = table({
    caption: "Shares of the round",
    sort: [2, -1],
    limit: 200,
    empty: "There was nothing to share.",
    columns: [
      { name: "tenant", show: (s) => tenantChip(s.tenant), value: (s) => s.tenant },
      { name: "workload", show: (s) => s.workload },
      { name: "throughput", show: (s) => figure(s.throughput), value: (s) => s.throughput, number: true },
      {
        name: "of equal split",
        show: (s) => (s.equal_split > 0 ? `${((100 * s.throughput) / s.equal_split).toFixed(0)} %` : "–"),
        value: (s) => (s.equal_split > 0 ? s.throughput / s.equal_split : null),
        number: true,
      },
      ...types.map((type) => ({
        name: type,
        show: (s) => (s.share[type] > 0.004 ? figure(s.share[type]) : "·"),
        value: (s) => s.share[type] ?? 0,
        number: true,
      })),
      { name: "weight", show: (s) => figure(s.weight), value: (s) => s.weight, number: true },
    ],
  });
  list.set(round.shares);
  return list.element;
}
