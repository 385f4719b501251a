// Points in an equirectangular projection true to scale at their middle latitude, over the land, with a graticule and a bar of kilometres.
import { h, s } from "./dom.js";
import { amount, exactClock } from "./format.js";
import { LAND } from "./vendor/natural-earth-4.1.0/land-110m.js";

const W = 640;
const H = 400;
const EDGE = 34;
const KM = 111.195; // a degree of latitude, on a sphere of 6371.0088 km
const CITY = 3; // degrees of latitude: what is lower shows no coast that one would know
const AROUND = 24; // degrees in the small map
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45];
const BARS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

export function drawMap(place, { transactions, places }) {
  const spent = transactions.filter((t) => t.lat !== null);
  const points = [...spent, ...places];
  if (!points.length) {
    place.replaceChildren(h("p", { class: "aside" }, "No place is known yet."));
    return;
  }
  const project = projection(points);
  const dots = spent.map((t) => {
    const [x, y] = project(t);
    return s(
      "circle",
      { cx: x, cy: y, r: t.rules.length ? 5 : 3.5, class: t.rules.length ? "spent flagged" : "spent" },
      s("title", {}, `${exactClock(t.ts)}  ${amount(t.amount)}  ${t.merchant ?? ""}${t.rules.length ? `  (${t.rules.join(", ")})` : ""}`),
    );
  });
  const path = places
    .map((p) =>
      project(p)
        .map((v) => v.toFixed(1))
        .join(" "),
    )
    .join("L");
  const phones = places.map((p, i) => {
    const [x, y] = project(p);
    const last = i === places.length - 1;
    return s(
      "rect",
      {
        x: x - (last ? 5 : 2),
        y: y - (last ? 5 : 2),
        width: last ? 10 : 4,
        height: last ? 10 : 4,
        transform: `rotate(45 ${x} ${y})`,
        class: last ? "phone last" : "phone",
      },
      s("title", {}, `phone, ${exactClock(p.ts)}`),
    );
  });
  const label = `${spent.length} transactions, ${spent.filter((t) => t.rules.length).length} of them flagged, and ${places.length} places of the phone`;
  place.replaceChildren(
    s(
      "svg",
      { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label },
      land(project),
      graticule(project),
      path ? s("path", { d: `M${path}`, class: "way" }) : null,
      phones,
      dots,
      scale(project),
      inset(project, points),
    ),
    h(
      "p",
      { class: "legend" },
      h("span", {}, h("i", { class: "mark spent" }), "transaction"),
      h("span", {}, h("i", { class: "mark flagged" }), "flagged"),
      h("span", {}, h("i", { class: "mark phone" }), "the phone, last place filled"),
    ),
  );
}

// Around the points, with the date line moved away if that makes them closer to each other.
function projection(points) {
  const spread = (values) => Math.max(...values) - Math.min(...values);
  const turned = points.map((p) => (p.lon < 0 ? p.lon + 360 : p.lon));
  const turn = spread(turned) < spread(points.map((p) => p.lon));
  const east = (lon) => (turn && lon < 0 ? lon + 360 : lon);
  const lons = points.map((p) => east(p.lon));
  const lats = points.map((p) => p.lat);
  const lat0 = (Math.max(...lats) + Math.min(...lats)) / 2;
  const lon0 = (Math.max(...lons) + Math.min(...lons)) / 2;
  const shrink = Math.max(0.1, Math.cos((lat0 * Math.PI) / 180));
  const perDegree = Math.min((W - 2 * EDGE) / Math.max(0.05, spread(lons) * shrink), (H - 2 * EDGE) / Math.max(0.05, spread(lats)));
  const project = ({ lat, lon }) => [W / 2 + (east(lon) - lon0) * shrink * perDegree, H / 2 - (lat - lat0) * perDegree];
  return Object.assign(project, { lat0, lon0, shrink, perDegree });
}

// The projection is linear, so the path of all land needs only to be moved and scaled; once more to the east and to the west, since the date
// line may be anywhere in the picture.
function land({ lat0, lon0, shrink, perDegree }, width = W, height = H) {
  const [x, y] = [(shrink * perDegree) / 10, -perDegree / 10];
  const worlds = [-3600, 0, 3600].map((east) =>
    s("path", { d: LAND, transform: `translate(${width / 2} ${height / 2})scale(${x} ${y})translate(${east - lon0 * 10} ${-lat0 * 10})` }),
  );
  return s("g", { class: "land", "aria-hidden": "true" }, worlds);
}

// Within a city all is land, or all is sea: then a small map shows which coasts it lies between, in the corner that hides the fewest points.
function inset(project, points) {
  const { lat0, lon0, shrink, perDegree } = project;
  if (H / perDegree > CITY) return null;
  const [width, height] = [W / 4, H / 4];
  const corners = [
    [W - width - 8, H - height - 8],
    [8, H - height - 8],
    [8, 8],
  ];
  const hidden = ([left, top]) =>
    points.map(project).filter(([x, y]) => x > left - 8 && x < left + width + 8 && y > top - 8 && y < top + height + 8).length;
  const [x, y] = corners.reduce((best, corner) => (hidden(corner) < hidden(best) ? corner : best));
  return s(
    "svg",
    { x, y, width, height, class: "inset", "aria-hidden": "true" },
    s("rect", { width, height }),
    land({ lat0, lon0, shrink, perDegree: height / AROUND }, width, height),
    s("path", { d: `M${width / 2 - 5} ${height / 2}h10m-5-5v10`, class: "here" }),
    s("rect", { width, height, class: "frame" }),
  );
}

function graticule({ lat0, lon0, shrink, perDegree }) {
  const lines = [];
  const apart = (size) => STEPS.find((degrees) => degrees * size >= 90) ?? 45;
  const high = apart(perDegree);
  const wide = apart(perDegree * shrink);
  const name = (degrees, step, positive, negative) =>
    `${Math.abs(degrees).toFixed(step < 1 ? (step < 0.1 ? 2 : 1) : 0)}° ${degrees < 0 ? negative : positive}`;
  const range = (middle, half, width) => {
    const found = [];
    for (let i = Math.ceil((middle - half) / width); i * width <= middle + half; i += 1) found.push(i * width);
    return found;
  };
  for (const lat of range(lat0, H / 2 / perDegree, high)) {
    if (Math.abs(lat) > 90) continue;
    const y = H / 2 - (lat - lat0) * perDegree;
    lines.push(s("path", { d: `M0 ${y}H${W}`, class: "grid" }), s("text", { x: 4, y: y - 3 }, name(lat, high, "N", "S")));
  }
  for (const lon of range(lon0, W / 2 / perDegree / shrink, wide)) {
    const x = W / 2 + (lon - lon0) * shrink * perDegree;
    const shown = lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon;
    lines.push(
      s("path", { d: `M${x} 0V${H}`, class: "grid" }),
      x > W - 50 ? null : s("text", { x: x + 3, y: H - 5 }, name(shown, wide, "E", "W")),
    );
  }
  return lines;
}

function scale({ perDegree }) {
  const perKm = perDegree / KM;
  const km = BARS.findLast((length) => length * perKm <= W / 4) ?? 1;
  const length = km * perKm;
  const [x, y] = [W - 12 - length, 18];
  return s(
    "g",
    { class: "scale" },
    s("path", { d: `M${x} ${y - 4}v4h${length}v-4` }),
    s("text", { x: x + length / 2, y: y - 6, "text-anchor": "middle" }, `${km} km`),
  );
}
