// The three charts. uPlot draws on a canvas; colours are asked for at each drawing, so that a change of theme is one redraw.
import uPlot from "./vendor/uplot-1.6.32/uPlot.esm.js";
import { at, colour, h, say } from "./dom.js";
import { count, millis, rate } from "./format.js";
import { NO_WINDOW, RULES } from "./words.js";

const HEIGHT = 210;
const RANGES = [
  [60, "1 min"],
  [300, "5 min"],
  [900, "15 min"],
];
let colours = {};
const charts = [];

function paint() {
  colours = Object.fromEntries(
    ["--ink", "--muted", "--line", "--accent", "--tone-1", "--tone-2", "--tone-3", "--soft"].map((name) => [name, colour(name)]),
  );
  charts.forEach((chart) => chart.plot.redraw());
}

const use = (name) => () => colours[name];
const axis = (more) => ({
  stroke: use("--muted"),
  grid: { stroke: use("--line"), width: 1 },
  ticks: { show: false },
  font: "11px system-ui, sans-serif",
  size: 44,
  gap: 4,
  ...more,
});
const time = (format) =>
  axis({ size: 26, space: 70, values: (_, splits) => splits.map((second) => new Date(second * 1000).toLocaleTimeString("en-GB", format)) });

const wholeOnly = (_, splits) => splits.map((n) => (n % 1 ? null : count(n)));

// A line of names with the values under the pointer, or the newest.
function legend(series) {
  const values = series.map(() => h("b", {}, "–"));
  const line = h(
    "p",
    { class: "legend" },
    series.map(({ name, swatch }, i) => h("span", {}, h("i", { class: `swatch ${swatch}` }), name, " ", values[i])),
  );
  return { line, show: (texts) => texts.forEach((text, i) => say(values[i], text)) };
}

function chart(id, names, options, read) {
  const box = at(id);
  const keys = legend(names);
  const hole = h("div", { class: "plot", role: "img" });
  box.append(keys.line, hole);
  const title = box.parentElement.querySelector("h2").textContent;

  const plot = new uPlot(
    {
      width: 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
      padding: [8, 4, 0, 0],
      ...options,
      hooks: { setCursor: [(u) => show(u)], ...options.hooks },
    },
    options.series.map(() => []),
    hole,
  );
  const show = (u) => {
    const last = u.data[0].length - 1;
    const texts = read(u, u.cursor.idx ?? last);
    keys.show(texts);
    if (u.cursor.idx === null || u.cursor.idx === undefined)
      hole.setAttribute("aria-label", `${title}: ${names.map((n, i) => `${n.name} ${texts[i]}`).join(", ")}`);
  };
  new ResizeObserver(([entry]) => plot.setSize({ width: Math.max(120, Math.floor(entry.contentRect.width)), height: HEIGHT })).observe(
    hole,
  );
  const made = {
    plot,
    set: (data) => {
      plot.setData(data);
      show(plot);
    },
  };
  charts.push(made);
  return made;
}

const line = (stroke, more) => ({ stroke: use(stroke), width: 1.5, points: { show: false }, spanGaps: false, ...more });
const value = (u, series, i, text) => text(u.data[series][i]);
// From zero to a little above the largest.
const fromZero = (_, __, max) => [0, Math.max(1, (max ?? 1) * 1.12)];
// The few alerts stay in the lower half, where they do not hide the transactions.
const lowHalf = (_, __, max) => [0, Math.max(2, (max ?? 1) * 2.2)];

// The warm-up lies behind the lines of its seconds.
let warmUp = null;
function shadeWarmUp(u) {
  if (!warmUp) return;
  const { left, top, width, height } = u.bbox;
  const [from, to] = warmUp.map((second) => Math.max(left, Math.min(left + width, u.valToPos(second, "x", true))));
  u.ctx.fillStyle = colours["--soft"];
  u.ctx.fillRect(from, top, to - from, height);
}

// The alerts of every minute from the first to the newest, by rule: of a quarter of an hour at least, because the plot takes a minute that is
// alone for a day.
function byMinute(minutes, now) {
  const known = new Map(minutes.map((m) => [Date.parse(m.minute) / 1000, [m.velocity, m.amount_rule, m.location]]));
  const newest = known.size ? Math.max(...known.keys()) : Math.floor(now / 60) * 60;
  const time = [];
  for (let minute = Math.min(newest - 14 * 60, ...known.keys()); minute <= newest; minute += 60) time.push(minute);
  return [time, time.map((minute) => known.get(minute) ?? [0, 0, 0])];
}

export function makeCharts() {
  const rates = chart(
    "rates",
    [
      { name: "transactions", swatch: "tone-2" },
      { name: "alerts", swatch: "accent" },
    ],
    {
      scales: { x: { time: true }, y: { range: fromZero }, alerts: { range: lowHalf } },
      axes: [
        time({}),
        axis({ values: wholeOnly }),
        axis({ scale: "alerts", side: 1, grid: { show: false }, stroke: use("--accent") }),
      ],
      series: [{}, line("--tone-2", { fill: use("--soft") }), line("--accent", { scale: "alerts" })],
    },
    (u, i) => [value(u, 1, i, rate), value(u, 2, i, rate)],
  );
  const latency = chart(
    "latency",
    [
      { name: "p50", swatch: "accent" },
      { name: "p95", swatch: "tone-2" },
      { name: "p99", swatch: "tone-3" },
    ],
    {
      padding: [8, 22, 0, 0], // no axis at the right: room for half of the last time
      scales: {
        x: { time: true },
        y: {
          distr: 3,
          log: 10,
          range: (_, min, max) => [
            10 ** Math.floor(Math.log10(Math.max(0.1, Math.min(min ?? 1, 1)))),
            10 ** Math.ceil(Math.log10(Math.max(max ?? 1, 100))),
          ],
        },
      },
      axes: [
        time({}),
        axis({
          size: 54,
          values: (_, splits) => splits.map((ms) => (ms === null || Math.log10(ms) % 1 ? null : ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)),
        }),
      ],
      series: [{}, line("--accent"), line("--tone-2"), line("--tone-3")],
      hooks: { drawClear: [shadeWarmUp] },
    },
    (u, i) => [value(u, 1, i, millis), value(u, 2, i, millis), value(u, 3, i, millis)],
  );
  const shade = h("span", { hidden: true }, h("i", { class: "swatch band" }), "warm-up");
  at("latency").querySelector(".legend").append(shade);
  // Stacked: each series holds the sum of its rule and those below, and the tallest is drawn first.
  const bars = uPlot.paths.bars({ size: [0.72, 26], align: 0 });
  const stack = (stroke) => ({ stroke: use(stroke), fill: use(stroke), width: 0, paths: bars, points: { show: false } });
  const rules = chart(
    "rules",
    RULES.map((name, i) => ({ name, swatch: `tone-${i + 1}` })),
    {
      scales: { x: { time: true, range: (_, min, max) => [min - 30, max + 30] }, y: { range: fromZero } },
      axes: [
        time({ hour: "2-digit", minute: "2-digit", timeZone: "UTC" }),
        axis({ values: wholeOnly }),
      ],
      series: [{}, stack("--tone-1"), stack("--tone-2"), stack("--tone-3")],
    },
    (u, i) => [1, 2, 3].map((k) => count((u.data[k][i] ?? 0) - (u.data[k + 1]?.[i] ?? 0))),
  );

  const noWindow = h("p", { class: "aside" });
  at("rules").prepend(noWindow);

  let length = 60;
  let chosen = false; // by the reader; until then as long as what there is to see
  const picker = h(
    "fieldset",
    { class: "ranges" },
    h("legend", { class: "unseen" }, "Time shown in the two charts by second"),
    RANGES.map(([span, name]) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: "range",
          value: span,
          checked: span === length,
          onchange: () => {
            [length, chosen] = [span, true];
            latest && draw(latest);
          },
        }),
        h("span", {}, name),
      ),
    ),
  );
  at("rates-title").after(picker);

  let latest = null;
  function draw(history) {
    latest = history;
    if (!chosen) {
      length = history.age <= 60 ? 60 : 300;
      picker.querySelector(`[value="${length}"]`).checked = true;
    }
    const [x, transactions, alerts, p50, p95, p99] = history.columns(length);
    rates.set([x, transactions, alerts]);
    const { first, warm_up_s } = history.now.latency;
    warmUp = first === null ? null : [first, first + warm_up_s];
    shade.hidden = !warmUp || warmUp[1] < x[0];
    latency.set([x, p50, p95, p99]);
    const minutes = history.now.windows.minutes;
    say(noWindow, minutes.length ? "" : NO_WINDOW);
    const [time, hits] = byMinute(minutes, history.now.at);
    rules.set([time, hits.map(([v, a, l]) => v + a + l), hits.map(([, a, l]) => a + l), hits.map(([, , l]) => l)]);
  }

  document.documentElement.addEventListener("theme", paint);
  paint();
  return draw;
}
