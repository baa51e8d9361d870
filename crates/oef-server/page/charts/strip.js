// One tick for each round: whether all that the mechanism promises held. Arrow keys go from round to round.

import { h, set } from "../lib/dom.js";
import { roleColour } from "../lib/colour.js";
import { absolute, shortTime } from "../lib/format.js";

/** What a round's certificate says, in a word: `good`, `bad`, or `none` where there was nothing to share. */
export function verdict(tick) {
  if (tick.broken === null || tick.broken === undefined) return "none";
  return tick.broken.length ? "bad" : "good";
}

/** The same in a sentence. */
export function verdictSentence(tick) {
  const kind = verdict(tick);
  if (kind === "none") return "nothing to share";
  return kind === "good" ? `all that ${tick.mechanism} promises held` : `did not hold: ${tick.broken.join(", ")}`;
}

/** @param {{choose: (tick: any) => void}} options */
export function strip(options) {
  const canvas = h("canvas", {
    class: "strip",
    tabindex: "0",
    role: "slider",
    "aria-label": "Rounds, one tick each",
    "aria-orientation": "horizontal",
    "aria-valuemin": "0",
    "aria-valuemax": "0",
    "aria-valuenow": "0",
  });
  const tip = h("div", { class: "strip-tip muted", "aria-hidden": "true" });
  const element = h("div", { class: "strip-wrap" }, canvas, tip);
  const height = 34;
  let ticks = [];
  let chosen = -1;
  let hovered = -1;
  let shown = { first: 0, step: 5 };
  let width = 0;

  function draw() {
    if (width < 20) return;
    const scale = Math.min(2, devicePixelRatio || 1);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.setProperty("height", `${height}px`);
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    const step = Math.max(3, Math.min(9, Math.floor(width / Math.max(1, ticks.length))));
    const fit = Math.floor(width / step);
    const first = Math.max(0, ticks.length - fit);
    shown = { first, step, left: width - Math.min(fit, ticks.length) * step };
    const colours = { good: roleColour("good"), bad: roleColour("bad"), none: roleColour("rest") };
    for (let i = first; i < ticks.length; i++) {
      const x = shown.left + (i - first) * step;
      const kind = verdict(ticks[i]);
      const use = ticks[i].gpus ? ticks[i].gpus_used / ticks[i].gpus : 0;
      const tall = kind === "none" ? 5 : 8 + 20 * use;
      c.fillStyle = colours[kind];
      c.globalAlpha = i === chosen || i === hovered ? 1 : kind === "bad" ? 0.95 : 0.72;
      c.fillRect(x, height - tall - 1, Math.max(1, step - 1), tall);
      // A second sign beside the colour.
      if (kind === "bad") c.fillRect(x, 0, Math.max(1, step - 1), 3);
      if (i === chosen) {
        c.fillStyle = roleColour("ink");
        c.globalAlpha = 1;
        c.fillRect(x, height - 1, Math.max(1, step - 1), 1);
      }
    }
    c.globalAlpha = 1;
  }

  function text(i) {
    const tick = ticks[i];
    return `round ${tick.round} · ${verdictSentence(tick)} · ${tick.gpus_used} of ${tick.gpus} GPUs used`;
  }

  function at(event) {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    const i = shown.first + Math.floor((x - shown.left) / shown.step);
    return i >= shown.first && i < ticks.length && x >= shown.left ? i : -1;
  }

  function choose(i, tell = true) {
    if (i < 0 || i >= ticks.length) return;
    chosen = i;
    canvas.setAttribute("aria-valuenow", String(ticks[i].round));
    canvas.setAttribute("aria-valuetext", text(i));
    set(tip, `${shortTime(ticks[i].began_ms)} · ${text(i)}`);
    draw();
    if (tell) options.choose(ticks[i]);
  }

  canvas.addEventListener("pointermove", (event) => {
    hovered = at(event);
    set(
      tip,
      hovered >= 0 ? `${shortTime(ticks[hovered].began_ms)} · ${text(hovered)}` : chosen >= 0 ? text(chosen) : "",
    );
    canvas.title = hovered >= 0 ? absolute(ticks[hovered].began_ms) : "";
    draw();
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = -1;
    set(tip, idle());
    draw();
  });
  canvas.addEventListener("click", (event) => choose(at(event)));
  canvas.addEventListener("keydown", (event) => {
    const from = chosen < 0 ? ticks.length : chosen;
    const next = {
      ArrowLeft: from - 1,
      ArrowDown: from - 1,
      ArrowRight: from + 1,
      ArrowUp: from + 1,
      Home: shown.first,
      End: ticks.length - 1,
      PageUp: from - 12,
      PageDown: from + 12,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(ticks.length - 1, next)));
  });
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(element);
  document.addEventListener("themechange", draw);

  function idle() {
    if (chosen >= 0 && ticks[chosen]) return text(chosen);
    const bad = ticks.filter((t) => verdict(t) === "bad").length;
    return ticks.length ? `${ticks.length} rounds · ${bad ? `${bad} broke a promise` : "every promise held"}` : "";
  }

  return {
    element,
    set(next) {
      const kept = chosen >= 0 ? ticks[chosen]?.round : undefined;
      ticks = next;
      chosen = kept === undefined ? -1 : ticks.findIndex((t) => t.round === kept);
      canvas.setAttribute("aria-valuemin", String(ticks[0]?.round ?? 0));
      canvas.setAttribute("aria-valuemax", String(ticks.at(-1)?.round ?? 0));
      if (chosen < 0) canvas.setAttribute("aria-valuenow", String(ticks.at(-1)?.round ?? 0));
      if (hovered < 0) set(tip, idle());
      draw();
    },
    choose: (round) =>
      choose(
        ticks.findIndex((t) => t.round === round),
        false,
      ),
  };
}
