// A job: its life, why, how far it is, where it ran, and its output.

import { api } from "../lib/api.js";
import { h, set } from "../lib/dom.js";
import { absolute, count, figure, percent, relative, shortTime, span, whole } from "../lib/format.js";
import {
  card,
  confirm,
  empty,
  loading,
  stat,
  stateName,
  statePill,
  stats,
  tenantChip,
  toast,
  trouble,
  when,
} from "../lib/parts.js";
import { mayChange, now, state } from "../lib/state.js";
import { colourOf } from "../lib/colour.js";
import { figure as withTable } from "../charts/figure.js";
import { lines } from "../charts/lines.js";
import { table } from "../lib/table.js";
import { output } from "./job_output.js";

const LIVE = ["queued", "starting", "running", "stopping"];

export async function show(main, [id], { go }) {
  const head = h("div", { class: "head" });
  const why = h("div");
  const figures = h("div");
  const life = h("div");
  const lane = h("div");
  const curves = progress(id);
  const runs = runTable();
  const profile = h("div");
  const log = output(id);
  set(main, loading(6));
  let job = await api.get(`/jobs/${id}`);
  set(
    main,
    head,
    h(
      "div",
      { class: "grid" },
      h("section", { class: "card span-7" }, why),
      h("section", { class: "card span-5" }, figures),
      h(
        "section",
        { class: "card" },
        h("h2", { text: "Its life" }),
        lane,
        h("details", {}, h("summary", { text: "Every change" }), life),
      ),
      h("section", { class: "card span-8" }, curves.element),
      h("section", { class: "card span-4" }, h("h2", { text: "Throughput against profile" }), profile),
      h("section", { class: "card" }, h("h2", { text: "Output" }), log.element),
      h("section", { class: "card span-7" }, h("h2", { text: "Runs" }), runs.element),
      card("As it was submitted", spec(job)),
    ),
  );
  main.querySelector(".grid > .card:last-child").classList.add("span-5");

  async function reasons() {
    try {
      const answer = await api.get(`/jobs/${id}/why`);
      set(
        why,
        h("h2", {
          text: LIVE.includes(job.state)
            ? job.state === "queued"
              ? "Why it waits"
              : "Why it runs here"
            : "How it ended",
        }),
        h("p", { class: "lead", text: answer.sentence }),
        answer.expected_start &&
          h(
            "p",
            {},
            "Expected start ",
            h("b", {
              title: absolute(Date.parse(answer.expected_start)),
              text: relative(Date.parse(answer.expected_start), now()),
            }),
            h("span", {
              class: "muted",
              text: ` (round ${answer.expected_round ?? "–"}; an estimate, good to about a round of ${span(state.overview.length_s)})`,
            }),
          ),
        answer.details.length > 0 &&
          h(
            "ul",
            { class: "muted" },
            answer.details.map((text) => h("li", { text })),
          ),
      );
    } catch (error) {
      set(why, trouble(error));
    }
  }

  function draw() {
    // A button that is about to be pressed stays where it is.
    if (head.dataset.state !== job.state)
      set(
        head,
        h("h1", {}, `Job ${job.id} `, h("span", { class: "muted", text: job.name })),
        h(
          "p",
          { class: "sub" },
          statePill(job.state),
          " ",
          tenantChip(job.tenant),
          " ",
          h("span", { class: "tag", text: job.workload }),
        ),
        h("div", { class: "right" }, buttons()),
      );
    head.dataset.state = job.state;
    const done = job.progress;
    set(
      figures,
      h("h2", { text: "Figures" }),
      stats(
        stat(
          "workers",
          whole(job.workers),
          job.gpus.length ? `on ${[...new Set(job.gpus.map((g) => g.type))].join(" + ")}` : "none placed",
        ),
        stat("ran", span(job.ran_s)),
        stat(
          job.state === "queued" ? "waits" : "waited before its first start",
          span((Date.parse(job.started ?? new Date(now()).toISOString()) - Date.parse(job.submitted)) / 1000),
        ),
        stat(
          "steps",
          done.steps ? figure(done.steps) : "–",
          done.throughput ? `${figure(done.throughput)} per second` : "none reported",
        ),
        stat(
          "last checkpoint",
          done.checkpoint === null ? "–" : figure(done.checkpoint),
          done.checkpoint === null
            ? "none reported"
            : `step; ${figure(Math.max(0, done.steps - done.checkpoint))} since`,
        ),
        stat("restarts", whole(job.restarts), restartsSay(job)),
      ),
      h(
        "p",
        { class: "muted small" },
        "submitted ",
        when(job.submitted),
        job.ended ? [", ended ", when(job.ended)] : null,
      ),
    );
    set(
      life,
      h(
        "ol",
        { class: "life" },
        [...(job.history ?? [])]
          .reverse()
          .map((change) =>
            h(
              "li",
              { class: change.state },
              h("span", {
                class: "at",
                title: absolute(Date.parse(change.at)),
                text: shortTime(Date.parse(change.at)),
              }),
              h("span", { class: "knot" }),
              h("span", { class: "what" }, h("b", { text: stateName(change.state) }), ` ${change.reason}`),
            ),
          ),
      ),
    );
    set(lane, lanes(job));
    runs.show(job);
  }

  function buttons() {
    if (!mayChange(job.tenant)) return null;
    const again = job.spec && h("button", { type: "button", class: "button", on: { click: resubmit } }, "Submit again");
    const stop =
      LIVE.includes(job.state) &&
      h("button", { type: "button", class: "button danger", on: { click: cancel } }, "Cancel");
    return [again, holdButton(), stop];
  }

  function holdButton() {
    if (!LIVE.includes(job.state) || !job.spec) return null;
    const isHeld = job.spec.held;
    const change = isHeld ? release : hold;
    return h("button", { type: "button", class: "button", on: { click: change } }, isHeld ? "Release" : "Hold");
  }

  async function hold() {
    const text =
      job.state === "queued"
        ? "It does not start until it is released."
        : "It saves its work and stops, and does not start again until it is released.";
    if (!(await confirm(`Hold job ${job.id}?`, h("p", { text }), "Hold the job"))) return;
    await act(() => api.patch(`/jobs/${job.id}`, { held: true }), `job ${job.id} is held`);
  }

  async function release() {
    await act(() => api.patch(`/jobs/${job.id}`, { held: false }), `job ${job.id} is released`);
  }

  async function cancel() {
    const text =
      job.state === "queued"
        ? "It has not started; nothing is lost."
        : "It is told to stop, has its grace time, and is not started again.";
    if (!(await confirm(`Cancel job ${job.id}?`, h("p", { text }), "Cancel the job", "danger"))) return;
    await act(() => api.post(`/jobs/${job.id}/cancel`), `job ${job.id} is cancelled`);
  }

  async function resubmit() {
    const command = (job.spec.command ?? []).join(" ") || job.spec.script || "";
    if (
      !(await confirm(
        `Submit job ${job.id} again?`,
        [
          h("p", { text: `A new job of ${job.tenant} with the same command, from the beginning:` }),
          h("p", {}, h("code", { text: command.slice(0, 400) })),
        ],
        "Submit",
      ))
    )
      return;
    await act(async () => {
      const { ids } = await api.post(`/jobs/${job.id}/resubmit`);
      go(`/jobs/${ids[0]}`);
    }, "submitted");
  }

  async function act(run, done) {
    try {
      await run();
      toast(done);
    } catch (error) {
      toast(`${error.message}${error.hint ? `; ${error.hint}` : ""}`, "bad");
    }
  }

  draw();
  showProfile(profile, job);
  await Promise.all([reasons(), curves.load(job), log.start(job)]);
  return {
    title: `Job ${id}`,
    async refresh(topics, events) {
      const mine = events.some((event) => event.job === job.id);
      if (!mine && !LIVE.includes(job.state)) return;
      job = await api.get(`/jobs/${id}`);
      draw();
      log.follow(job);
      await Promise.all([curves.load(job), mine || topics.has("round") ? reasons() : null]);
    },
    close: () => log.close(),
  };
}

/** Its life as one bar: waiting, and on which type it ran. */
function lanes(job) {
  const begin = Date.parse(job.submitted);
  const end = job.ended ? Date.parse(job.ended) : now();
  const parts = [];
  let at = begin;
  for (const run of job.runs ?? []) {
    const [from, to] = [Date.parse(run.started), run.ended ? Date.parse(run.ended) : end];
    if (from > at) parts.push({ kind: "wait", from: at, to: from, text: "waits" });
    const type = [...new Set(run.gpus.map((g) => g.type))].join(" + ");
    parts.push({ kind: "run", from, to, text: `${run.gpus.length} ${type}`, ending: run.ending });
    at = Math.max(at, to);
  }
  if (at < end) parts.push({ kind: "wait", from: at, to: end, text: "waits" });
  const colour = colourOf(job.tenant);
  const all = end - begin || 1;
  return h(
    "div",
    {},
    h(
      "div",
      {
        class: "lane",
        role: "img",
        "aria-label": parts.map((p) => `${p.text} for ${span((p.to - p.from) / 1000)}`).join(", "),
      },
      parts.map((part) => {
        const style = { width: `${(100 * (part.to - part.from)) / all}%` };
        if (part.kind === "run") Object.assign(style, { background: colour, color: "light-dark(#fff,#000)" });
        return h(
          "span",
          {
            class: part.kind,
            style,
            title: `${part.text}: ${shortTime(part.from)} to ${shortTime(part.to)}, ${span((part.to - part.from) / 1000)}${part.ending ? `, ${part.ending}` : ""}`,
          },
          part.kind === "run" ? part.text : "",
        );
      }),
    ),
    h("p", {
      class: "muted small",
      text: `${shortTime(begin)} to ${job.ended ? shortTime(end) : "now"}: ${span(all / 1000)}; coloured where it ran`,
    }),
  );
}

function progress(id) {
  const steps = lines({ label: "Steps over time", height: 130, unit: "steps" });
  const speed = lines({ label: "Throughput over time", height: 130, unit: "steps per second" });
  const loss = lines({ label: "Loss over time", height: 150, unit: "loss", free: true });
  const none = h("div");
  const body = h("div", {}, none);
  let curve = null;
  const shown = withTable({
    title: "Progress",
    name: `job-${id}-progress`,
    chart: body,
    note: "As the job reports it, since the daemon was started. Bands: the gpu type that it ran on.",
    data: () => ({
      columns: [
        { name: "at", show: (r) => new Date(r.at).toISOString() },
        { name: "steps", show: (r) => String(r.steps), value: (r) => r.steps, number: true },
        { name: "steps per second", show: (r) => figure(r.throughput), value: (r) => r.throughput, number: true },
        { name: "loss", show: (r) => figure(r.loss), value: (r) => r.loss, number: true },
      ],
      rows: (curve?.at_ms ?? []).map((at, i) => ({
        at,
        steps: curve.steps[i],
        throughput: curve.throughput[i],
        loss: curve.loss[i],
      })),
    }),
  });
  async function load(job) {
    curve = await api.get(`/jobs/${id}/curve`);
    if (curve.at_ms.length < 2) {
      set(
        body,
        empty(
          "No progress reported yet",
          job.state === "queued"
            ? "The job has not started."
            : "A job reports steps and loss with the Python helper or by its protocol.",
        ),
      );
      return;
    }
    const has = (list) => list.some((v) => v !== null);
    const parts = [steps.element, has(curve.throughput) && speed.element, has(curve.loss) && loss.element].filter(
      Boolean,
    );
    if (body.children.length !== parts.length || body.firstChild !== parts[0]) set(body, parts);
    const types = [...new Set((job.runs ?? []).flatMap((run) => run.gpus.map((g) => g.type)))];
    const bands = (job.runs ?? []).map((run) => ({
      from: Date.parse(run.started),
      to: run.ended ? Date.parse(run.ended) : now(),
      text: run.gpus[0]?.type ?? "",
      class: `b${types.indexOf(run.gpus[0]?.type) % 3}`,
    }));
    const colour = colourOf(job.tenant);
    const at = curve.at_ms;
    steps.show({ at, bands, series: [{ name: "steps", values: curve.steps, colour, area: true }] });
    speed.show({ at, bands, series: [{ name: "steps per second", values: curve.throughput, colour }] });
    loss.show({ at, bands, series: [{ name: "loss", values: curve.loss, colour }] });
    shown.refresh();
  }
  return { element: shown.element, load };
}

/** What the profile says about gpu types, and what was seen; both relative to the slowest. */
async function showProfile(place, job) {
  set(place, loading(3));
  try {
    const workload = await api.get(`/workloads/${encodeURIComponent(job.tenant)}/${encodeURIComponent(job.workload)}`);
    set(place, profileTable(workload));
  } catch (error) {
    set(place, trouble(error));
  }
}

/** A workload's profile as a table. */
export function profileTable(workload) {
  const { throughput, provenance, source } = workload.profile;
  const types = Object.keys(throughput);
  const base = Math.min(...types.map((t) => throughput[t]).filter((x) => x > 0));
  const seenBase = types
    .filter((t) => workload.observed[t] > 0 && throughput[t] > 0)
    .map((t) => workload.observed[t] / throughput[t]);
  // The unit of a profile is its own: what was seen is scaled so that it fits the profile best.
  const unit = seenBase.length ? Math.exp(seenBase.reduce((sum, x) => sum + Math.log(x), 0) / seenBase.length) : 0;
  const list = table({
    caption: `Profile of ${workload.name}`,
    rowHead: true,
    columns: [
      { name: "gpu type", show: (t) => t },
      {
        name: "profile",
        show: (t) => (throughput[t] > 0 ? `${figure(throughput[t] / base)}×` : "cannot run"),
        value: (t) => throughput[t],
        number: true,
      },
      {
        name: "observed",
        show: (t) => (workload.observed[t] > 0 && unit ? `${figure(workload.observed[t] / unit / base)}×` : "–"),
        value: (t) => workload.observed[t] ?? null,
        number: true,
      },
      {
        name: "steps/s",
        show: (t) => figure(workload.observed[t] ?? NaN),
        value: (t) => workload.observed[t] ?? null,
        number: true,
      },
    ],
  });
  list.set(types);
  return h(
    "div",
    {},
    list.element,
    h(
      "p",
      { class: "small muted" },
      h("span", { class: "tag", text: provenance }),
      ` ${source}, `,
      when(workload.profile.since),
    ),
    workload.guard?.sentences.map((text) =>
      h("p", { class: workload.guard.mismatch ? "warning small" : "muted small", text }),
    ),
  );
}

function runTable() {
  const list = table({
    caption: "Runs of this job",
    sort: [0, -1],
    empty: "It has not run yet.",
    columns: [
      { name: "run", show: (r) => String(r.generation), value: (r) => r.generation },
      {
        name: "GPUs",
        show: (r) => [...new Set(r.gpus.map((g) => `${g.type} (${g.node})`))].join(", "),
        value: (r) => r.gpus.length,
      },
      { name: "began", show: (r) => when(r.started), value: (r) => Date.parse(r.started) },
      {
        name: "lasted",
        show: (r) => span(((r.ended ? Date.parse(r.ended) : now()) - Date.parse(r.started)) / 1000),
        value: (r) => (r.ended ? Date.parse(r.ended) : now()) - Date.parse(r.started),
        number: true,
      },
      {
        name: "ended",
        show: (r) => h("span", { title: r.detail ?? "" }, r.ending ? r.ending.replaceAll("_", " ") : "runs"),
        value: (r) => r.ending ?? "",
      },
    ],
  });
  return { element: list.element, show: (job) => list.set(job.runs ?? []) };
}

function spec(job) {
  if (!job.spec)
    return h("p", { class: "muted", text: "Commands and environments are shown to the tenant and to admins." });
  const { command, script, env, labels, ...rest } = job.spec;
  const fact = (name, value) => [h("dt", { text: name }), h("dd", {}, value)];
  return h(
    "dl",
    { class: "facts" },
    fact("command", h("code", { text: (command ?? []).join(" ") || script || "" })),
    Object.entries(rest)
      .filter(([, value]) => typeof value !== "object" && value !== "")
      .map(([key, value]) => fact(key.replaceAll("_", " "), String(value))),
    Object.entries(labels ?? {}).map(([key, value]) => fact(`label ${key}`, value)),
    Object.keys(env ?? {}).length > 0 && fact("environment", Object.keys(env).join(", ")),
  );
}

/** What restarts have cost a job and may cost it, and its failures. */
function restartsSay(job) {
  const budget = job.restart_budget;
  const cost = budget
    ? `lost ${percent(budget.lost_part, 1)} of its time; beyond ${budget.free} at most ${percent(budget.bound)}`
    : "";
  const failures = job.failures ? count(job.failures, "failure") : "";
  return [failures, cost].filter(Boolean).join("; ");
}
