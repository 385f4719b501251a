// Numbers and times as they are read here. Tabular figures do the rest.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const NONE = "–";

const none = (value) => value === null || value === undefined || !Number.isFinite(value);

export const count = (n) => (none(n) ? NONE : whole.format(n));
export const amount = (n) => (none(n) ? NONE : money.format(n));
export const oneDecimal = (n) => tenths.format(n);

// 1,204 · 120 k · 3.4 M: at most five characters, for narrow places.
export function short(n) {
  if (none(n)) return NONE;
  if (n < 10_000) return whole.format(n);
  if (n < 1_000_000) return `${whole.format(n / 1000)} k`;
  return `${tenths.format(n / 1_000_000)} M`;
}

export function rate(n) {
  if (none(n)) return NONE;
  return n > 0 && n < 10 ? `${tenths.format(n)}/s` : `${whole.format(n)}/s`;
}

export const share = (n) => (none(n) ? NONE : `${whole.format(n * 100)} %`);

export function millis(ms) {
  if (none(ms)) return NONE;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  return seconds(ms / 1000);
}

export function seconds(n) {
  if (none(n)) return NONE;
  if (n < 10) return `${n.toFixed(1)} s`;
  if (n < 120) return `${whole.format(n)} s`;
  if (n < 7200) return `${whole.format(n / 60)} min`;
  return `${tenths.format(n / 3600)} h`;
}

export function bytes(n) {
  if (none(n)) return NONE;
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${n < 10 && unit ? n.toFixed(1) : whole.format(n)} ${units[unit]}`;
}

// Event times are UTC everywhere: in the records, in the windows, and here.
export const clock = (ts) => (typeof ts === "string" ? ts.slice(11, 19) : NONE);
export const exactClock = (ts) => (typeof ts === "string" ? ts.slice(11, 23).replace("Z", "") : NONE);
export const day = (ts) => (typeof ts === "string" ? ts.slice(0, 10) : NONE);
