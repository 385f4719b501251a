// The newest alerts, with a filter. While someone points at, reads by keyboard or has scrolled the list, it stands still and newer ones wait above.
import { at, h, say } from "./dom.js";
import { amount, count, exactClock, millis } from "./format.js";
import { evidence, RULES } from "./words.js";

const SHOWN = 100;
const SAY_EVERY = 6000; // ms between two summaries for screen readers

export const customerLink = (name) => h("a", { href: `#/customer/${encodeURIComponent(name)}` }, name);

export function proof(decision) {
  return evidence(decision).map(([rule, words]) =>
    h("span", { class: "proof" }, h("span", { class: `rule rule-${RULES.indexOf(rule) + 1}` }, rule), " ", words),
  );
}

function row(alert) {
  return h(
    "li",
    { "data-n": alert.n },
    h("time", { datetime: alert.ts, title: alert.ts }, exactClock(alert.ts)),
    h("span", { class: "who" }, customerLink(alert.customer)),
    h("span", { class: "amount" }, amount(alert.amount)),
    h("span", { class: "where" }, alert.merchant, h("span", { class: "card" }, alert.card ?? "")),
    h("span", { class: "why" }, proof(alert)),
    h("span", { class: "took", title: "from the card reader's clock to the decision read back" }, millis(alert.ms)),
  );
}

export function makeAlerts(place) {
  const rules = RULES.map((rule) =>
    h(
      "label",
      { class: "pick" },
      h("input", { type: "checkbox", value: rule, checked: true, onchange: refill }),
      h("span", { class: `rule rule-${RULES.indexOf(rule) + 1}` }, rule),
    ),
  );
  const who = h("input", { type: "search", id: "who", placeholder: "any", autocomplete: "off", spellcheck: "false", oninput: refill });
  const found = h("output", { class: "aside" });
  const newer = h("button", {
    type: "button",
    class: "newer",
    hidden: true,
    onclick: () => {
      list.scrollTop = 0;
      release(true);
    },
  });
  const list = h("ol", { class: "alerts", tabindex: "0", "aria-label": "Newest alerts, newest first" });
  const empty = h("p", { class: "aside", hidden: true }, "No alert to show.");
  place.append(
    h(
      "form",
      { class: "filter", role: "search", "aria-label": "Filter the alerts", onsubmit: (event) => event.preventDefault() },
      h("fieldset", {}, h("legend", { class: "unseen" }, "Rules"), rules),
      h("label", { for: "who" }, "Customer ", who),
      found,
    ),
    newer,
    list,
    empty,
  );

  let history = null;
  let pointed = false;
  let unsaid = 0;
  let saidAt = 0;

  list.addEventListener("pointerenter", () => {
    pointed = true;
  });
  list.addEventListener("pointerleave", () => {
    pointed = false;
    release();
  });
  list.addEventListener("focusout", () => setTimeout(() => release()));
  list.addEventListener(
    "scroll",
    () => {
      if (list.scrollTop === 0) release();
    },
    { passive: true },
  );
  const held = () =>
    pointed || list.scrollTop > 0 || (list.contains(document.activeElement) && document.activeElement.matches(":focus-visible"));

  function wanted() {
    const broken = new Set(
      rules
        .map((label) => label.firstChild)
        .filter((box) => box.checked)
        .map((box) => box.value),
    );
    const text = who.value.trim().toLowerCase();
    return (alert) => alert.rules.some((rule) => broken.has(rule)) && alert.customer.toLowerCase().includes(text);
  }

  function refill() {
    if (!history) return;
    list.replaceChildren();
    release(true);
  }

  // Puts what is newer than the first row above it; rows that stay are not touched.
  function release(forced = false) {
    if (!history || (held() && !forced)) return waiting();
    const matching = history.alerts.filter(wanted()).slice(0, SHOWN);
    const newest = Number(list.firstElementChild?.dataset.n ?? 0);
    const fresh = matching.filter((alert) => alert.n > newest);
    list.prepend(...fresh.map(row));
    while (list.children.length > SHOWN) list.lastElementChild.remove();
    empty.hidden = list.children.length > 0;
    waiting();
  }

  function waiting() {
    if (!history) return;
    const matching = history.alerts.filter(wanted());
    const newest = Number(list.firstElementChild?.dataset.n ?? 0);
    const more = matching.filter((alert) => alert.n > newest).length;
    newer.hidden = more === 0 || !held();
    say(newer, `Show ${count(more)} newer`);
    say(found, `${count(matching.length)} of the newest ${count(history.alerts.length)}`);
  }

  function announce(fresh) {
    unsaid += fresh.length;
    if (!unsaid || Date.now() - saidAt < SAY_EVERY) return;
    const [newest] = history.alerts;
    say(
      at("said"),
      `${count(unsaid)} new ${unsaid === 1 ? "alert" : "alerts"}. The newest: customer ${newest.customer}, ${evidence(newest)
        .map(([, words]) => words)
        .join(", ")}.`,
    );
    unsaid = 0;
    saidAt = Date.now();
  }

  return {
    replace(from) {
      history = from;
      refill();
    },
    add(fresh) {
      release();
      announce(fresh);
    },
  };
}
