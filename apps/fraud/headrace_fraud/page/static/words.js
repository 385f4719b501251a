// What is said in more than one place, and the evidence of a decision in words. What broke a limit is never rounded onto it; "twice" is 1.95 to 2.05 times.
import { amount, count, oneDecimal } from "./format.js";

export const RULES = ["velocity", "amount", "location"];
export const NO_WINDOW = "The first window is not written yet.";

export function gap(s) {
  if (s === null || s === undefined) return "soon after another";
  const after = s < 0 ? "before the previous" : "after the previous";
  const size = Math.abs(s);
  if (size < 0.0005) return "at the same moment as the previous";
  if (size < 1) return `${count(Math.max(1, size * 1000))} ms ${after}`;
  return `${oneDecimal(size)} s ${after}`;
}

export function ratio(now, before) {
  if (!(before > 0)) return "above the old maximum";
  const times = now / before;
  if (times < 1.01) return `just above the old maximum of ${amount(before)}`;
  if (times < 1.95) return `${count((times - 1) * 100)} % above the old maximum`;
  if (times < 2.05) return "twice the old maximum";
  if (times < 9.95) {
    const tenth = oneDecimal(times);
    return `${{ 3: "three", 4: "four", 5: "five" }[tenth] ?? tenth} times the old maximum`;
  }
  return `${count(times)} times the old maximum`;
}

export function distance(km) {
  if (km === null || km === undefined) return "far from the phone";
  return `${km < 110 ? oneDecimal(Math.ceil(km * 10) / 10) : count(km)} km from the phone`;
}

// [[rule, words], …] for the rules that a decision broke, in their order.
export function evidence(decision) {
  const words = {
    velocity: () => gap(decision.gap_s),
    amount: () => ratio(decision.amount, decision.previous_max),
    location: () => distance(decision.distance_km),
  };
  return (decision.rules ?? []).map((rule) => [rule, words[rule] ? words[rule]() : ""]);
}
