// The model beside the rules, if the demo has one: how right both are, and the job that runs it.
import { h, say } from "./dom.js";
import { count, share } from "./format.js";
import { jobCard } from "./jobs.js";

const WHO = { rules: "the rules", model: "the model" };
const FIGURES = [
  ["precision", "of its alerts, how many are fraud", (score) => share(score.precision)],
  ["recall", "of the frauds, how many it finds", (score) => share(score.recall)],
  ["alerts", "", (score) => count(score.alerts)],
];

export function makeModel(panel, place, order) {
  const card = jobCard("learn", order);
  const cells = {};
  const row = (who) => {
    cells[who] = FIGURES.map(() => ({ all: h("b", {}, "–"), newest: h("span", {}, "–") }));
    return h("tr", {}, h("th", { scope: "row" }, WHO[who]), cells[who].map(({ all, newest }) => h("td", {}, all, " ", newest)));
  };
  const heads = FIGURES.map(([name, title]) => h("th", { scope: "col", title }, name));
  const table = h(
    "table",
    { class: "scores" },
    h("thead", {}, h("tr", {}, h("td", {}), heads)),
    h("tbody", {}, Object.keys(WHO).map(row)),
  );
  const note = h("p", { class: "aside" });
  const content = h("div", { class: "beside" }, h("div", { class: "wide" }, table, note), card.element);

  return ({ model, jobs, can_kill }) => {
    panel.hidden = !model;
    if (!model) return;
    if (!content.isConnected) place.append(content);
    const job = jobs.find(({ name }) => name === "learn");
    card.show(job, { measured: null, canKill: can_kill, lag: job?.lag });
    for (const who of Object.keys(WHO)) {
      cells[who].forEach(({ all, newest }, i) => {
        say(all, FIGURES[i][2](model[who]));
        say(newest, FIGURES[i][2](model[who].newest));
      });
    }
    say(
      note,
      model.scored
        ? `Of ${count(model.scored)} decisions ${count(model.frauds)} were fraud. Small: the newest ${count(model.newest)}. The model says what it takes each for, is then told what it was, and learns. It is told at once; a bank knows weeks later.`
        : "The model has not scored a decision yet.",
    );
  };
}
