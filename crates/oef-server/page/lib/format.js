// Numbers and times as people read them, with their units.

const THIN = "\u202f";

/** A figure with about three digits. */
export function figure(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 99.95) return whole(x);
  if (size >= 9.995) return x.toFixed(1);
  if (size >= 0.005) return x.toFixed(2);
  return x.toPrecision(1);
}

/** A whole number, thousands set apart. */
export function whole(x) {
  const text = Math.abs(Math.round(x)).toString();
  const grouped = text.length > 4 ? text.replace(/\B(?=(\d{3})+$)/g, THIN) : text;
  return (x < -0.5 ? "−" : "") + grouped;
}

/** A difference, always with its sign. */
export function signed(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (Math.abs(x) < 0.005) return "±0";
  return (x > 0 ? "+" : "−") + figure(Math.abs(x));
}

/** A part of one in percent. */
export function percent(part, digits = 0) {
  return Number.isFinite(part) ? `${(100 * part).toFixed(digits)}${THIN}%` : "–";
}

/** A change in percent with its sign. */
export function change(before, after) {
  if (!(before > 0)) return after > 0 ? "new" : "–";
  const part = (after - before) / before;
  if (Math.abs(part) < 0.0005) return "±0" + THIN + "%";
  const digits = Math.abs(part) < 0.0995 ? 1 : 0;
  return (part > 0 ? "+" : "−") + (100 * Math.abs(part)).toFixed(digits) + THIN + "%";
}

/** So many of something. */
export function count(n, one, many) {
  return `${whole(n)} ${n === 1 ? one : (many ?? one + "s")}`;
}

/** A length of time: two units at most. */
export function span(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const s = Math.max(0, seconds);
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const units = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const at = units.findIndex(([size]) => s >= size);
  const [size, name] = units[at];
  const first = Math.floor(s / size);
  const next = units[at + 1];
  const rest = next ? Math.floor((s - first * size) / next[0]) : 0;
  return rest > 0 && first < 10 ? `${first} ${name} ${rest} ${next[1]}` : `${first} ${name}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** A time of the day. */
export function timeOfDay(ms, withSeconds = false) {
  return (withSeconds ? clockSeconds : clock).format(ms);
}

/** A time of the day, with the day where it is another than today. */
export function shortTime(ms) {
  const same = day.format(ms) === day.format(Date.now());
  return same ? clockSeconds.format(ms) : `${day.format(ms)} ${clock.format(ms)}`;
}

/** The whole time, for people who hover. */
export function absolute(ms) {
  return full.format(ms);
}

/** How far an instant is from now. */
export function relative(ms, now) {
  const ahead = (ms - now) / 1000;
  if (Math.abs(ahead) < 1) return "now";
  return ahead > 0 ? `in ${span(ahead)}` : `${span(-ahead)} ago`;
}

/** Bytes. */
export function bytes(n) {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  if (n < 1024 ** 3) return `${(n / 1024 / 1024).toFixed(1)} MiB`;
  return `${(n / 1024 ** 3).toFixed(1)} GiB`;
}
