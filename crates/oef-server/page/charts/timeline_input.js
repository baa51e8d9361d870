// Pointer, fingers and keys on a timeline: what is under them, closer, further, along.

import { say } from "../lib/dom.js";

/** Listens to everything that a timeline understands. */
export function listen(timeline) {
  const { canvas } = timeline;
  const fingers = new Map();
  let drag = null;
  let pinch = 0;

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return where(timeline, event.clientX - box.left, event.clientY - box.top);
  };

  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (fingers.size === 2) return pinched();
    if (drag) return dragged(event);
    const point = at(event);
    focus(timeline, point, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    pinch = 0;
    if (timeline.view) {
      drag = { x: event.clientX, y: event.clientY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    }
  });
  const up = (event) => {
    fingers.delete(event.pointerId);
    if (drag && !drag.moved) click(event);
    else if (!drag) click(event);
    drag = null;
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => !drag && blur(timeline));
  canvas.addEventListener("blur", () => blur(timeline));

  function click(event) {
    const point = at(event);
    if (!point) return;
    focus(timeline, point, event.clientX, event.clientY);
    if (event.pointerType === "mouse" && point.bar?.job) timeline.options.open(point.bar.job);
  }

  function dragged(event) {
    const { place } = timeline;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (Math.abs(dx) + Math.abs(dy) < 3) return;
    drag.moved = true;
    [drag.x, drag.y] = [event.clientX, event.clientY];
    const perPixel = (place.seen.to - place.seen.from) / (place.right - place.left);
    timeline.pan(timeline.isOverview ? -dy / place.rowHeight : 0, -dx * perPixel);
  }

  function pinched() {
    const [a, b] = [...fingers.values()];
    const distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
    const box = canvas.getBoundingClientRect();
    const point = where(timeline, (a[0] + b[0]) / 2 - box.left, (a[1] + b[1]) / 2 - box.top);
    if (pinch && point) timeline.zoom(pinch / distance, point.row, point.time);
    pinch = distance;
  }

  canvas.addEventListener(
    "wheel",
    (event) => {
      // A plain wheel scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const point = at(event);
      if (point) timeline.zoom(event.deltaY > 0 ? 1.25 : 0.8, point.row, point.time);
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", (event) => {
    const point = at(event);
    if (point) timeline.zoom(event.shiftKey ? 3 : 1 / 3, point.row, point.time);
  });
  canvas.addEventListener("keydown", (event) => key(timeline, event));
}

/** The row, time and bar at a place of the picture. */
function where(timeline, x, y) {
  const { place } = timeline;
  if (!place) return null;
  const time = place.seen.from + ((x - place.left) / (place.right - place.left)) * (place.seen.to - place.seen.from);
  for (const [, at] of place.tops) {
    const row = Math.floor(at.first + (y - at.y) / place.rowHeight);
    if (row >= at.first && row < at.last && y >= at.y)
      return { row, time, bar: x >= place.left ? timeline.barAt(row, time) : null };
  }
  return null;
}

function focus(timeline, point, x, y) {
  if (!point) return blur(timeline);
  const before = timeline.focus;
  timeline.focus = { ...point, end: timeline.time.to };
  if (before?.bar !== point.bar || before?.row !== point.row) timeline.draw();
  timeline.options.explain(point.bar, { x, y, row: timeline.rows[point.row], time: point.time });
}

function blur(timeline) {
  if (!timeline.focus) return;
  timeline.focus = null;
  timeline.options.explain(null, null);
  timeline.draw();
}

const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
};

/** Arrows go from GPU to GPU and from run to run; + and − zoom, 0 shows all, Enter opens the job. */
function key(timeline, event) {
  if (!timeline.place || timeline.rows.length === 0) return;
  const { seen } = timeline.place;
  const point = timeline.focus ?? { row: seen.row, time: seen.to - 1 };
  const move = MOVES[event.key];
  if (move) {
    event.preventDefault();
    const row = Math.max(0, Math.min(timeline.rows.length - 1, point.row + move[0]));
    const time = move[1] ? beside(timeline, row, point.time, move[1]) : point.time;
    return arrive(timeline, row, time);
  }
  if (event.key === "+" || event.key === "=") timeline.zoom(0.5, point.row, point.time);
  else if (event.key === "-") timeline.zoom(2, point.row, point.time);
  else if (event.key === "0" || event.key === "Home") timeline.reset();
  else if (event.key === "Enter" && point.bar?.job) timeline.options.open(point.bar.job);
  else if (event.key === "Escape") blur(timeline);
  else return;
  event.preventDefault();
}

/** The next or last run on a row. */
function beside(timeline, row, time, direction) {
  const here = timeline.barAt(row, time);
  const on = (bar) => bar.rows.some((first, i) => i % 2 === 0 && row >= first && row < first + bar.rows[i + 1]);
  const others = [...timeline.bars.values()].filter((bar) => bar !== here && on(bar));
  const ahead = others.filter((bar) => (direction > 0 ? bar.from > time : (bar.to ?? Infinity) < time));
  ahead.sort((a, b) => direction * (a.from - b.from));
  const next = ahead[0];
  return next ? (next.from + (next.to ?? timeline.time.to)) / 2 : time;
}

function arrive(timeline, row, time) {
  const bar = timeline.barAt(row, time);
  const { place, canvas } = timeline;
  if (place.y(row) < 0) timeline.pan(row - place.seen.row - place.seen.rows / 2, 0);
  timeline.focus = { row, time, bar, end: timeline.time.to };
  timeline.draw();
  const box = canvas.getBoundingClientRect();
  const gpu = timeline.rows[row];
  timeline.options.explain(bar, {
    x: box.left + Math.min(place.right, Math.max(place.left, place.x(time))),
    y: box.top + Math.max(0, place.y(row)) + 10,
    row: gpu,
    time,
  });
  say(
    `${gpu.type} ${gpu.node} GPU ${gpu.index}: ${bar ? (bar.job ? `job ${bar.job} of ${bar.tenant}` : "a job of another tenant") : gpu.up ? "idle" : "down"}`,
  );
}
