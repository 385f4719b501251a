// The flow as a picture: boxes laid out by the style sheet, edges drawn between wherever those came to stand.
import { h, s, say } from "./dom.js";
import { count, rate, short } from "./format.js";
import { jobCard } from "./jobs.js";

const TOPICS = ["transactions", "locations", "decisions", "alerts", "duplicates", "dead-letters", "windows", "late"];
const JOBS = ["decide", "windows", "store"];
const ENDS = { generator: "generator", parquet: "Parquet", database: "database" };
// Where the job `store` writes to, with which queries: how much, only they can say.
const STORES = {
  parquet: { name: "Parquet", queries: { parquet: "decisions" } },
  database: { name: "the database", queries: { alerts: "alerts", windows: "window rows" } },
};

// from, to, whose rate: a topic's, or what was written; `skip`: not drawn where everything stands in one column
const EDGES = [
  ["generator", "topic-transactions", "transactions"],
  ["generator", "topic-locations", "locations"],
  ["topic-transactions", "job-decide", "transactions"],
  ["topic-locations", "job-decide", "locations"],
  ["job-decide", "topic-decisions", "decisions"],
  ["job-decide", "topic-alerts", "alerts"],
  ["job-decide", "topic-duplicates", "duplicates"],
  ["job-decide", "topic-dead-letters", "dead-letters"],
  ["topic-decisions", "job-windows", "decisions"],
  ["topic-decisions", "job-store", null, "skip"],
  ["topic-alerts", "job-store", "alerts", "skip"],
  ["topic-windows", "job-store", null],
  ["job-windows", "topic-late", "late"],
  ["job-windows", "topic-windows", "windows"],
  ["job-store", "parquet", "parquet"],
  ["job-store", "database", "database"],
];

export function makeFlow(place, order) {
  const picture = s("svg", { class: "edges" });
  const boxes = {};
  const numbers = {};
  const rateTexts = {};
  const box = (key, kind, name, note) => {
    numbers[key] = h("span", {}, "–");
    rateTexts[key] = h("span", { class: "flow-rate" }); // where edges have no labels
    boxes[key] = h(
      "div",
      { class: `node ${kind} at-${key}` },
      h("span", { class: "name" }, name),
      note ? h("span", { class: "unseen" }, `, ${note}: `) : null,
      h("span", { class: "number" }, numbers[key], rateTexts[key]),
    );
    return boxes[key];
  };
  const cards = Object.fromEntries(JOBS.map((name) => [name, jobCard(name, order)]));
  for (const name of JOBS) {
    boxes[`job-${name}`] = cards[name].element;
    cards[name].element.classList.add(`at-job-${name}`);
  }

  place.append(
    picture,
    box("generator", "end", ENDS.generator),
    ...TOPICS.slice(0, 2).map((t) => box(`topic-${t}`, "topic", t, "topic")),
    cards.decide.element,
    ...TOPICS.slice(2, 6).map((t) => box(`topic-${t}`, "topic", t, "topic")),
    cards.windows.element,
    ...["late", "windows"].map((t) => box(`topic-${t}`, "topic", t, "topic")),
    cards.store.element,
    box("parquet", "end", ENDS.parquet),
    box("database", "end", ENDS.database),
  );

  const edges = EDGES.map(([from, to, of, skip]) => {
    const edge = {
      from,
      to,
      of,
      skip,
      title: s("title"),
      path: s("path", { class: "edge" }),
      rate: s("text", { class: "rate" }),
      lag: s("text", { class: "lag" }),
    };
    const spoken = to in STORES; // all other numbers are in the boxes too
    picture.append(
      s("g", spoken ? { role: "img" } : { "aria-hidden": "true" }, spoken ? edge.title : null, edge.path, edge.rate, edge.lag),
    );
    return edge;
  });

  const layout = () => drawEdges(place, picture, boxes, edges);
  new ResizeObserver(layout).observe(place);

  return (now) => {
    const jobs = Object.fromEntries(now.jobs.map((job) => [job.name, job]));
    const writes = Object.fromEntries(Object.keys(STORES).map((key) => [key, written(key, jobs.store)]));
    const flows = { parquet: writes.parquet.pace, database: writes.database.pace };
    for (const topic of TOPICS) flows[topic] = now.topics[topic]?.rate ?? null;
    for (const name of JOBS) {
      const measured = name === "decide" ? now.latency.recent : null; // end to end, as read back here
      cards[name].show(jobs[name], { measured, canKill: now.can_kill, lag: name === "decide" ? now.totals.in_flight : jobs[name]?.lag });
    }
    for (const topic of TOPICS) {
      say(numbers[`topic-${topic}`], count(now.topics[topic]?.end));
      say(rateTexts[`topic-${topic}`], rate(flows[topic]));
    }
    say(numbers.generator, rate((flows.transactions ?? 0) + (flows.locations ?? 0)));
    for (const key of Object.keys(STORES)) {
      say(numbers[key], contents(key, jobs.store));
      say(rateTexts[key], rate(flows[key]));
    }
    for (const edge of edges) {
      const flowing = edge.of ? flows[edge.of] : flows[edge.from.replace("topic-", "")];
      const reader = edge.to.startsWith("job-") ? jobs[edge.to.slice(4)] : null;
      const running = !reader || reader.state === "running";
      edge.path.classList.toggle("flowing", flowing > 0 && running);
      edge.path.setAttribute("stroke-width", flowing > 0 ? (1 + Math.log10(1 + flowing) * 0.6).toFixed(2) : "1");
      say(edge.rate, edge.of && flowing !== null && flowing !== undefined ? rate(flowing) : "");
      const lag = reader ? behind(edge, reader, now) : (writes[edge.to]?.lag ?? null);
      say(edge.lag, lag === null ? "" : `${short(lag)} behind`);
      if (edge.to in STORES) say(edge.title, inWords(STORES[edge.to].name, writes[edge.to]));
    }
    layout();
  };
}

// As the job reports it: what its queries took up from batch to batch, and what waits for them.
function written(key, job) {
  const sum = (field) => {
    const known = Object.keys(STORES[key].queries).map((name) => job?.queries[name]?.[field] ?? null).filter((value) => value !== null);
    return known.length ? known.reduce((total, value) => total + value) : null;
  };
  const pace = sum("pace");
  return { pace: pace !== null && job.state !== "running" ? 0 : pace, rows: sum("written"), lag: sum("lag") };
}

// 12 k decisions; before the first report, only what it will be.
function contents(key, job) {
  const parts = Object.entries(STORES[key].queries).map(([query, what]) => {
    const rows = job?.queries[query]?.written ?? null;
    return rows === null ? what : `${short(rows)} ${what}`;
  });
  return parts.join(", ");
}

function inWords(name, { pace, rows, lag }) {
  if (!rows) return `The job store has not reported yet what it wrote to ${name}.`;
  const now = pace === null ? "" : `, ${rate(pace)} of late`; // the first batch has no time before it to compare with
  return `By its own report, the job store wrote ${count(rows)} rows to ${name}${now}${lag === null ? "" : `, and is ${count(lag)} behind`}.`;
}

// How far a reader is behind on this edge. The job `store` says that where it writes.
function behind(edge, job, now) {
  if (job.name === "windows") return job.lag;
  return edge.from === "topic-transactions" ? now.totals.in_flight : null;
}

function drawEdges(place, picture, boxes, edges) {
  const frame = place.getBoundingClientRect();
  if (!frame.width) return;
  const narrow = getComputedStyle(place).getPropertyValue("--narrow").trim() === "1";
  picture.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
  const where = (key) => {
    const r = boxes[key].getBoundingClientRect();
    return {
      left: r.left - frame.left,
      right: r.right - frame.left,
      top: r.top - frame.top,
      bottom: r.bottom - frame.top,
      x: (r.left + r.right) / 2 - frame.left,
      y: (r.top + r.bottom) / 2 - frame.top,
    };
  };
  for (const edge of edges) {
    const a = where(edge.from);
    const b = where(edge.to);
    edge.path.setAttribute("d", narrow ? (edge.skip ? "" : down(a, b)) : edge.from === "topic-windows" ? back(a, b) : across(a, b, edge));
    for (const text of [edge.rate, edge.lag]) text.setAttribute("visibility", narrow ? "hidden" : "visible");
    if (!narrow) labels(edge, a, b);
  }
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
// Where an edge meets a tall box: level with its other end as far as the box reaches.
const port = (tall, other) => clamp(other.y, tall.top + 18, tall.bottom - 18);

function across(a, b, edge) {
  const y1 = edge.from.startsWith("job-") ? port(a, b) : a.y;
  const y2 = edge.to.startsWith("job-") ? port(b, a) : b.y;
  const bend = (b.left - a.right) / 2;
  return `M${a.right} ${y1}C${a.right + bend} ${y1} ${b.left - bend} ${y2} ${b.left} ${y2}`;
}

function down(a, b) {
  const bend = Math.max(8, (b.top - a.bottom) / 2);
  return `M${a.x} ${a.bottom}C${a.x} ${a.bottom + bend} ${b.x} ${b.top - bend} ${b.x} ${b.top}`;
}

const back = (a, b) => `M${a.x} ${a.bottom}C${a.x} ${b.top + 16} ${a.x} ${b.top + 16} ${b.right} ${b.top + 16}`;

function labels(edge, a, b) {
  const put = (text, x, y, anchor) => {
    text.setAttribute("x", x);
    text.setAttribute("y", y);
    text.setAttribute("text-anchor", anchor);
  };
  if (edge.to.startsWith("job-")) {
    put(edge.rate, a.right + 8, a.y + (b.y < a.y - 40 ? 14 : -6), "start"); // on the side that the edge does not bend to
    put(edge.lag, b.left - 8, port(b, a) + 14, "end");
  } else {
    put(edge.rate, b.left - 8, b.y + (a.bottom < b.y ? 14 : -6), "end");
    put(edge.lag, b.left - 8, b.y + 14, "end");
  }
}
