// Colours of tenants: the same for ever, for any number of them, and never the only sign. The first eight are those of
// the reports (`oef-report`, palette); after them come hues by the golden angle. Every tenant has letters of its own.

const LIGHT = ["#005da4", "#c89e00", "#049462", "#f367a8", "#a5320b", "#61a4eb", "#222222", "#9b30f0"];
const DARK = ["#6f96ec", "#f2b003", "#0fdf98", "#dc6c9f", "#d63f20", "#c2baf3", "#ffffff", "#8551fa"];

let tenants = new Map();
let letters = new Map();
const cache = new Map();
let theme = "";

/** Learns the tenants: their names and the numbers that their colours follow from. */
export function learn(list) {
  const known = list.length === tenants.size && list.every((t) => tenants.get(t.name) === t.slot);
  if (known) return;
  tenants = new Map(list.map((t) => [t.name, t.slot]));
  letters = codes(list.map((t) => t.name));
}

/** One to three letters that stand for a name. Where names share their beginning, their end tells them apart. */
function codes(names) {
  const result = new Map();
  const first = new Map();
  for (const name of names) {
    const letter = [...name][0]?.toUpperCase() ?? "?";
    first.set(letter, (first.get(letter) ?? 0) + 1);
  }
  for (const name of names) {
    const letter = [...name][0]?.toUpperCase() ?? "?";
    const digits = name.match(/(\d+)$/)?.[1];
    if (first.get(letter) === 1) result.set(name, letter);
    else if (digits) result.set(name, letter + Number(digits.slice(-3)));
    else result.set(name, letter + ([...name].at(-1) ?? "").toLowerCase());
  }
  return result;
}

/** The letters of a tenant. */
export function lettersOf(name) {
  return letters.get(name) ?? ([...(name ?? "?")][0] ?? "?").toUpperCase();
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour of a tenant, as `#rrggbb`. */
export function colourOf(name) {
  const slot = tenants.get(name);
  return slot === undefined ? roleColour("rest") : slotColour(slot);
}

/** The colour of a number. */
export function slotColour(slot) {
  const now = isDark() ? "d" : "l";
  if (now !== theme) {
    theme = now;
    cache.clear();
  }
  const key = `s${slot}`;
  let colour = cache.get(key);
  if (!colour) {
    colour = slot < LIGHT.length ? (now === "d" ? DARK : LIGHT)[slot] : turned(slot, now === "d");
    cache.set(key, colour);
  }
  return colour;
}

/** Past the first eight: hues a golden angle apart, in three degrees of lightness. */
function turned(slot, dark) {
  const hue = (slot * 137.508) % 360;
  const level = Math.floor(slot / 8) % 3;
  const light = (dark ? [66, 54, 76] : [42, 54, 34])[level];
  return hsl(hue, dark ? 62 : 58, light);
}

function hsl(hue, saturation, light) {
  const [sat, lum] = [saturation / 100, light / 100];
  const a = sat * Math.min(lum, 1 - lum);
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    const c = lum - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * c)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

/** Red, green and blue of `#rrggbb`. */
export function rgb(colour) {
  const n = parseInt(colour.slice(1, 7), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** Black or white, whichever is better to read on a colour. */
export function inkOn(colour) {
  const [r, g, b] = rgb(colour).map((c) => {
    const x = c / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

const ROLES = {
  bg: ["#ffffff", "#14181d"],
  panel: ["#f6f8fa", "#1d2229"],
  ink: ["#1b1f24", "#e8ebee"],
  muted: ["#57606a", "#a3acb6"],
  grid: ["#e3e7eb", "#2d343c"],
  axis: ["#7d8590", "#7d8590"],
  rest: ["#ced3d9", "#545c65"],
  card: ["#ffffff", "#1a1f26"],
  good: ["#01694f", "#3fd0a4"],
  bad: ["#a33a05", "#ff8a5c"],
  warning: ["#8a5a00", "#f2b04a"],
  accent: ["#00569f", "#7fb2f5"],
  idle: ["#eef1f4", "#20262d"],
};

/** A colour of the page itself, for canvases. */
export function roleColour(role) {
  return ROLES[role][isDark() ? 1 : 0];
}

const HEAT = [
  ["#0a5c99", "#f7f8f9", "#b84a00"],
  ["#58b0ee", "#232a32", "#f59342"],
];

/** The colour of a heat map: -1 low, 0 middle, 1 high. */
export function heatColour(part) {
  const [low, middle, high] = HEAT[isDark() ? 1 : 0];
  const to = rgb(part < 0 ? low : high);
  const amount = Math.min(1, Math.abs(part));
  const mixed = rgb(middle).map((c, i) => Math.round(c + (to[i] - c) * amount));
  return "#" + mixed.map((c) => c.toString(16).padStart(2, "0")).join("");
}
