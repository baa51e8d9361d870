// The shell: who is logged in, which address shows which view, and what is around all of them.

import { api, whenLoggedOut } from "./lib/api.js";
import { h, s, set } from "./lib/dom.js";
import { live, showConnection } from "./lib/live.js";
import { look, now, state } from "./lib/state.js";
import { span } from "./lib/format.js";
import { trouble } from "./lib/parts.js";

/** Addresses, the most particular first. */
const VIEWS = [
  [/^\/$/, "now", "Now"],
  [/^\/tenants\/(.+)$/, "tenant", "Tenants"],
  [/^\/tenants\/?$/, "tenants", "Tenants"],
  [/^\/jobs\/(\d+)$/, "job", "Jobs"],
  [/^\/jobs\/?$/, "jobs", "Jobs"],
  [/^\/whatif\/?$/, "whatif", "What if"],
  [/^\/rounds\/?$/, "rounds", "Rounds"],
  [/^\/usage\/?$/, "usage", "Usage"],
  [/^\/cluster\/?$/, "cluster", "Cluster"],
  [/^\/events\/?$/, "events", "Events"],
];
const NAV = [
  ["/", "Now"],
  ["/tenants", "Tenants"],
  ["/jobs", "Jobs"],
  ["/whatif", "What if"],
  ["/rounds", "Rounds"],
  ["/usage", "Usage"],
  ["/cluster", "Cluster"],
  ["/events", "Events"],
];
/** Without events the overview is asked for so often, for the figures that change between them. */
const LOOK_MS = 15_000;

const main = document.getElementById("main");
let current = null;
let turn = 0;

async function begin() {
  const saved = localStorage.getItem("theme");
  if (saved) document.documentElement.dataset.theme = saved;
  state.who = await api.session();
  const hasCode = location.pathname === "/login" && location.hash.length > 1;
  if (!state.who.logged_in || hasCode) return login();
  if (location.pathname === "/login") history.replaceState(null, "", "/");
  await enter();
}

async function login() {
  live.stop();
  document.getElementById("top").hidden = true;
  const { show } = await import("./views/login.js");
  document.title = "Log in · OEF";
  main.dataset.view = "login";
  // Everything begins anew: nothing that another caller saw stays.
  show(main, () => location.replace(next()));
}

/** Where to go after the login: never to another site. */
function next() {
  if (location.pathname !== "/login") return location.pathname + location.search;
  const wanted = new URLSearchParams(location.search).get("next") ?? "/";
  return /^\/(?!\/)/.test(wanted) ? wanted : "/";
}

async function enter() {
  const ended = () => {
    if (!state.who.logged_in) return;
    state.who = { logged_in: false, version: state.who.version };
    document.getElementById("banner").replaceChildren();
    login();
  };
  whenLoggedOut(ended);
  live.ended = ended;
  await look();
  drawTop();
  live.start(state.overview.last_event);
  live.on(heard);
  setInterval(() => !document.hidden && live.state === "live" && refresh(new Set(["time"]), []), LOOK_MS);
  document.addEventListener("visibilitychange", () => !document.hidden && refresh(new Set(["reset"]), []));
  addEventListener("popstate", route);
  document.addEventListener("click", follow);
  await route();
}

async function heard(topics, events) {
  await refresh(topics, events);
}

async function refresh(topics, events) {
  const view = current;
  try {
    await look();
    live.heard();
    await view?.refresh?.(topics, events);
    dispatchEvent(new CustomEvent("updated"));
  } catch (error) {
    if (!error.isAway && error.status !== 401 && error.name !== "AbortError") console.warn(error);
  }
}

/** Links within the page change the view and load nothing. */
function follow(event) {
  const anchor = event.target.closest?.("a[href]");
  if (
    !anchor ||
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    anchor.target ||
    anchor.hasAttribute("download")
  )
    return;
  const url = new URL(anchor.href, location.href);
  if (
    url.origin !== location.origin ||
    url.pathname.startsWith("/api/") ||
    url.pathname === "/metrics" ||
    anchor.getAttribute("href").startsWith("#")
  )
    return;
  event.preventDefault();
  go(url.pathname + url.search);
}

/** Shows another address. */
export function go(address) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  route();
  scrollTo(0, 0);
}

async function route() {
  const mine = ++turn;
  const found = VIEWS.find(([pattern]) => pattern.test(location.pathname));
  const [pattern, name, section] = found ?? VIEWS[0];
  const params = (location.pathname.match(pattern) ?? []).slice(1).map(decodeURIComponent);
  for (const anchor of document.querySelectorAll(".nav a")) {
    if (anchor.textContent === section) {
      anchor.setAttribute("aria-current", "page");
      // On a phone the chosen one may be out of sight.
      anchor.parentElement.scrollLeft = anchor.offsetLeft - anchor.parentElement.clientWidth / 2;
    } else anchor.removeAttribute("aria-current");
  }
  document.getElementById("tip").hidden = true;
  try {
    current?.close?.();
    current = null;
    const module = await import(`./views/${name}.js`);
    if (mine !== turn) return;
    set(main);
    const view = await module.show(main, params, { go });
    if (mine !== turn) return view?.close?.();
    current = view;
    document.title = `${view.title ?? section} · OEF`;
    main.dataset.view = name;
  } catch (error) {
    if (mine !== turn || error.status === 401) return;
    set(main, trouble(error, route));
  }
}

function drawTop() {
  const top = document.getElementById("top");
  const dot = h("span", { class: "dot", data: { state: "connecting" } }, h("i"), h("span", { text: "connecting" }));
  set(
    top,
    h(
      "div",
      { class: "top-in" },
      h("a", { class: "brand", href: "/", "aria-label": "OEF, now" }, mark(), "OEF"),
      h(
        "nav",
        { class: "nav", "aria-label": "Views" },
        NAV.map(([href, text]) => h("a", { href, text })),
      ),
      h("div", { class: "top-right" }, clock(), dot, themeButton(), menu()),
    ),
  );
  top.hidden = false;
  showConnection(document.getElementById("banner"), dot, () => state.at);
}

function mark() {
  const bar = (x, y, width, opacity) => s("rect", { x, y, width, height: "4", rx: "1", fill: "#fff", opacity });
  return s(
    "svg",
    { width: "24", height: "24", viewBox: "0 0 32 32", "aria-hidden": "true" },
    s("rect", { width: "32", height: "32", rx: "7", fill: "#005da4" }),
    bar(6, 7, 14, 1),
    bar(22, 7, 4, 0.55),
    bar(6, 14, 8, 0.55),
    bar(16, 14, 10, 1),
    bar(6, 21, 11, 1),
    bar(19, 21, 7, 0.55),
  );
}

/** The round's clock: how much of it is over. */
function clock() {
  const length = 2 * Math.PI * 8;
  const hand = s("circle", {
    class: "hand",
    cx: "10",
    cy: "10",
    r: "8",
    fill: "none",
    "stroke-width": "3",
    "stroke-dasharray": length,
    transform: "rotate(-90 10 10)",
  });
  const ring = s(
    "svg",
    { width: "20", height: "20", viewBox: "0 0 20 20", "aria-hidden": "true" },
    s("circle", { class: "ring", cx: "10", cy: "10", r: "8", fill: "none", "stroke-width": "3" }),
    hand,
  );
  const number = h("b");
  const left = h("span", { class: "hide-on-phone" });
  const element = h("span", { class: "clock" }, ring, h("span", {}, number, " ", left));
  const tick = () => {
    const { overview } = state;
    if (!overview || document.hidden) return;
    const passed = (now() - overview.began_ms) / 1000;
    // A hundred steps a round: a hand that never rests has the browser draw all the time.
    const part = Math.round(100 * Math.max(0, Math.min(1, passed / overview.length_s))) / 100;
    const offset = String(length * (1 - part));
    if (hand.getAttribute("stroke-dashoffset") !== offset) hand.setAttribute("stroke-dashoffset", offset);
    const text = `round ${overview.round}`;
    if (number.textContent !== text) number.textContent = text;
    const rest = overview.length_s - passed;
    const words = rest > 0 ? `next in ${span(Math.ceil(rest))}` : "next is due";
    if (left.textContent !== words) left.textContent = words;
    const title = `a round lasts ${span(overview.length_s)}; shares by ${overview.mechanism}`;
    if (element.title !== title) element.title = title;
  };
  setInterval(tick, 250);
  tick();
  return element;
}

function themeButton() {
  const button = h(
    "button",
    { type: "button", class: "icon", "aria-label": "Light or dark", title: "Light or dark" },
    "◐",
  );
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    document.dispatchEvent(new Event("themechange"));
    route();
  });
  return button;
}

function menu() {
  const { who } = state;
  const name = who.role === "tenant" ? who.tenant : who.role;
  const leave = async () => {
    await api.leave().catch(() => {});
    state.who = { logged_in: false, version: who.version };
    location.assign("/login");
  };
  return h(
    "details",
    { class: "menu" },
    h("summary", { text: name, "aria-label": `logged in as ${name}` }),
    h(
      "div",
      { class: "menu-in" },
      h(
        "p",
        {},
        "Logged in as ",
        h("b", { text: who.role }),
        who.tenant ? [" of ", h("b", { text: who.tenant })] : null,
      ),
      h("p", {
        class: "muted small",
        text: `this session ends in ${span(((who.expires_ms ?? 0) - Date.now()) / 1000)}`,
      }),
      h(
        "p",
        { class: "muted small" },
        `OEF ${who.version} · `,
        h("a", { href: "/api/v1/openapi.json" }, "interface"),
        " · ",
        h("a", { href: "/metrics" }, "metrics"),
      ),
      h("button", { type: "button", class: "button", on: { click: leave } }, "Log out"),
    ),
  );
}

begin().catch((error) =>
  set(
    main,
    trouble(error, () => location.reload()),
  ),
);
