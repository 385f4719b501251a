import { makeAlerts } from "./alerts.js";
import { makeCharts } from "./charts.js";
import { showCustomer } from "./customer.js";
import { at, say } from "./dom.js";
import { count } from "./format.js";
import { makeFlow } from "./flow.js";
import { History } from "./history.js";
import { makeFigures, makeLetters, makeMerchants } from "./lists.js";
import { makeModel } from "./model.js";
import { connect, order } from "./stream.js";
import { makeSums } from "./sums.js";

const history = new History();
const charts = makeCharts();
const flow = makeFlow(at("flow"), order);
const sums = makeSums(at("sums"));
const model = makeModel(at("model-panel"), at("model"), order);
const figures = makeFigures(at("figures"));
const merchants = makeMerchants(at("merchants"));
const letters = makeLetters(at("letters"));
const alerts = makeAlerts(at("alerts"));

function customerShown() {
  const name = /^#\/customer\/(.+)$/.exec(location.hash)?.[1];
  try {
    return name && decodeURIComponent(name);
  } catch {
    return name;
  } // an address that somebody typed
}

const BEFORE = new Set(["starting", "rehearsing"]);
const STARTING =
  "Starting. Each job first works on made-up records, which count nowhere, so that it is warm when the first transaction comes.";

function draw() {
  if (document.hidden || customerShown() || !history.now) return;
  figures(history);
  flow(history.now);
  sums(history.now);
  model(history.now);
  charts(history);
  merchants(history.now);
  letters(history);
  note(at("starting"), history.now.totals.sent === 0 && history.now.jobs.some(({ state }) => BEFORE.has(state)) ? STARTING : "");
  const unread = Object.values(history.now.topics).reduce((sum, topic) => sum + (topic.unread ?? 0), 0);
  say(
    at("foot"),
    `Latency: from the card reader's clock to the decision read back, percentiles to within 1 %. Times are UTC. This page is ${unread > 2000 ? `reading ${count(unread)} older records` : "up to date"}.`,
  );
}

let stopCustomer = null;
function route() {
  const name = customerShown();
  stopCustomer?.();
  stopCustomer = null;
  at("overview").hidden = Boolean(name);
  at("customer").hidden = !name;
  if (name) stopCustomer = showCustomer(at("customer"), name);
  else draw();
}

const LINKS = {
  live: ["live", ""],
  lost: ["not connected", "Connection lost, trying again…"],
  refused: ["refused", "The server was started again with another link. Copy the new one from its terminal."],
};

let broken = ""; // the connection to the server, who cannot say then how its reading goes

function tell() {
  const { away, odd } = history.now?.reading ?? {};
  const help =
    "See whether the broker runs (headrace kafka status) and has the topics. This page goes on by itself as soon as they can be read.";
  note(at("banner"), broken || (away ? `The topics cannot be read: ${away}. ${help}` : ""));
  note(at("odd"), odd ? `Left out: ${odd}` : "");
}

function note(element, text) {
  say(element, text);
  element.hidden = !text;
}

connect({
  history(state) {
    history.replace(state);
    alerts.replace(history);
    tell();
    draw();
  },
  event(news) {
    const fresh = history.add(news);
    alerts.add(fresh);
    tell();
    draw();
  },
  link(state) {
    let word;
    [word, broken] = LINKS[state];
    at("link").dataset.state = state;
    say(at("link"), word);
    tell();
  },
});
addEventListener("hashchange", () => {
  route();
  at("main").focus({ preventScroll: true });
  scrollTo(0, 0);
});
document.addEventListener("visibilitychange", draw);
route();
