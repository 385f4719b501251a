// What this page remembers between two events, in the bounds that the server has too.
const SECONDS = 15 * 60;
const ALERTS = 500;

export class History {
  #rows = new Map(); // second -> [second, transactions, alerts, p50, p95, p99]

  constructor() {
    this.alerts = []; // newest first
    this.letters = [];
    this.now = null;
  }

  replace(state) {
    this.#rows = new Map();
    this.alerts = [];
    this.letters = [];
    this.add(state);
  }

  add(news) {
    for (const row of news.seconds) this.#rows.set(row[0], row);
    const oldest = Math.floor(news.at) - SECONDS;
    for (const second of this.#rows.keys()) if (second < oldest) this.#rows.delete(second);

    const newest = this.alerts[0]?.n ?? 0;
    const fresh = news.alerts.filter((alert) => alert.n > newest).reverse();
    this.alerts = [...fresh, ...this.alerts].slice(0, ALERTS);

    const read = this.letters[0]?.n ?? 0;
    this.letters = [...news.letters.newest.filter((letter) => letter.n > read), ...this.letters].slice(0, 50);
    this.now = news;
    return fresh;
  }

  // Columns for a chart: every second of the last `length`, whole ones only, with gaps where nothing was read.
  columns(length) {
    const end = Math.floor(this.now.at) - 1;
    const columns = [[], [], [], [], [], []];
    const first = Math.min(...this.#rows.keys());
    for (let second = end - length + 1; second <= end; second += 1) {
      const row = this.#rows.get(second);
      columns[0].push(second);
      for (let i = 1; i <= 2; i += 1) columns[i].push(row ? row[i] : second >= first ? 0 : null);
      for (let i = 3; i <= 5; i += 1) columns[i].push(row ? row[i] : null);
    }
    return columns;
  }

  // Seconds since the first that is remembered.
  get age() {
    return this.#rows.size ? this.now.at - Math.min(...this.#rows.keys()) : 0;
  }

  // Seconds until latencies count as those of the steady state; null before the first decision.
  get warmUpLeft() {
    const { first, warm_up_s } = this.now.latency;
    return first === null ? null : Math.max(0, Math.ceil(first + warm_up_s - this.now.at));
  }

  // The mean of a column (1 transactions, 2 alerts) over the last whole seconds.
  mean(column, length = 3) {
    const values = this.columns(length)[column].map((value) => value ?? 0);
    return values.reduce((sum, value) => sum + value, 0) / length;
  }
}
