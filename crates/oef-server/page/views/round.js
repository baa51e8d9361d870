// What the views of rounds share: the certificate in words, and what a bar of a timeline says.

import { api } from "../lib/api.js";
import { h, later, set } from "../lib/dom.js";
import { absolute, percent, relative, shortTime, span } from "../lib/format.js";
import { statePill, tenantChip } from "../lib/parts.js";
import { now, state } from "../lib/state.js";

const PROPERTIES = [
  ["capacity", "capacity", "no more is handed out than there is"],
  ["sharing_incentive", "sharing incentive", "nobody is worse off than with an equal split"],
  ["envy_free", "envy-free", "nobody would rather have another's share"],
  ["pareto_efficient", "Pareto efficient", "nobody could gain without somebody losing"],
];

/** A certificate: each property, whether it holds, whether that was promised, and the witness where it does not. */
export function certificate(audit, promises, mechanism) {
  if (!audit)
    return h("p", { class: "muted", text: "There was nothing to share, so there is nothing to certify." });
  const promised = new Set(promises);
  return h(
    "ul",
    { class: "cert" },
    PROPERTIES.map(([key, name, meaning]) => {
      const property = audit[key];
      const kind = property.holds ? "yes" : promised.has(name) ? "no" : "free";
      return h(
        "li",
        { class: kind },
        h("span", {
          class: "sign",
          "aria-hidden": "true",
          text: property.holds ? "✓" : promised.has(name) ? "✕" : "·",
        }),
        h(
          "span",
          {},
          h("b", { text: name }),
          ` ${property.holds ? "holds" : "does not hold"}: ${meaning}`,
          measured(key, property),
          !property.holds &&
            !promised.has(name) &&
            h("span", { class: "muted", text: ` (${mechanism} does not promise it)` }),
        ),
        property.witness && h("span", { class: "witness", text: property.witness }),
      );
    }),
  );
}

/** Two certificates side by side. */
export function compared(answer) {
  const cell = (property, key, name, promises) => {
    const promised = promises.includes(name);
    const tone = property.holds ? "good" : promised ? "bad" : "muted";
    return h(
      "td",
      {},
      h("span", { class: `sign ${tone}`, text: property.holds ? "✓ holds" : promised ? "✕ broken" : "· not promised" }),
      h("div", { class: "muted small" }, short(key, property)),
      property.witness && !property.holds && h("div", { class: "muted small", text: property.witness }),
    );
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Certificates" },
    h(
      "table",
      { class: "compare" },
      h("caption", { class: "sr", text: "Certificates before and after" }),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", text: "property" }),
          h("th", { scope: "col", text: `now: ${answer.mechanism_before}` }),
          h("th", { scope: "col", text: `then: ${answer.mechanism_after}` }),
        ),
      ),
      h(
        "tbody",
        {},
        PROPERTIES.map(([key, name, meaning]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row", title: meaning }, name),
            cell(answer.audit_before[key], key, name, answer.promises_before),
            cell(answer.audit_after[key], key, name, answer.promises_after),
          ),
        ),
      ),
    ),
  );
}

function short(key, property) {
  if (key === "sharing_incentive") return `least: ${percent(property.worst)} of its equal split`;
  if (key === "envy_free") return `greatest envy: ${percent(property.worst, 1)}`;
  if (key === "pareto_efficient") return `could be gained: ${percent(property.worst, 1)}`;
  return "";
}

function measured(key, property) {
  if (key === "sharing_incentive")
    return h("span", { class: "muted", text: `; the least has ${percent(property.worst)} of its equal split` });
  if (key === "envy_free" && property.worst > 0.0005)
    return h("span", { class: "muted", text: `; the greatest envy is ${percent(property.worst, 1)}` });
  if (key === "pareto_efficient" && property.worst > 0.0005)
    return h("span", { class: "muted", text: `; ${percent(property.worst, 1)} of the total could be gained` });
  return null;
}

/** Explains bars of a timeline beside the pointer: job, tenant, reason, and what changes next. */
export function explainer() {
  const tip = document.getElementById("tip");
  const known = new Map();
  let shownJob = null;

  const ask = later(120, async (job) => {
    if (!known.has(job)) {
      const [details, why] = await Promise.all([
        api.get(`/jobs/${job}`).catch(() => null),
        api.get(`/jobs/${job}/why`).catch(() => null),
      ]);
      known.set(job, { details, why, round: state.overview.round });
      if (known.size > 200) known.delete(known.keys().next().value);
    }
    if (shownJob === job && !tip.hidden) fill(tip.querySelector(".more"), known.get(job));
  });

  return (bar, place) => {
    if (!place) {
      tip.hidden = true;
      shownJob = null;
      return;
    }
    const { row, time } = place;
    const key = `${bar?.key}|${row.node}|${row.index}`;
    if (tip.dataset.key !== key || tip.hidden) {
      tip.dataset.key = key;
      const more = h("div", { class: "more muted" });
      set(
        tip,
        h("div", { class: "muted", text: `${row.type} · ${row.node} · GPU ${row.index}` }),
        bar
          ? [
              h(
                "div",
                { class: "line" },
                tenantChip(bar.tenant, { asLink: false }),
                bar.job ? h("b", { text: `job ${bar.job}` }) : null,
              ),
              h("div", { class: "muted", text: lasted(bar) }),
              more,
            ]
          : h("div", { text: row.up ? `idle at ${shortTime(time)}` : "down" }),
      );
      shownJob = bar?.job || null;
      const cached = known.get(shownJob);
      if (cached && cached.round === state.overview.round) fill(more, cached);
      else if (shownJob) {
        known.delete(shownJob);
        ask(shownJob);
      }
    }
    tip.hidden = false;
    const width = tip.offsetWidth;
    tip.style.setProperty("left", `${Math.max(6, Math.min(innerWidth - width - 10, place.x + 14))}px`);
    const below = place.y + 18;
    tip.style.setProperty(
      "top",
      `${below + tip.offsetHeight > innerHeight - 8 ? Math.max(6, place.y - tip.offsetHeight - 12) : below}px`,
    );
  };
}

function lasted(bar) {
  const end = bar.to ?? now();
  return `${shortTime(bar.from)} to ${bar.to === null ? "now" : shortTime(bar.to)}, ${span((end - bar.from) / 1000)}`;
}

function fill(place, found) {
  if (!place || !found?.details) return;
  const { details, why } = found;
  const next = state.overview.began_ms + state.overview.length_s * 1000;
  set(
    place,
    h("div", { class: "line" }, statePill(details.state), h("span", { text: details.name })),
    why && h("div", { text: why.sentence }),
    why?.expected_start &&
      h("div", {
        text: `expected start ${relative(Date.parse(why.expected_start), now())}`,
        title: absolute(Date.parse(why.expected_start)),
      }),
    ["running", "starting"].includes(details.state) &&
      h("div", { text: `may change with the next round, ${relative(next, now())}` }),
  );
}
