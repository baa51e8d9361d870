// Axes: round numbers, and times that are full minutes or hours.

import { timeOfDay } from "../lib/format.js";

/** Round numbers between two ends, about so many. */
export function ticks(low, high, about = 4) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw);
  const list = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step)
    list.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return list;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** Full minutes or hours between two times, about so many, each with its text. */
export function timeTicks(from, to, about = 6) {
  const raw = (to - from) / 1000 / about;
  const step = (STEPS.find((s) => s >= raw) ?? 86400) * 1000;
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  const list = [];
  for (let t = Math.ceil((from - zone) / step) * step + zone; t <= to; t += step)
    list.push({ at: t, text: timeOfDay(t, step < 60_000) });
  return list;
}

/** A linear scale. */
export function scale(from, to, start, end) {
  const span = to - from || 1;
  return (x) => start + ((x - from) / span) * (end - start);
}

/** The least round number that is at least so much: the top of an axis. */
export function top(x) {
  if (!(x > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((f) => f * power).find((t) => t >= x * 1.02) ?? x;
}
