// Who ran where: a row for each GPU, grouped by gpu type and node, time from left to right. Few GPUs are drawn as bars
// with letters; thousands as a heat map, which becomes bars again where one zooms in.

import { h } from "../lib/dom.js";
import { lettersOf } from "../lib/colour.js";
import { listen } from "./timeline_input.js";
import { paint } from "./timeline_paint.js";

/** Up to so many GPUs all rows have their full height. */
const ROWS_IN_FULL = 72;
const ROW = 15;
const GROUP_GAP = 22;
const OVERVIEW_HEIGHT = 540;

/**
 * @typedef {object} Bar a run of a job on some rows
 * @property {string} key
 * @property {number} job
 * @property {string|null} tenant
 * @property {number} from
 * @property {number|null} to
 * @property {number[]} rows first row and count, in pairs, as drawn
 */

export class Timeline {
  /** @param {{label: string, open: (job: number) => void, explain: (bar: Bar|null, place: any) => any, from?: number, to?: number}} options */
  constructor(options) {
    this.options = options;
    this.canvas = h("canvas", {
      class: "timeline",
      tabindex: "0",
      role: "application",
      "aria-label": options.label,
      "aria-roledescription": "timeline",
    });
    this.element = h("div", { class: "timeline-wrap" }, this.canvas);
    this.nodes = [];
    this.groups = [];
    this.rows = [];
    this.rowOf = [];
    this.bars = new Map();
    this.marks = [];
    this.time = { from: options.from ?? 0, to: options.to ?? 1 };
    this.view = null;
    this.focus = null;
    this.bright = null;
    this.paintMs = 0;
    this.width = 0;
    new ResizeObserver(([entry]) => {
      this.width = Math.floor(entry.contentRect.width);
      this.draw();
    }).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    document.addEventListener("themechange", () => this.draw());
    listen(this);
  }

  /** The nodes, in the order in which their GPUs are numbered. */
  setNodes(nodes) {
    this.nodes = nodes;
    const types = [...new Set(nodes.map((node) => node.type))];
    let first = 0;
    const placed = nodes.map((node) => {
      const entry = { ...node, first };
      first += node.gpus;
      return entry;
    });
    this.rowOf = new Int32Array(first).fill(-1);
    this.rows = [];
    this.groups = types.map((type) => {
      const group = { type, from: this.rows.length, nodes: [] };
      for (const node of placed.filter((n) => n.type === type)) {
        group.nodes.push({ name: node.name, up: node.up, from: this.rows.length, gpus: node.gpus });
        for (let index = 0; index < node.gpus; index++) {
          this.rowOf[node.first + index] = this.rows.length;
          this.rows.push({ node: node.name, index, type, up: node.up });
        }
      }
      group.to = this.rows.length;
      return group;
    });
    this.view = null;
  }

  /** Adds runs, or what is new about them. */
  merge(timeline) {
    for (const span of timeline.spans) {
      const tenant = span.tenant === undefined ? null : timeline.tenants[span.tenant];
      const key = span.job ? `${span.job}:${span.run}` : `x${span.from}:${span.gpus.join()}`;
      const known = this.bars.get(key);
      if (known) known.to = span.to ?? null;
      else
        this.bars.set(key, {
          key,
          job: span.job,
          tenant,
          from: span.from,
          to: span.to ?? null,
          rows: this.drawn(span.gpus),
        });
    }
    this.dated = null;
  }

  /** Numbers of GPUs as rows of the picture. */
  drawn(pairs) {
    const rows = [];
    for (let i = 0; i < pairs.length; i += 2) {
      for (let k = 0; k < pairs[i + 1]; k++) {
        const row = this.rowOf[pairs[i] + k];
        if (row === undefined || row < 0) continue;
        const last = rows.length - 2;
        if (last >= 0 && rows[last] + rows[last + 1] === row && this.rows[row].node === this.rows[row - 1].node)
          rows[last + 1]++;
        else rows.push(row, 1);
      }
    }
    return rows;
  }

  /** The stretch of time; what ended before it is forgotten. */
  setTime(from, to) {
    this.time = { from, to };
    for (const [key, bar] of this.bars) if (bar.to !== null && bar.to < from) this.bars.delete(key);
  }

  clear() {
    this.bars.clear();
  }

  get isOverview() {
    return this.rows.length > ROWS_IN_FULL;
  }

  /** What is seen: rows and time. */
  get seen() {
    return this.view ?? { row: 0, rows: this.rows.length, from: this.time.from, to: this.time.to };
  }

  /** Where everything is, for a width. */
  layout(width) {
    const narrow = width < 620;
    const left = this.isOverview ? (narrow ? 64 : 108) : narrow ? 52 : 104;
    const seen = this.seen;
    const groups = this.groups.filter((g) => g.to > seen.row && g.from < seen.row + seen.rows);
    const gaps = GROUP_GAP * groups.length;
    const plot = this.isOverview ? OVERVIEW_HEIGHT - gaps : this.rows.length * ROW;
    const rowHeight = this.isOverview ? plot / seen.rows : ROW;
    const tops = new Map();
    let y = 0;
    for (const group of groups) {
      y += GROUP_GAP;
      const first = Math.max(group.from, seen.row);
      const last = Math.min(group.to, seen.row + seen.rows);
      tops.set(group, { y, first, last });
      y += (last - first) * rowHeight;
    }
    const right = width - 6;
    return {
      left,
      right,
      width,
      rowHeight,
      groups,
      tops,
      height: Math.ceil(y + 26),
      bottom: y,
      seen,
      x: (t) => left + ((t - seen.from) / (seen.to - seen.from || 1)) * (right - left),
      y: (row) => {
        for (const [group, place] of tops)
          if (row >= group.from && row < group.to) return place.y + (row - place.first) * rowHeight;
        return -1;
      },
    };
  }

  /** Draws soon, once. */
  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.drawNow();
    });
  }

  drawNow() {
    const { width } = this;
    if (width < 50) return;
    const began = performance.now();
    const layout = this.layout(width);
    this.place = layout;
    const scale = Math.min(2, devicePixelRatio || 1);
    const [w, hgt] = [Math.round(width * scale), Math.round(layout.height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== hgt) {
      this.canvas.width = w;
      this.canvas.height = hgt;
      this.canvas.style.setProperty("height", `${layout.height}px`);
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paint(context, this, layout, scale);
    this.paintMs = performance.now() - began;
    this.canvas.dataset.paintMs = this.paintMs.toFixed(1);
  }

  /** The bar at a row and a time. */
  barAt(row, time) {
    let found = null;
    for (const bar of this.bars.values()) {
      if (bar.from > time || (bar.to ?? this.time.to) < time) continue;
      for (let i = 0; i < bar.rows.length; i += 2)
        if (row >= bar.rows[i] && row < bar.rows[i] + bar.rows[i + 1]) found = bar;
    }
    return found;
  }

  /** Looks closer around a point: `factor` below 1 zooms in. */
  zoom(factor, row, time) {
    const seen = this.seen;
    const all = this.rows.length;
    const rows = this.isOverview ? Math.min(all, Math.max(16, seen.rows * factor)) : all;
    const whole = this.time.to - this.time.from;
    const length = Math.min(
      whole,
      Math.max(20_000, (seen.to - seen.from) * (this.isOverview ? Math.sqrt(factor) : factor)),
    );
    const partRow = (row - seen.row) / seen.rows;
    const partTime = (time - seen.from) / (seen.to - seen.from);
    this.look(Math.round(row - partRow * rows), Math.round(rows), time - partTime * length, length);
  }

  /** Moves what is seen. */
  pan(rows, time) {
    const seen = this.seen;
    this.look(seen.row + rows, seen.rows, seen.from + time, seen.to - seen.from);
  }

  look(row, rows, from, length) {
    const all = this.rows.length;
    const count = Math.min(all, rows);
    const start = Math.max(0, Math.min(all - count, row));
    const begin = Math.max(this.time.from, Math.min(this.time.to - length, from));
    const isAll = count >= all && length >= (this.time.to - this.time.from) * 0.999;
    this.view = isAll ? null : { row: start, rows: count, from: begin, to: begin + length };
    this.draw();
  }

  reset() {
    this.view = null;
    this.draw();
  }

  /** The runs as rows of a table. */
  data() {
    const gpu = (row) => `${this.rows[row].node}:${this.rows[row].index}`;
    const list = [...this.bars.values()].map((bar) => {
      const names = [];
      let count = 0;
      for (let i = 0; i < bar.rows.length; i += 2) {
        count += bar.rows[i + 1];
        names.push(
          bar.rows[i + 1] > 1
            ? `${gpu(bar.rows[i])}–${this.rows[bar.rows[i] + bar.rows[i + 1] - 1].index}`
            : gpu(bar.rows[i]),
        );
      }
      return { ...bar, gpus: names.join(" "), count, type: bar.rows.length ? this.rows[bar.rows[0]].type : "" };
    });
    const time = (ms) => (ms === null ? "" : new Date(ms).toISOString());
    return {
      columns: [
        { name: "job", show: (r) => (r.job ? String(r.job) : "–"), value: (r) => r.job, number: true },
        { name: "tenant", show: (r) => r.tenant ?? "another tenant" },
        { name: "letters", show: (r) => (r.tenant ? lettersOf(r.tenant) : "") },
        { name: "gpu type", show: (r) => r.type },
        { name: "GPUs", show: (r) => String(r.count), value: (r) => r.count, number: true },
        { name: "which", show: (r) => r.gpus },
        { name: "from", show: (r) => time(r.from) },
        { name: "to", show: (r) => time(r.to) || "runs" },
      ],
      rows: list.sort((a, b) => b.from - a.from),
    };
  }
}
