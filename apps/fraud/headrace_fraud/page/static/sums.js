// The two sums that show that nothing is lost.
import { h, say } from "./dom.js";
import { count, millis, seconds } from "./format.js";

const OVERDUE = 60_000; // ms

function equation(label, terms) {
  const values = {};
  const verdict = h("span", { class: "verdict" });
  const shown = terms.map(([sign, key, name]) => {
    values[key] = h("b", {}, "–");
    return [sign ? h("span", { class: "sign" }, sign) : null, h("span", { class: "term" }, values[key], h("span", {}, name))];
  });
  return { element: h("p", { class: "sum", "aria-label": label }, shown, verdict), values, verdict };
}

export function makeSums(place) {
  const first = equation("Every transaction that was sent", [
    ["", "sent", "sent"],
    ["=", "decided", "decided"],
    ["+", "duplicates", "duplicates"],
    ["+", "dead_letters", "dead letters"],
    ["+", "in_flight", "in flight"],
  ]);
  const second = equation("Every decision", [
    ["", "decided", "decided"],
    ["=", "in_windows", "in windows"],
    ["+", "late", "late"],
    ["+", "waiting", "waiting"],
  ]);
  const note = h("p", { class: "aside" });
  place.append(first.element, second.element, note);

  return ({ totals }) => {
    for (const sum of [first, second]) for (const [key, value] of Object.entries(sum.values)) say(value, count(totals[key]));
    const [mark, text] = sent(totals);
    judge(first.verdict, mark, text);
    judge(
      second.verdict,
      totals.windows_hold,
      totals.windows_hold
        ? "every decision is in one window, late, or not yet read"
        : `${count(-totals.waiting)} more in windows than were decided`,
    );
    const repeats = totals.repeats ? `${count(totals.repeats)} answers came again after a crash, with the same id, and count once. ` : "";
    const elsewhere = totals.other_dead_letters ? `${count(totals.other_dead_letters)} more dead letters came from locations. ` : "";
    say(
      note,
      `${repeats}${elsewhere}Proven by place in the log, not by counting rows: each offset of transactions has exactly one outcome.`,
    );
  };
}

function sent(totals) {
  if (!totals.holds) return [false, `${count(totals.conflicts)} with two outcomes`];
  if (totals.in_flight === 0) return [true, "every one has exactly one outcome"];
  if (totals.oldest_ms > OVERDUE) return [null, `the oldest has waited for ${seconds(totals.oldest_ms / 1000)}`];
  return [
    true,
    `each in exactly one place; the oldest in flight since ${totals.oldest_ms < 1500 ? "less than 2 s" : millis(totals.oldest_ms)}`,
  ];
}

function judge(element, good, text) {
  element.dataset.holds = good === null ? "waiting" : String(good);
  say(element, `${good === null ? "…" : good ? "✓" : "✗"} ${text}`);
}
