// The connection: history first, then one event a second; and when it breaks, again from the start.
const SILENT = 6000;

export function connect({ history, event, link }) {
  let source = null;
  let waiting = []; // events that came while the history was under way
  let ready = false;
  let last = Date.now();

  async function load() {
    ready = false;
    const answer = await fetch("/api/state");
    if (!answer.ok) throw new Error(String(answer.status));
    history(await answer.json());
    waiting.splice(0).forEach(event);
    ready = true;
    link("live");
  }

  function open() {
    waiting = [];
    source = new EventSource("/events");
    // After a restart of the server everything is read anew: its history is complete, and ours may have a gap.
    source.onopen = () => {
      last = Date.now();
      load().catch(() => again());
    };
    source.onmessage = (message) => {
      last = Date.now();
      const said = JSON.parse(message.data);
      if (ready) event(said);
      else waiting.push(said);
    };
    source.onerror = () => {
      ready = false;
      link("lost");
      if (source.readyState === EventSource.CLOSED) again();
    };
  }

  // The browser tries again by itself when a connection breaks, but not when the server said no.
  async function again() {
    source.close();
    link("lost");
    try {
      const answer = await fetch("/api/state", { method: "HEAD" });
      if (answer.status === 403) link("refused");
    } catch {
      /* nobody there yet */
    }
    setTimeout(open, 1500);
  }

  setInterval(() => {
    if (ready && Date.now() - last > SILENT) {
      last = Date.now();
      ready = false;
      again();
    }
  }, 1000);
  open();
}

export async function order(job, verb) {
  const answer = await fetch(`/api/jobs/${encodeURIComponent(job)}/${verb}`, { method: "POST", headers: { "X-Headrace": "1" } });
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Error([said.error ?? `The server answered ${answer.status}.`, said.fix].filter(Boolean).join(" "));
  }
}
