// The small parts of which views are made.

import { h, link, set } from "./dom.js";
import { absolute, relative, span } from "./format.js";
import { colourOf, inkOn, lettersOf } from "./colour.js";
import { now } from "./state.js";
import { part } from "./api.js";

/** A tenant: its letters on its colour, and its name. */
export function tenantChip(name, { asLink = true } = {}) {
  if (!name) return h("span", { class: "chip" }, badge(null), h("span", { class: "muted", text: "another tenant" }));
  const inside = [badge(name), h("span", { class: "chip-name", text: name })];
  return asLink
    ? h("a", { class: "chip", href: `/tenants/${part(name)}` }, inside)
    : h("span", { class: "chip" }, inside);
}

/** The letters of a tenant on its colour. */
export function badge(name) {
  const colour = colourOf(name);
  const text = name ? lettersOf(name) : "·";
  return h("span", {
    class: "badge",
    "aria-hidden": "true",
    style: { background: colour, color: inkOn(colour) },
    text,
  });
}

const SIGNS = { queued: "◦", starting: "◔", running: "●", stopping: "◑", finished: "✓", failed: "✕", cancelled: "–", timed_out: "⧗" };

/** A state in words. */
export function stateName(state) {
  return state.replaceAll("_", " ");
}

/** What a job does. */
export function statePill(state) {
  return h(
    "span",
    { class: `pill ${state}` },
    h("span", { "aria-hidden": "true", text: SIGNS[state] ?? "?" }),
    ` ${stateName(state)}`,
  );
}

/** An instant: how far away, and the whole of it on hover. It stays right by itself. */
export function when(ms, suffix = "") {
  if (ms === null || ms === undefined) return h("span", { class: "muted", text: "–" });
  const at = typeof ms === "string" ? Date.parse(ms) : ms;
  const element = h("time", {
    datetime: new Date(at).toISOString(),
    title: absolute(at),
    data: { at: String(at), suffix },
  });
  element.textContent = relative(at, now()) + suffix;
  return element;
}

setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[data-at]")) {
    const text = relative(Number(element.dataset.at), now()) + element.dataset.suffix;
    if (element.textContent !== text) element.textContent = text;
  }
}, 1000);

/** A length of time. */
export function lasting(seconds) {
  return h("span", { text: span(seconds) });
}

/** A panel with a heading. */
export function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h2", {}, title), ...children);
}

/** Nothing is there yet, and what to do about it. */
export function empty(title, text, command) {
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "empty-title", text: title }),
    text && h("p", { text }),
    command && h("p", {}, h("code", { text: command })),
  );
}

/** Something is on its way. */
export function loading(rows = 3) {
  const line = (i) => h("div", { class: "bone", style: { width: `${92 - ((i * 23) % 45)}%` } });
  return h(
    "div",
    { class: "bones", role: "status", "aria-label": "Loading" },
    Array.from({ length: rows }, (_, i) => line(i)),
  );
}

/** Something went wrong: what, and the way out. */
export function trouble(error, again) {
  return h(
    "div",
    { class: "trouble", role: "alert" },
    h("p", {}, h("strong", { text: error.message ?? String(error) })),
    error.hint && h("p", { class: "muted", text: error.hint }),
    again && h("button", { type: "button", class: "button", on: { click: again } }, "Try again"),
  );
}

/** A figure with its name. */
export function stat(label, value, more, tone) {
  return h(
    "div",
    { class: `stat ${tone ?? ""}` },
    h("dt", { text: label }),
    h("dd", {}, h("b", {}, value), more && h("span", { class: "muted" }, more)),
  );
}

/** Figures side by side. */
export function stats(...list) {
  return h("dl", { class: "stats" }, list);
}

/** Asks before something is done. Resolves to whether it was agreed to. */
export function confirm(title, body, action, tone = "") {
  return new Promise((resolve) => {
    const done = (answer) => () => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const dialog = h(
      "dialog",
      { class: "dialog", "aria-labelledby": "dialog-title", on: { cancel: done(false) } },
      h("h2", { id: "dialog-title", text: title }),
      h("div", { class: "dialog-body" }, body),
      h(
        "div",
        { class: "dialog-buttons" },
        h("button", { type: "button", class: "button", on: { click: done(false) } }, "Leave it"),
        h("button", { type: "button", class: `button primary ${tone}`, on: { click: done(true) } }, action),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A short note that something was done, or was not. */
export function toast(text, tone = "good") {
  let place = document.getElementById("toasts");
  if (!place) {
    place = h("div", { id: "toasts", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  const note = h("p", { class: `toast ${tone}`, text });
  place.append(note);
  setTimeout(() => note.remove(), 6000);
}

/** Buttons of which one is chosen. */
export function choice(label, options, chosen, change) {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });
  const draw = (current) =>
    set(
      group,
      options.map(([value, text]) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(value === current),
            on: {
              click: () => {
                draw(value);
                change(value);
              },
            },
          },
          text,
        ),
      ),
    );
  draw(chosen);
  return group;
}

/** A bar of what is had of what could be. */
export function meter(part, label, colour) {
  const full = Math.max(0, Math.min(1, part));
  return h(
    "span",
    { class: "meter", role: "img", "aria-label": label, title: label },
    h("span", { style: { width: `${100 * full}%`, ...(colour ? { background: colour } : {}) } }),
  );
}
