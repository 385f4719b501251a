// A job: what it does now, and the buttons that stop, start and kill it.
import { h, say } from "./dom.js";
import { bytes, count, millis, seconds, short } from "./format.js";

const STARTABLE = new Set(["stopped", "failed"]);
const STOPPABLE = new Set(["running", "starting", "rehearsing", "restarting"]);
const RECENT = 60; // seconds for which "back after" is worth saying

export function jobCard(name, order) {
  const field = (label, wide) => {
    const value = h("dd", {}, "–");
    return { row: h("div", { class: wide }, h("dt", {}, label), value), value };
  };
  const fields = {
    p50: field("p50"),
    p99: field("p99"),
    behind: field("behind"),
    state: field("state", "two"),
    checkpoint: field("checkpoint"),
  };
  const mode = h("span", { class: "mode" });
  const state = h("span", { class: "state" }, "–");
  const note = h("p", { class: "note", role: "status" });
  const toggle = h("button", { type: "button", onclick: () => act(toggle.dataset.verb) }, "Stop");
  const kill = h(
    "button",
    { type: "button", class: "danger", hidden: true, onclick: () => askKill(name, () => act("kill")) },
    "Kill the driver",
  );
  const element = h(
    "article",
    { class: "node job", "aria-label": `job ${name}` },
    h("h3", {}, h("span", { class: "name" }, name), " ", mode),
    state,
    h(
      "dl",
      {},
      Object.values(fields).map((f) => f.row),
    ),
    note,
    h("p", { class: "buttons" }, toggle, kill),
  );

  let shownSince = null;
  let back = null;

  async function act(verb) {
    delete element.dataset.problem;
    toggle.disabled = kill.disabled = true;
    try {
      await order(name, verb);
    } catch (problem) {
      element.dataset.problem = problem.message;
    } finally {
      toggle.disabled = kill.disabled = false;
    }
  }

  function show(job, { measured, canKill, lag }) {
    if (!job) {
      say(state, "not started");
      element.dataset.state = "stopped";
      toggle.hidden = true;
      return;
    }
    if (element.dataset.state !== job.state) delete element.dataset.problem; // what was refused then may be possible now
    element.dataset.state = job.state;
    say(mode, job.mode);
    say(state, job.state + (job.restarts ? ` · ${count(job.restarts)} ${job.restarts === 1 ? "restart" : "restarts"}` : ""));
    say(fields.p50.value, millis(measured ? measured.p50 : job.p50));
    say(fields.p99.value, millis(measured ? measured.p99 : job.p99));
    say(fields.state.value, job.state_rows ? `${short(job.state_rows)} rows · ${bytes(job.state_bytes)}` : "none");
    say(fields.checkpoint.value, job.checkpoint_s === null ? "–" : `${seconds(job.checkpoint_s)} ago`);
    say(fields.behind.value, short(lag));
    if (job.back_after_s !== back) {
      back = job.back_after_s;
      shownSince = Date.now();
    }
    const recovered = back !== null && Date.now() - shownSince < RECENT * 1000;
    say(
      note,
      job.down_s !== null
        ? `recovering… ${seconds(job.down_s)}`
        : recovered
          ? `back after ${seconds(back)}`
          : (job.message ?? element.dataset.problem ?? ""),
    );
    element.classList.toggle("recovering", job.down_s !== null);
    toggle.hidden = false;
    toggle.dataset.verb = STARTABLE.has(job.state) ? "start" : "stop";
    say(toggle, STARTABLE.has(job.state) ? "Start" : "Stop");
    toggle.setAttribute("aria-label", `${toggle.textContent} the job ${name}`);
    toggle.disabled = !STARTABLE.has(job.state) && !STOPPABLE.has(job.state);
    kill.hidden = !canKill;
    kill.disabled = job.state !== "running";
    kill.setAttribute("aria-label", `Kill the driver of the job ${name}`);
  }
  return { element, show };
}

function askKill(name, yes) {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "kill-title" },
    h("h2", { id: "kill-title" }, `Kill the driver of ${name}?`),
    h(
      "p",
      {},
      "Its process ends at once (SIGKILL), in the middle of its work, as in a crash. The supervisor notices and starts it again; the job goes on from its last checkpoint and repeats what it did since then.",
    ),
    h(
      "p",
      {},
      "Watch the sums under “Nothing lost”: what is in flight grows while it is away and shrinks when it is back, repeats are counted apart, and each transaction still ends in exactly one place.",
    ),
    h(
      "p",
      { class: "buttons" },
      h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Leave it"),
      h(
        "button",
        {
          type: "button",
          class: "danger",
          onclick: () => {
            dialog.close();
            yes();
          },
        },
        "Kill it",
      ),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
