// Events: what happened, the newest first, as it happens.

import { h, later, set, setText } from "../lib/dom.js";
import { absolute, count } from "../lib/format.js";
import { choice, empty, statePill, when } from "../lib/parts.js";
import { csv } from "../lib/table.js";
import { live } from "../lib/live.js";
import { state } from "../lib/state.js";

/** So many of the past are asked for, and so many stay on the page. */
const PAST = 400;
const KEPT = 1000;
const SHOWN = 300;

export async function show(main) {
  let events = [];
  let topic = "all";
  let text = "";
  const sub = h("p", { class: "sub" });
  const list = h("div", { class: "events" });
  const search = h("input", {
    type: "search",
    placeholder: "Search events…",
    "aria-label": "Search events",
    on: {
      input: later(120, () => {
        text = search.value.toLowerCase();
        draw();
      }),
    },
  });
  set(
    main,
    h(
      "div",
      { class: "head" },
      h("h1", { text: "Events" }),
      sub,
      h("div", { class: "right" }, h("button", { type: "button", class: "button", on: { click: take } }, "CSV")),
    ),
    h(
      "section",
      { class: "card" },
      h(
        "div",
        { class: "filters" },
        choice(
          "Topic",
          [
            ["all", "All"],
            ["job", "Jobs"],
            ["round", "Rounds"],
            ["tenant", "Tenants"],
            ["cluster", "Cluster"],
          ],
          topic,
          (value) => {
            topic = value;
            draw();
          },
        ),
        search,
      ),
      list,
    ),
  );

  function found() {
    return events.filter(
      (e) => (topic === "all" || e.topic === topic) && (!text || e.message.toLowerCase().includes(text)),
    );
  }

  function draw() {
    const all = found();
    setText(sub, `${count(all.length, "event")}, the newest first`);
    set(list, all.length ? all.slice(0, SHOWN).map(row) : empty("Nothing yet", "Events appear here as they happen."));
  }

  function row(event) {
    const about = event.state ? statePill(event.state) : h("span", { class: "tag", text: event.topic });
    const message = event.job
      ? [h("a", { href: `/jobs/${event.job}`, text: event.message })]
      : event.round
        ? [h("a", { href: `/rounds?round=${event.round}`, text: event.message })]
        : event.message;
    return h(
      "div",
      { class: "event", title: absolute(Date.parse(event.at)) },
      h("span", { class: "muted" }, when(event.at)),
      h("span", {}, about),
      h("span", { class: "what" }, message),
    );
  }

  function take() {
    csv(
      "events",
      [
        { name: "number", show: (e) => e.id },
        { name: "at", show: (e) => e.at },
        { name: "topic", show: (e) => e.topic },
        { name: "job", show: (e) => e.job ?? "" },
        { name: "tenant", show: (e) => e.tenant ?? "" },
        { name: "message", show: (e) => e.message },
      ],
      found(),
    );
  }

  function add(fresh) {
    const known = new Set(events.map((e) => e.id));
    events = [...fresh.filter((e) => !known.has(e.id)), ...events].sort((a, b) => b.id - a.id).slice(0, KEPT);
    draw();
  }

  draw();
  const past = await backlog(Math.max(0, state.overview.last_event - PAST), state.overview.last_event);
  add(past);
  const stop = live.on((_, fresh) => add(fresh));
  return { title: "Events", refresh: () => null, close: stop };
}

/** The events between two numbers, from a stream that is closed when they are here. */
function backlog(after, upTo) {
  return new Promise((resolve) => {
    const found = [];
    const source = new EventSource(`/api/v1/events?after=${after}`);
    const done = () => {
      source.close();
      resolve(found);
    };
    setTimeout(done, 1500);
    source.onerror = done;
    for (const topic of ["job", "round", "tenant", "cluster"]) {
      source.addEventListener(topic, (message) => {
        found.push(JSON.parse(message.data));
        if (Number(message.lastEventId) >= upTo) done();
      });
    }
  });
}
