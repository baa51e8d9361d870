// Drawing a timeline: rows, bars, letters; or, where a row is thinner than it can be drawn, pixels.

import { colourOf, inkOn, lettersOf, rgb, roleColour } from "../lib/colour.js";
import { timeTicks } from "./axis.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
/** Rows thinner than this are drawn pixel by pixel. */
const THIN = 3;

/** @param {CanvasRenderingContext2D} c */
export function paint(c, timeline, place, scale) {
  c.clearRect(0, 0, place.width, place.height);
  background(c, timeline, place);
  if (place.rowHeight < THIN) pixels(c, timeline, place, scale);
  else bars(c, timeline, place);
  axis(c, timeline, place);
  labels(c, timeline, place);
  if (timeline.focus) outline(c, timeline.focus, place);
}

function background(c, timeline, place) {
  const idle = roleColour("idle");
  for (const [group, at] of place.tops) {
    c.fillStyle = idle;
    if (place.rowHeight < THIN) {
      c.fillRect(place.left, at.y, place.right - place.left, (at.last - at.first) * place.rowHeight);
    } else {
      for (let row = at.first; row < at.last; row++)
        c.fillRect(
          place.left,
          at.y + (row - at.first) * place.rowHeight,
          place.right - place.left,
          place.rowHeight - 1,
        );
    }
    for (const node of group.nodes) if (!node.up) hatch(c, place, node);
  }
}

/** A node that is down. */
function hatch(c, place, node) {
  const [top, bottom] = [
    place.y(Math.max(node.from, place.seen.row)),
    place.y(node.from + node.gpus - 1) + place.rowHeight,
  ];
  if (top < 0 || bottom < top) return;
  c.save();
  c.beginPath();
  c.rect(place.left, top, place.right - place.left, bottom - top - 1);
  c.clip();
  c.strokeStyle = roleColour("bad");
  c.globalAlpha = 0.35;
  c.lineWidth = 1;
  c.beginPath();
  for (let x = place.left - (bottom - top); x < place.right; x += 7) {
    c.moveTo(x, bottom);
    c.lineTo(x + (bottom - top), top);
  }
  c.stroke();
  c.restore();
}

function bars(c, timeline, place) {
  const { seen, rowHeight } = place;
  const end = timeline.time.to;
  const gap = rowHeight > 7 ? 1 : 0.5;
  c.font = `600 ${Math.min(11, rowHeight - 3)}px ${FONT}`;
  c.textBaseline = "middle";
  for (const bar of timeline.bars.values()) {
    const to = bar.to ?? end;
    if (to < seen.from || bar.from > seen.to) continue;
    const x1 = Math.max(place.left, place.x(bar.from));
    const x2 = Math.min(place.right, place.x(to));
    const width = Math.max(1, x2 - x1 - (bar.to === null ? 0 : 1));
    const colour = bar.tenant ? colourOf(bar.tenant) : roleColour("rest");
    const dim = timeline.bright && timeline.bright !== bar.tenant;
    c.globalAlpha = dim ? 0.18 : 1;
    c.fillStyle = colour;
    for (let i = 0; i < bar.rows.length; i += 2) {
      const first = Math.max(bar.rows[i], seen.row);
      const last = Math.min(bar.rows[i] + bar.rows[i + 1], seen.row + seen.rows);
      if (last <= first) continue;
      const y = place.y(first);
      const height = (last - first) * rowHeight - gap;
      rounded(c, x1, y, width, height, width < 5 ? 0 : 2.5);
      if (rowHeight >= 11 && !dim) letters(c, bar, x1, y, width, height, rowHeight, colour);
    }
  }
  c.globalAlpha = 1;
}

function rounded(c, x, y, width, height, radius) {
  if (radius === 0) {
    c.fillRect(x, y, width, height);
    return;
  }
  c.beginPath();
  c.roundRect(x, y, width, height, radius);
  c.fill();
}

function letters(c, bar, x, y, width, height, rowHeight, colour) {
  const short = bar.tenant ? lettersOf(bar.tenant) : "";
  const long = bar.job ? `${short} ${bar.job}` : short;
  const text = width > c.measureText(long).width + 8 ? long : width > c.measureText(short).width + 5 ? short : "";
  if (!text) return;
  c.fillStyle = inkOn(colour);
  c.fillText(text, x + 4, y + Math.min(height, rowHeight) / 2 + 0.5);
  c.fillStyle = colour;
}

/** One pixel row stands for several GPUs: it shows the first of them. Every run is looked at once. */
function pixels(c, timeline, place, scale) {
  const { seen } = place;
  const left = Math.round(place.left * scale);
  const width = Math.max(1, Math.round((place.right - place.left) * scale));
  const height = Math.max(1, Math.round(place.bottom * scale));
  const image = c.createImageData(width, height);
  const data = new Uint32Array(image.data.buffer);
  const { first, tall } = pixelRows(timeline, place, scale, data, width);
  const end = timeline.time.to;
  const perMs = width / (seen.to - seen.from);
  const paints = new Map();
  for (const bar of timeline.bars.values()) {
    const to = bar.to ?? end;
    if (to < seen.from || bar.from > seen.to) continue;
    const x1 = Math.max(0, Math.floor((bar.from - seen.from) * perMs));
    const x2 = Math.min(width, Math.max(x1 + 1, Math.ceil((to - seen.from) * perMs)));
    let value = paints.get(bar.tenant);
    if (value === undefined) {
      value = packed(
        bar.tenant ? colourOf(bar.tenant) : roleColour("rest"),
        timeline.bright && timeline.bright !== bar.tenant ? 40 : 255,
      );
      paints.set(bar.tenant, value);
    }
    for (let i = 0; i < bar.rows.length; i += 2) {
      for (let row = bar.rows[i]; row < bar.rows[i] + bar.rows[i + 1]; row++) {
        const y = first[row];
        for (let k = 0; k < tall[row]; k++) data.fill(value, (y + k) * width + x1, (y + k) * width + x2);
      }
    }
  }
  c.putImageData(image, left, 0);
}

/** The first pixel row of every GPU and how many it has (none: another stands for it), on a ground of idle grey. */
function pixelRows(timeline, place, scale, data, width) {
  const first = new Int32Array(timeline.rows.length);
  const tall = new Uint8Array(timeline.rows.length);
  const idle = packed(roleColour("idle"), 255);
  for (const [, at] of place.tops) {
    const top = Math.round(at.y * scale);
    const bottom = Math.round((at.y + (at.last - at.first) * place.rowHeight) * scale);
    data.fill(idle, top * width, Math.min(data.length, bottom * width));
    let next = top;
    for (let row = at.first; row < at.last; row++) {
      const to = Math.min(bottom, Math.round((at.y + (row + 1 - at.first) * place.rowHeight) * scale));
      first[row] = next;
      tall[row] = Math.max(0, to - next);
      next = Math.max(next, to);
    }
  }
  return { first, tall };
}

function packed(colour, alpha) {
  const [r, g, b] = rgb(colour);
  return (alpha << 24) | (b << 16) | (g << 8) | r;
}

function axis(c, timeline, place) {
  c.globalAlpha = 1;
  c.font = `11px ${FONT}`;
  c.textBaseline = "alphabetic";
  c.textAlign = "center";
  for (const tick of timeTicks(
    place.seen.from,
    place.seen.to,
    Math.max(2, Math.floor((place.right - place.left) / 100)),
  )) {
    const x = Math.round(place.x(tick.at)) + 0.5;
    c.strokeStyle = roleColour("axis");
    c.globalAlpha = 0.22;
    c.beginPath();
    c.moveTo(x, 18);
    c.lineTo(x, place.bottom + 3);
    c.stroke();
    c.globalAlpha = 1;
    c.fillStyle = roleColour("muted");
    if (x > place.left + 14 && x < place.right - 14) c.fillText(tick.text, x, place.bottom + 17);
  }
  for (const mark of timeline.marks) {
    if (mark.at < place.seen.from || mark.at > place.seen.to) continue;
    const x = Math.round(place.x(mark.at)) + 0.5;
    c.strokeStyle = roleColour("ink");
    c.setLineDash([3, 3]);
    c.beginPath();
    c.moveTo(x, 14);
    c.lineTo(x, place.bottom + 2);
    c.stroke();
    c.setLineDash([]);
    c.fillStyle = roleColour("muted");
    c.textAlign = x > place.right - 60 ? "right" : "center";
    c.fillText(mark.text, x, 11);
    c.textAlign = "center";
  }
  c.textAlign = "left";
}

function labels(c, timeline, place) {
  c.textBaseline = "middle";
  c.textAlign = "left";
  const narrow = place.width < 620;
  for (const [group, at] of place.tops) {
    c.font = `650 12px ${FONT}`;
    c.fillStyle = roleColour("ink");
    c.fillText(group.type, 0, at.y - 9);
    const wide = c.measureText(group.type).width;
    c.font = `11px ${FONT}`;
    c.fillStyle = roleColour("muted");
    const all = group.to - group.from;
    const part = at.last - at.first < all ? `${at.last - at.first} of ` : "";
    c.fillText(`${part}${all} GPUs`, wide + 8, at.y - 9);
    let last = -Infinity;
    for (const node of group.nodes) {
      const first = Math.max(node.from, at.first);
      if (first >= at.last || node.from + node.gpus <= at.first) continue;
      const y = place.y(first);
      const height = (Math.min(node.from + node.gpus, at.last) - first) * place.rowHeight;
      if (place.rowHeight >= THIN) {
        c.fillStyle = roleColour("grid");
        if (node.from !== group.from) c.fillRect(0, y - 1, place.right, 1);
      }
      if (height < 11 || y < last + 11) continue;
      last = y;
      c.fillStyle = node.up ? roleColour("muted") : roleColour("bad");
      c.fillText(
        fitted(c, named(node, group), place.left - (narrow ? 6 : 26)),
        0,
        y + Math.min(place.rowHeight, 15) / 2,
      );
      if (place.rowHeight >= 11 && !narrow) {
        c.textAlign = "right";
        c.fillStyle = roleColour("axis");
        for (let row = first; row < Math.min(node.from + node.gpus, at.last); row++)
          c.fillText(String(row - node.from), place.left - 6, place.y(row) + place.rowHeight / 2);
        c.textAlign = "left";
      }
    }
  }
}

/** Names of nodes often begin with their type, which stands above. */
function named(node, group) {
  const rest = node.name.startsWith(group.type) ? node.name.slice(group.type.length).replace(/^[-_.]/, "") : "";
  return (rest ? `node ${rest}` : node.name) + (node.up ? "" : " down");
}

function fitted(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && c.measureText(text.slice(0, end) + "…").width > width) end--;
  return text.slice(0, end) + "…";
}

function outline(c, focus, place) {
  const { bar, row } = focus;
  c.strokeStyle = roleColour("ink");
  c.lineWidth = 2;
  if (!bar) {
    const y = place.y(row);
    if (y >= 0) c.strokeRect(place.left, y, place.right - place.left, Math.max(3, place.rowHeight));
  } else {
    const x1 = Math.max(place.left, place.x(bar.from));
    const x2 = Math.min(place.right, place.x(bar.to ?? focus.end));
    for (let i = 0; i < bar.rows.length; i += 2) {
      const first = Math.max(bar.rows[i], place.seen.row);
      const last = Math.min(bar.rows[i] + bar.rows[i + 1], place.seen.row + place.seen.rows);
      if (last > first)
        c.strokeRect(x1, place.y(first) - 0.5, Math.max(2, x2 - x1), Math.max(3, (last - first) * place.rowHeight));
    }
  }
  c.lineWidth = 1;
}
