// The output of a job's workers, as it grows.

import { api, query } from "../lib/api.js";
import { h, set } from "../lib/dom.js";
import { bytes } from "../lib/format.js";
import { choice } from "../lib/parts.js";

const EVERY_MS = 2000;
/** Text that stays on the page; the beginning is dropped beyond. */
const CHARS_MAX = 400_000;
const WORKERS_AT_ONCE = 16;

/** Whose a line of both streams is, as the interface marks it. */
const MARK = /^\[(\d+)( err)?\] /;

/** The output of one worker or of all, and of both streams or of one. */
export function output(id) {
  const text = h("pre", { class: "output", tabindex: "0", role: "log", "aria-label": "Output", "aria-live": "off" });
  const note = h("p", { class: "muted small" });
  const which = h("select", { "aria-label": "Worker", on: { change: restart } });
  const follow = h("input", { type: "checkbox", checked: true, id: "follow" });
  let stream = "all";
  /** Of both streams: the beginning of a line whose end has not come yet. */
  let rest = "";
  let job = null;
  let timer = 0;
  let offsets = new Map();
  let generation;
  let length = 0;
  const tools = h(
    "div",
    { class: "filters" },
    choice(
      "Stream",
      [
        ["all", "both"],
        ["out", "stdout"],
        ["err", "stderr"],
      ],
      "all",
      (value) => {
        stream = value;
        restart();
      },
    ),
    which,
    h("label", {}, follow, " follow"),
    note,
  );

  function ranks() {
    // Both streams come with all workers in one.
    if (stream === "all") return [0];
    if (which.value !== "all") return [Number(which.value)];
    return Array.from({ length: Math.min(WORKERS_AT_ONCE, job.workers) }, (_, i) => i);
  }

  /** While a job starts for the first time there is no output, not even an empty one. */
  function isFirstStart() {
    return job.state === "starting" && (job.runs?.length ?? 0) <= 1;
  }

  async function read() {
    clearTimeout(timer);
    if (!job) return;
    if (document.hidden || isFirstStart()) return plan();
    try {
      let complete = true;
      for (const rank of ranks()) {
        const offset = offsets.get(rank);
        const chunk = await api.get(
          `/jobs/${id}/logs` +
            query({
              rank,
              stream,
              generation: offset === undefined ? undefined : generation,
              ...(offset === undefined ? { tail: 400 } : { offset }),
            }),
        );
        if (offset !== undefined && chunk.generation !== generation) return restart();
        generation = chunk.generation;
        offsets.set(rank, chunk.next_offset);
        complete &&= chunk.complete;
        if (stream === "all") addMarked(chunk.text, chunk.complete);
        else if (chunk.text) add(chunk.text, stream === "err", `── worker ${rank}\n`);
      }
      note.textContent = `run ${generation} · ${bytes([...offsets.values()].reduce((a, b) => a + b, 0))} so far${stream !== "all" && job.workers > WORKERS_AT_ONCE && which.value === "all" ? ` · the first ${WORKERS_AT_ONCE} workers` : ""}`;
      if (!length) text.textContent = complete ? "(it wrote nothing)" : "(nothing written yet)";
      if (complete && !["running", "starting", "queued"].includes(job.state)) return;
    } catch (error) {
      note.textContent = error.status === 404 ? "nothing written yet" : error.message;
      if (error.status === 403) return;
    }
    plan();
  }

  /** Lines of both streams in the order of writing: those of the error stream are marked. */
  function addMarked(chunk, isEnd) {
    const lines = (rest + chunk).split("\n");
    rest = isEnd ? "" : lines.pop();
    // Lines of one kind that follow each other are one piece of the page.
    let piece = null;
    for (const line of lines.filter((line) => line)) {
      const [mark, rank, isError] = MARK.exec(line) ?? ["", "0"];
      if (which.value !== "all" && which.value !== rank) continue;
      const text = `${line.slice(mark.length)}\n`;
      if (piece && piece.rank === rank && piece.isError === !!isError) piece.text += text;
      else {
        if (piece) add(piece.text, piece.isError, piece.who);
        piece = { rank, isError: !!isError, text, who: `[${rank}${isError ? " err" : ""}] ` };
      }
    }
    if (piece) add(piece.text, piece.isError, piece.who);
  }

  function add(chunk, isError, who) {
    if (!length) set(text);
    const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
    const line = h("span", isError ? { class: "err" } : {});
    line.textContent = chunk;
    if (job.workers > 1 && which.value === "all") text.append(h("span", { class: "who", text: who }));
    text.append(line);
    length += chunk.length;
    while (length > CHARS_MAX && text.firstChild !== line) {
      length -= text.firstChild.textContent.length;
      text.firstChild.remove();
    }
    if (follow.checked && atEnd) text.scrollTop = text.scrollHeight;
  }

  function plan() {
    clearTimeout(timer);
    if (job) timer = setTimeout(read, EVERY_MS);
  }

  function restart() {
    offsets = new Map();
    generation = undefined;
    length = 0;
    rest = "";
    set(text, "…");
    read();
  }

  return {
    element: h("div", {}, tools, text),
    async start(next) {
      job = next;
      if (!job.spec) {
        set(text, "The output is shown to the tenant and to admins.");
        return;
      }
      set(
        which,
        h("option", { value: "all" }, job.workers > 1 ? "all workers" : "the worker"),
        job.workers > 1 &&
          Array.from({ length: Math.min(256, job.workers) }, (_, i) =>
            h("option", { value: String(i) }, `worker ${i}`),
          ),
      );
      if (job.started === null) {
        set(text, "(not started yet)");
        return;
      }
      restart();
    },
    follow(next) {
      const hadRuns = job?.runs?.length ?? 0;
      job = next;
      if (job.spec && (job.runs?.length ?? 0) !== hadRuns) restart();
    },
    close: () => {
      clearTimeout(timer);
      job = null;
    },
  };
}
