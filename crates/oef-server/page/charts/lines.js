// Lines over time, as a drawing: small ones side by side, or one large.

import { h, s, set } from "../lib/dom.js";
import { figure as number, shortTime, timeOfDay } from "../lib/format.js";
import { scale, ticks, timeTicks, top } from "./axis.js";

/**
 * A chart of lines. Every line has a class for its look; `area` fills it down to zero.
 * @param {{label: string, height?: number, unit?: string, small?: boolean, step?: boolean}} options
 */
export function lines(options) {
  const height = options.height ?? (options.small ? 84 : 220);
  const svg = s("svg", { class: "lines", role: "img", height: String(height), "aria-label": options.label });
  const readout = h("div", { class: "readout", hidden: true });
  const element = h(
    "div",
    { class: "lines-wrap" },
    options.unit && h("p", { class: "lines-unit", text: options.unit }),
    svg,
    readout,
  );
  let shown = null;
  let geometry = null;
  let width = 0;

  /** @param {{at: number[], series: {name: string, values: (number|null)[], class?: string, colour?: string, area?: boolean}[], level?: {value: number, name: string}, bands?: {from: number, to: number, text: string, class?: string}[], from?: number, to?: number}} next */
  function show(next) {
    shown = next;
    draw();
  }

  function draw() {
    if (!shown || width === 0) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", String(width));
    const { at, series, level } = shown;
    const all = series.flatMap((line) => line.values).filter((v) => v !== null && Number.isFinite(v));
    if (level && Number.isFinite(level.value)) all.push(level.value);
    const low = options.free && all.length ? Math.min(...all) : 0;
    const high =
      options.free && all.length
        ? Math.max(...all) + (Math.max(...all) - low) * 0.05 || low + 1
        : top(Math.max(0, ...all));
    const from = shown.from ?? at[0] ?? 0;
    const to = shown.to ?? at.at(-1) ?? 1;
    const left = options.small ? 2 : 44;
    const bottom = options.small ? 16 : 24;
    const x = scale(from, to, left, width - 4);
    const y = scale(low, high, height - bottom, 8);
    geometry = { x, y, from, to, left, width, bottom };
    set(
      svg,
      bands(x, bottom),
      grid(x, y, low, high, width, left, bottom),
      level && levelLine(y, level, width, left),
      series.map((line) => path(line, at, x, y)),
      s("line", { class: "cursor", y1: "4", y2: String(height - bottom), visibility: "hidden" }),
    );
  }

  function bands(x, bottom) {
    return (shown.bands ?? []).map((band) => {
      const [a, b] = [x(Math.max(band.from, geometry.from)), x(Math.min(band.to, geometry.to))];
      if (!(b > a)) return null;
      return s(
        "g",
        {},
        s("rect", { class: `band ${band.class ?? ""}`, x: a, y: "4", width: b - a, height: height - bottom - 4 }),
        b - a > 40 && s("text", { class: "band-text", x: a + 4, y: "15", text: band.text }),
      );
    });
  }

  function grid(x, y, low, high, width, left, bottom) {
    if (options.small) {
      return [
        s("line", { class: "axis-line", x1: left, x2: width, y1: y(low), y2: y(low) }),
        ...timeTicks(geometry.from, geometry.to, Math.max(2, Math.floor(width / 90)))
          .map((t) => s("text", { class: "tick m", x: x(t.at), y: height - 3, text: t.text }))
          .filter((text) => Number(text.getAttribute("x")) > 18 && Number(text.getAttribute("x")) < width - 18),
      ];
    }
    return [
      ...ticks(low, high, Math.max(2, Math.floor(height / 55))).map((v) =>
        s(
          "g",
          {},
          s("line", { class: "grid-line", x1: left, x2: width - 4, y1: y(v), y2: y(v) }),
          s("text", { class: "tick e", x: left - 6, y: y(v) + 4, text: number(v) }),
        ),
      ),
      ...timeTicks(geometry.from, geometry.to, Math.max(2, Math.floor(width / 110)))
        .filter((t) => x(t.at) > left + 12 && x(t.at) < width - 20)
        .map((t) => s("text", { class: "tick m", x: x(t.at), y: height - 6, text: t.text })),
    ];
  }

  function levelLine(y, level, width, left) {
    return s(
      "line",
      { class: "level", x1: left, x2: width - 4, y1: y(level.value), y2: y(level.value) },
      s("title", { text: `${level.name}: ${number(level.value)}` }),
    );
  }

  function path(line, at, x, y) {
    let d = "";
    let pen = false;
    const base = height - geometry.bottom;
    const areas = [];
    line.values.forEach((value, i) => {
      if (value === null || !Number.isFinite(value)) {
        pen = false;
        return;
      }
      const [px, py] = [x(at[i]).toFixed(1), y(value).toFixed(1)];
      if (!pen) {
        d += `M${px} ${py}`;
        areas.push(`M${px} ${base}L${px} ${py}`);
      } else {
        d += `L${px} ${py}`;
        areas[areas.length - 1] += `L${px} ${py}`;
      }
      if (line.values[i + 1] === null || i === line.values.length - 1) areas[areas.length - 1] += `L${px} ${base}Z`;
      pen = true;
    });
    const style = line.colour ? { "--c": line.colour } : {};
    return [
      line.area && s("path", { class: "area", d: areas.filter((a) => a.endsWith("Z")).join(""), style }),
      s("path", { class: `line ${line.class ?? ""}`, d, style }),
    ];
  }

  function point(event) {
    if (!geometry || !shown.at.length) return;
    const box = svg.getBoundingClientRect();
    const px = event.clientX - box.left;
    let best = 0;
    shown.at.forEach((at, i) => {
      if (Math.abs(geometry.x(at) - px) < Math.abs(geometry.x(shown.at[best]) - px)) best = i;
    });
    const cursor = svg.querySelector(".cursor");
    const cx = geometry.x(shown.at[best]);
    cursor?.setAttribute("x1", cx);
    cursor?.setAttribute("x2", cx);
    cursor?.setAttribute("visibility", "visible");
    const values = shown.series.map((line) => `${line.name} ${number(line.values[best])}`).join(" · ");
    readout.textContent = `${options.small ? timeOfDay(shown.at[best], true) : shortTime(shown.at[best])}  ${values}`;
    readout.hidden = false;
    readout.style.setProperty(
      "left",
      `${Math.min(Math.max(0, cx - 60), Math.max(0, geometry.width - readout.offsetWidth))}px`,
    );
  }

  element.addEventListener("pointermove", point);
  element.addEventListener("pointerleave", () => {
    readout.hidden = true;
    svg.querySelector(".cursor")?.setAttribute("visibility", "hidden");
  });
  // The width comes from the browser when it changes: asking for it would make it lay everything out, for each chart.
  new ResizeObserver(([entry]) => {
    const next = Math.round(entry.contentRect.width);
    if (next === width) return;
    width = next;
    draw();
  }).observe(element);
  return { element, show };
}
