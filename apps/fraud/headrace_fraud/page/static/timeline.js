// The last transactions in time: a stem for each, as high as its amount (on a log scale), flagged ones filled.
import { h, s } from "./dom.js";
import { amount, clock, exactClock } from "./format.js";
import { RULES } from "./words.js";

const W = 640;
const H = 400;
const LEFT = 52;
const RIGHT = 16;
const TOP = 20;
const GROUND = H - 64;

export function drawTimeline(place, { transactions, places }) {
  const known = transactions.map((t) => ({ ...t, at: Date.parse(t.ts) })).filter((t) => Number.isFinite(t.at) && t.amount > 0);
  if (!known.length) {
    place.replaceChildren(h("p", { class: "aside" }, "No transaction is known yet."));
    return;
  }
  const times = known.map((t) => t.at);
  const first = Math.min(...times);
  const span = Math.max(1000, Math.max(...times) - first);
  const x = (at) => LEFT + ((at - first) / span) * (W - LEFT - RIGHT);
  const low = Math.floor(Math.log10(Math.min(...known.map((t) => t.amount))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...known.map((t) => t.amount)))));
  const y = (value) => GROUND - 8 - ((Math.log10(value) - low) / (high - low)) * (GROUND - 8 - TOP);

  const grid = [];
  for (let power = low; power <= high; power += 1) {
    const level = y(10 ** power);
    grid.push(
      s("path", { d: `M${LEFT} ${level}H${W - RIGHT}`, class: "grid" }),
      s("text", { x: LEFT - 6, y: level + 4, "text-anchor": "end" }, power < 0 ? String(10 ** power) : (10 ** power).toLocaleString("en")),
    );
  }
  for (const share of [0, 1 / 3, 2 / 3, 1]) {
    const at = first + span * share;
    grid.push(
      s(
        "text",
        { x: x(at), y: H - 30, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" },
        clock(new Date(at).toISOString()),
      ),
    );
  }
  const marks = known.map((t) => {
    const flagged = t.rules.length > 0;
    return s(
      "g",
      { class: flagged ? "spent flagged" : t.outcome === "duplicate" ? "spent double" : "spent" },
      s("path", { d: `M${x(t.at)} ${GROUND}V${y(t.amount)}` }),
      s("circle", { cx: x(t.at), cy: y(t.amount), r: flagged ? 5 : 3.5 }),
      flagged
        ? s(
            "text",
            { x: x(t.at), y: y(t.amount) - 9, "text-anchor": x(t.at) > W - 60 ? "end" : x(t.at) < LEFT + 40 ? "start" : "middle" },
            t.rules.map((rule) => rule[0].toUpperCase()).join(""),
          )
        : null,
      s("title", {}, `${exactClock(t.ts)}  ${amount(t.amount)}  ${t.merchant ?? ""}  ${flagged ? t.rules.join(", ") : t.outcome}`),
    );
  });
  const phones = places
    .map((p) => Date.parse(p.ts))
    .filter((at) => at >= first && at <= first + span)
    .map((at) => s("path", { d: `M${x(at)} ${GROUND + 4}v8`, class: "tick" }));
  place.replaceChildren(
    s(
      "svg",
      {
        viewBox: `0 0 ${W} ${H}`,
        role: "img",
        "aria-label": `${known.length} transactions from ${clock(new Date(first).toISOString())} to ${clock(new Date(first + span).toISOString())}`,
      },
      grid,
      s("path", { d: `M${LEFT} ${GROUND}H${W - RIGHT}`, class: "ground" }),
      phones,
      marks,
    ),
    h(
      "p",
      { class: "legend" },
      h("span", {}, "amount, log scale"),
      h("span", {}, RULES.map((rule) => `${rule[0].toUpperCase()} ${rule}`).join(" · ")),
      h("span", {}, "ticks: the phone was heard"),
    ),
  );
}
