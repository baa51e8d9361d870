// Events as they happen. While the page is hidden nothing is asked; a line that breaks is taken up again where it
// broke off.

import { api } from "./api.js";
import { h, set, setText } from "./dom.js";
import { relative, shortTime } from "./format.js";

/** Views are told together, and at most so often: a busy cluster has hundreds of events in a second. */
const GATHER_MS = 900;
/** Pages that hear of the same round do not all ask at once. */
const SPREAD_MS = 300;
/** Heartbeats come every 15 s; after so long without anything the line is dead. */
const SILENT_MS = 40_000;

class Live {
  constructor() {
    this.listeners = new Set();
    this.state = "connecting";
    this.lastHeard = Date.now();
    this.last = undefined;
    this.source = null;
    this.waiting = null;
    this.topics = new Set();
    this.events = [];
    this.retry = 1000;
  }

  /** Begins to listen after an event. */
  start(lastEvent) {
    this.last = lastEvent;
    this.open();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    setInterval(() => this.check(), 1000);
  }

  /** Hears of changes: `run(topics, events)` with the set of topics, `reset` among them. Returns how to stop. */
  on(run) {
    this.listeners.add(run);
    return () => this.listeners.delete(run);
  }

  open() {
    if (this.source || document.hidden || this.stopped) return;
    const after = this.last === undefined ? "" : `?after=${this.last}`;
    const source = new EventSource(`/api/v1/events${after}`);
    this.source = source;
    source.onopen = () => {
      const wasAway = this.state === "lost";
      this.heard();
      this.retry = 1000;
      this.become("live");
      // What happened while nobody listened is not all in events: progress, for instance.
      if (wasAway) this.gather("reset", null);
    };
    source.onerror = () => {
      source.close();
      this.source = null;
      this.become("lost");
      // A stream does not say why it was refused: the session may have ended.
      api
        .session()
        .then((who) => !who.logged_in && this.ended?.())
        .catch(() => {});
      clearTimeout(this.again);
      this.again = setTimeout(() => this.open(), this.retry);
      this.retry = Math.min(this.retry * 1.6, 10_000);
    };
    for (const topic of ["job", "round", "tenant", "cluster", "reset"]) {
      source.addEventListener(topic, (message) => {
        this.heard();
        this.last = Number(message.lastEventId) || this.last;
        this.gather(topic, topic === "reset" ? null : JSON.parse(message.data));
      });
    }
  }

  close() {
    this.source?.close();
    this.source = null;
  }

  stop() {
    this.stopped = true;
    this.close();
  }

  heard() {
    this.lastHeard = Date.now();
  }

  check() {
    if (this.state === "live" && !document.hidden && Date.now() - this.lastHeard > SILENT_MS) {
      // EventSource does not tell of heartbeats: an answer to a question counts as well.
      this.close();
      this.open();
      this.heard();
    }
    this.notice?.();
  }

  become(state) {
    if (this.state === state) return;
    this.state = state;
    if (state === "lost") this.lostAt = Date.now();
    document.documentElement.dataset.link = state;
    this.notice?.();
  }

  gather(topic, event) {
    this.topics.add(topic);
    if (event) this.events.push(event);
    if (this.events.length > 2000) this.events.splice(0, 1000);
    this.waiting ??= setTimeout(() => this.tell(), GATHER_MS + Math.random() * SPREAD_MS);
  }

  tell() {
    const { topics, events } = this;
    [this.topics, this.events, this.waiting] = [new Set(), [], null];
    for (const run of this.listeners) run(topics, events);
  }
}

export const live = new Live();

/** The banner that says that what is shown is old. */
export function showConnection(banner, dot, dataAt) {
  let shown = "";
  live.notice = () => {
    const age = (Date.now() - dataAt()) / 1000;
    const lost = live.state === "lost" && Date.now() - live.lostAt > 1500;
    const word = lost ? "lost" : live.state === "live" ? "live" : "connecting";
    dot.dataset.state = word;
    setText(dot.lastChild, word === "live" ? "live" : word === "lost" ? "no connection" : "connecting");
    document.documentElement.toggleAttribute("data-stale", lost);
    if (!lost) {
      if (shown) set(banner);
      shown = "";
      return;
    }
    if (shown !== "lost") {
      shown = "lost";
      set(
        banner,
        h(
          "p",
          { class: "banner bad" },
          h("strong", { text: "No connection to the daemon. " }),
          h("span", {
            text: `What you see is from ${shortTime(dataAt())}; it updates again as soon as the daemon answers.`,
          }),
        ),
      );
    }
    banner.firstChild?.setAttribute("title", `last answer ${relative(dataAt(), Date.now())} (${Math.round(age)} s)`);
  };
}
