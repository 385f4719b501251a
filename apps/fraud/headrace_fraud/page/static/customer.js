// One customer: a time line, a map of points, and the transactions in words.
import { proof } from "./alerts.js";
import { h } from "./dom.js";
import { amount, day, exactClock } from "./format.js";
import { drawMap } from "./map.js";
import { drawTimeline } from "./timeline.js";

const EVERY = 2000; // ms

export function showCustomer(place, name) {
  const line = h("div", { class: "timeline" });
  const map = h("div", { class: "map" });
  const body = h("tbody");
  const note = h("p", { class: "aside", role: "status" }, "reading…");
  place.replaceChildren(
    h("nav", { "aria-label": "Back" }, h("a", { href: "#/" }, "← all customers")),
    h("h2", { class: "title" }, "Customer ", h("span", {}, name)),
    note,
    h(
      "div",
      { class: "pair" },
      h("section", { class: "panel", "aria-labelledby": "map-title" }, h("h2", { id: "map-title" }, "Places"), map),
      h("section", { class: "panel", "aria-labelledby": "line-title" }, h("h2", { id: "line-title" }, "Time line"), line),
    ),
    h(
      "section",
      { class: "panel", "aria-labelledby": "last-title" },
      h("h2", { id: "last-title" }, "Last transactions"),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "last-title" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["time (UTC)", "amount", "merchant", "transaction", "outcome"].map((title) => h("th", { scope: "col" }, title)),
            ),
          ),
          body,
        ),
      ),
    ),
  );

  let shown = "";
  async function read() {
    if (document.hidden) return;
    try {
      const answer = await fetch(`/api/customers/${encodeURIComponent(name)}`);
      const text = await answer.text();
      if (text === shown) return;
      shown = text;
      const found = JSON.parse(text);
      if (!answer.ok) {
        note.textContent = found.error;
        return;
      }
      const flagged = found.transactions.filter((t) => t.rules.length).length;
      const several = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
      note.textContent = `The last ${several(found.transactions.length, "transaction")}, ${flagged} flagged, and the last ${several(found.places.length, "place")} of the phone.`;
      drawMap(map, found);
      drawTimeline(line, found);
      body.replaceChildren(...[...found.transactions].reverse().map(row));
    } catch {
      note.textContent = "Connection lost, trying again…";
      shown = "";
    }
  }
  read();
  const timer = setInterval(read, EVERY);
  return () => clearInterval(timer);
}

function row(t) {
  const outcome = t.rules.length ? proof(t) : t.outcome === "decided" ? h("span", { class: "soft" }, "no rule broken") : t.outcome;
  return h(
    "tr",
    { class: t.rules.length ? "flagged" : null },
    h("td", {}, h("time", { datetime: t.ts, title: day(t.ts) }, exactClock(t.ts))),
    h("td", { class: "number" }, amount(t.amount)),
    h("td", {}, t.merchant ?? "–"),
    h("td", { class: "soft" }, t.tx_id),
    h("td", {}, outcome),
  );
}
