// The figures at the top, the merchants, and the dead letters.
import { h, say } from "./dom.js";
import { count, millis, rate, seconds, short } from "./format.js";
import { NO_WINDOW } from "./words.js";

export function makeFigures(place) {
  const figure = (name) => {
    const [value, unit] = [h("dd", {}, "–"), h("dd", { class: "unit" })];
    place.append(h("div", {}, h("dt", {}, name), value, unit));
    return (text, note = "") => {
      say(value, text);
      say(unit, note);
    };
  };
  const shown = {
    transactions: figure("transactions"),
    alerts: figure("alerts"),
    p50: figure("p50, steady state"),
    p99: figure("p99, steady state"),
    recent: figure("p99, last 10 s"),
    warmUp: figure("p99, warm-up"),
    decided: figure("decided"),
    flagged: figure("flagged"),
  };
  return (history) => {
    const { latency, totals } = history.now;
    const left = history.warmUpLeft;
    const note = left === null ? `after ${seconds(latency.warm_up_s)}` : left > 0 ? `in ${left < 120 ? `${left} s` : seconds(left)}` : "latency";
    shown.transactions(rate(history.mean(1)));
    shown.alerts(rate(history.mean(2)));
    shown.p50(millis(latency.steady.p50), note);
    shown.p99(millis(latency.steady.p99), note);
    shown.recent(millis(latency.recent.p99));
    shown.warmUp(millis(latency.warm_up.p99), `first ${seconds(latency.warm_up_s)}`);
    shown.decided(count(totals.decided));
    shown.flagged(count(totals.flagged));
  };
}

export function makeMerchants(place) {
  const note = h("p", { class: "legend" }, "transactions, sum and share flagged, in the newest 15 windows");
  const list = h("ol", { class: "bars" });
  place.append(note, list);
  return ({ windows }) => {
    const most = windows.merchants[0]?.transactions ?? 1;
    list.replaceChildren(
      ...windows.merchants.map((m) => {
        const bar = h("span", { class: "bar" });
        bar.style.width = `${(m.transactions / most) * 100}%`;
        return h(
          "li",
          {},
          h("span", { class: "name" }, m.merchant),
          h("span", { class: "track", "aria-hidden": "true" }, bar),
          h("span", { class: "number" }, short(m.transactions)),
          h("span", { class: "number soft" }, short(m.amount)),
          h("span", { class: "number soft" }, `${((m.flagged / m.transactions) * 100).toFixed(1)} %`),
        );
      }),
    );
    if (!windows.merchants.length) list.replaceChildren(h("li", { class: "aside" }, NO_WINDOW));
  };
}

export function makeLetters(place) {
  const reasons = h("ul", { class: "reasons" });
  const newest = h("ol", { class: "letters", tabindex: "0", "aria-label": "Newest dead letters" });
  place.append(reasons, h("h3", {}, "Newest"), newest);
  let first = null;
  let pointed = false;
  newest.addEventListener("pointerenter", () => {
    pointed = true;
  });
  newest.addEventListener("pointerleave", () => {
    pointed = false;
  });

  return (history) => {
    const { letters } = history.now;
    const sorted = Object.entries(letters.reasons).sort(([a, n], [b, m]) => m - n || a.localeCompare(b));
    reasons.replaceChildren(...sorted.map(([reason, n]) => h("li", {}, h("code", {}, reason), h("span", { class: "number" }, count(n)))));
    if (!sorted.length) reasons.replaceChildren(h("li", { class: "aside" }, "None so far."));
    if (history.letters[0]?.n === first || pointed || newest.scrollTop > 0) return;
    first = history.letters[0]?.n;
    newest.replaceChildren(
      ...history.letters.map((letter) =>
        h(
          "li",
          {},
          h("p", {}, h("code", {}, letter.reason), h("span", { class: "soft" }, ` ${letter.topic}/${letter.partition}/${letter.offset}`)),
          h("pre", {}, letter.raw || "(empty)"),
        ),
      ),
    );
  };
}
