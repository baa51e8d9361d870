// What if: sliders for weights, GPUs, a newcomer and the mechanism; everybody's share changes as they move.

import { api } from "../lib/api.js";
import { h, set } from "../lib/dom.js";
import { figure, whole } from "../lib/format.js";
import { badge, empty, loading, toast, trouble } from "../lib/parts.js";
import { isAdmin, seesAll, state } from "../lib/state.js";
import { apply } from "./whatif_apply.js";
import { result } from "./whatif_result.js";

const MECHANISMS = [
  "nash",
  "cooperative",
  "incentive",
  "noncooperative",
  "max-min",
  "efficiency",
  "gavel",
  "gandiva-fair",
];
/** With more tenants than this the certificate comes after the shares, when the sliders rest. */
const CERTIFY_AT_ONCE = 24;
const REST_MS = 350;
const TENANTS_SHOWN = 60;

export async function show(main) {
  const scenario = read();
  const controls = h("div", { class: "controls card" });
  const shown = result();
  const buttons = h("div", { class: "right" });
  set(
    main,
    h(
      "div",
      { class: "head" },
      h("h1", { text: "What if" }),
      h("p", {
        class: "sub",
        text: seesAll()
          ? "Move a slider: everybody's share, throughput and certificate follow. Nothing is changed."
          : "Move the slider of your weight: your share and throughput follow. Nothing is changed.",
      }),
      buttons,
    ),
    h("div", { class: "whatif" }, controls, shown.element),
  );
  set(controls, loading(6));
  let base;
  try {
    base = await api.post("/whatif/shares", { certificate: true });
  } catch (error) {
    set(
      main.querySelector(".whatif"),
      error.status === 409
        ? empty("There are no shares yet", "Shares come with the first jobs.", "oef submit -- python train.py")
        : trouble(error, () => location.reload()),
    );
    return { title: "What if" };
  }
  let asking = null;
  let resting = 0;

  async function ask() {
    asking?.abort();
    clearTimeout(resting);
    const mine = new AbortController();
    asking = mine;
    remember(scenario);
    const small = base.tenants.length <= CERTIFY_AT_ONCE;
    const began = performance.now();
    try {
      const answer = await api.post("/whatif/shares", { ...scenario, certificate: small }, { signal: mine.signal });
      shown.show(answer, performance.now() - began);
      main.dataset.answerMs = (performance.now() - began).toFixed(0);
      drawButtons();
      if (!small) resting = setTimeout(() => certify(mine), REST_MS);
    } catch (error) {
      if (error.name !== "AbortError") shown.fail(error);
    }
  }

  async function certify(mine) {
    try {
      const answer = await api.post("/whatif/shares", { ...scenario, certificate: true }, { signal: mine.signal });
      shown.show(answer);
    } catch (error) {
      if (error.name !== "AbortError") shown.fail(error);
    }
  }

  function draw() {
    const title = h("h2", { text: "The scenario" });
    // A tenant tries out its own weight; what belongs to others or to all is not for it to change.
    if (seesAll()) set(controls, title, mechanism(), gpus(), weights(), newcomer());
    else set(controls, title, weights());
  }

  function mechanism() {
    const select = h(
      "select",
      {
        id: "mechanism",
        on: {
          change: () => {
            keep("mechanism", select.value === base.mechanism_before ? undefined : select.value);
            ask();
          },
        },
      },
      MECHANISMS.map((name) =>
        h(
          "option",
          { value: name, selected: name === (scenario.mechanism ?? base.mechanism_before) },
          name + (name === base.mechanism_before ? " (now)" : ""),
        ),
      ),
    );
    return [h("h3", {}, h("label", { for: "mechanism", text: "Mechanism" })), select];
  }

  function keep(field, value) {
    if (value === undefined) delete scenario[field];
    else scenario[field] = value;
  }

  function gpus() {
    return [
      h("h3", { text: "GPUs" }),
      base.types.map((type) =>
        slider({
          name: type.type,
          was: `${whole(type.before)} now`,
          min: 0,
          max: Math.max(8, Math.ceil(type.before * 2)),
          step: 1,
          value: scenario.gpus?.[type.type] ?? type.before,
          before: type.before,
          change: (value) => put("gpus", type.type, value, type.before),
        }),
      ),
    ];
  }

  function put(field, key, value, before) {
    const map = { ...(scenario[field] ?? {}) };
    if (Math.abs(value - before) < 1e-9) delete map[key];
    else map[key] = value;
    keep(field, Object.keys(map).length ? map : undefined);
    ask();
  }

  function weights() {
    const own = new Map(state.overview.tenants.map((t) => [t.name, t.weight]));
    const there = base.tenants.filter((t) => t.before);
    const first = there.filter((t) => scenario.weights?.[t.tenant] !== undefined);
    const list = [...first, ...there.filter((t) => !first.includes(t))].slice(0, TENANTS_SHOWN);
    return [
      h("h3", { text: "Weights" }),
      list.map((t) => {
        const before = own.get(t.tenant) ?? t.before.weight;
        const gone = scenario.removed?.includes(t.tenant);
        const leave = h(
          "button",
          {
            type: "button",
            class: "tool",
            "aria-pressed": String(Boolean(gone)),
            "aria-label": `${t.tenant} leaves`,
            on: {
              click: () => {
                toggle(t.tenant);
                draw();
                ask();
              },
            },
          },
          gone ? "left" : "leaves",
        );
        return slider({
          name: t.tenant,
          badge: true,
          was: `${figure(before)} now`,
          min: 0,
          max: Math.max(4, before * 4),
          step: "any",
          value: scenario.weights?.[t.tenant] ?? before,
          before,
          extra: seesAll() && leave,
          least: before / 100,
          change: (value) => put("weights", t.tenant, value, before),
        });
      }),
      there.length > TENANTS_SHOWN &&
        h("p", {
          class: "muted small",
          text: `${there.length - TENANTS_SHOWN} more tenants: open one's page to begin with its weight`,
        }),
    ];
  }

  function toggle(tenant) {
    const gone = new Set(scenario.removed ?? []);
    if (!gone.delete(tenant)) gone.add(tenant);
    keep("removed", gone.size ? [...gone] : undefined);
  }

  function newcomer() {
    const added = scenario.added?.[0];
    if (!added) {
      return [
        h("h3", { text: "A new tenant" }),
        h(
          "button",
          {
            type: "button",
            class: "button",
            on: {
              click: () => {
                // It begins as one that gains from fast types as the average does.
                const throughput = Object.fromEntries(
                  base.types.map((type, i) => [type.type, Number((1 + 0.5 * i).toFixed(2))]),
                );
                scenario.added = [{ name: "newcomer", weight: 1, demand: 8, throughput }];
                draw();
                ask();
              },
            },
          },
          "Add one",
        ),
      ];
    }
    const change = (edit) => (value) => {
      edit(value);
      ask();
    };
    const name = h("input", {
      "aria-label": "Its name",
      value: added.name,
      on: {
        change: () => {
          added.name = name.value.trim() || "newcomer";
          ask();
        },
      },
    });
    return [
      h("h3", { text: "A new tenant" }),
      h(
        "div",
        { class: "filters" },
        name,
        h(
          "button",
          {
            type: "button",
            class: "tool",
            on: {
              click: () => {
                delete scenario.added;
                draw();
                ask();
              },
            },
          },
          "remove",
        ),
      ),
      slider({
        name: "weight",
        min: 0,
        max: 4,
        step: "any",
        least: 0.05,
        value: added.weight,
        before: added.weight,
        change: change((v) => (added.weight = v)),
      }),
      slider({
        name: "GPUs it can use",
        min: 1,
        max: 64,
        step: 1,
        value: added.demand,
        before: added.demand,
        change: change((v) => (added.demand = v)),
      }),
      base.types.map((type) =>
        slider({
          name: `speed on ${type.type}`,
          min: 0,
          max: 6,
          step: 0.05,
          value: added.throughput[type.type] ?? 0,
          before: added.throughput[type.type] ?? 0,
          change: change((v) => (added.throughput[type.type] = v)),
        }),
      ),
    ];
  }

  function drawButtons() {
    const isChanged = Object.keys(scenario).length > 0;
    set(
      buttons,
      h(
        "button",
        {
          type: "button",
          class: "button",
          disabled: !isChanged,
          on: {
            click: () => {
              for (const key of Object.keys(scenario)) delete scenario[key];
              draw();
              ask();
            },
          },
        },
        "Start over",
      ),
      h("button", { type: "button", class: "button", on: { click: share } }, "Copy link"),
      isAdmin() &&
        h(
          "button",
          { type: "button", class: "button primary", disabled: !isChanged, on: { click: () => apply(scenario, base) } },
          "Apply…",
        ),
    );
  }

  async function share() {
    try {
      await navigator.clipboard.writeText(location.href);
      toast("The link with this scenario is copied");
    } catch {
      toast("The address of this page is the link", "good");
    }
  }

  draw();
  drawButtons();
  await ask();
  return { title: "What if", close: () => asking?.abort() };
}

/** A slider with its number. */
function slider({ name, was, min, max, step, value, before, change, extra, least, badge: withBadge }) {
  const id = `s-${name.replace(/\W+/g, "-")}-${Math.random().toString(36).slice(2, 7)}`;
  const range = h("input", {
    type: "range",
    id,
    min: String(min),
    max: String(max),
    step: step === "any" ? String((max - min) / 200) : String(step),
    value: String(value),
  });
  const number = h("input", {
    type: "number",
    min: String(min),
    step: step === "any" ? "any" : String(step),
    value: figureOf(value),
    "aria-label": `${name}, as a number`,
  });
  const element = h(
    "div",
    { class: "slider" },
    h(
      "label",
      { class: "name", for: id },
      withBadge && badge(name),
      h("span", { class: "chip-name", text: name }),
      h("span", { class: "was" }, was, " ", extra),
    ),
    range,
    number,
  );
  const mark = (x) => element.classList.toggle("changed", Math.abs(x - before) > 1e-9);
  const took = (x) => {
    const next = Math.max(least ?? min, Number.isFinite(x) ? x : before);
    mark(next);
    change(next);
  };
  range.addEventListener("input", () => {
    // Near where it was it snaps back: nothing is easier than to undo.
    let x = Number(range.value);
    if (Math.abs(x - before) < (max - min) / 150) x = before;
    number.value = figureOf(x);
    took(x);
  });
  number.addEventListener("change", () => {
    range.value = number.value;
    took(Number(number.value));
  });
  mark(value);
  return element;
}

function figureOf(x) {
  return String(Math.round(x * 100) / 100);
}

/** The scenario in the address. What is not one is none. */
function read() {
  try {
    const found = JSON.parse(new URLSearchParams(location.search).get("s") ?? "{}");
    const known = ["mechanism", "weights", "gpus", "removed", "added"];
    const kept = Object.fromEntries(Object.entries(found).filter(([key]) => known.includes(key)));
    if (seesAll()) return kept;
    const own = kept.weights?.[state.who.tenant];
    return own === undefined ? {} : { weights: { [state.who.tenant]: own } };
  } catch {
    return {};
  }
}

function remember(scenario) {
  const text = Object.keys(scenario).length ? "?" + new URLSearchParams({ s: JSON.stringify(scenario) }) : "";
  history.replaceState(null, "", "/whatif" + text);
}
