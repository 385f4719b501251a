// How land-110m.js was made: npm pack world-atlas@2.0.2, tar xf world-atlas-2.0.2.tgz, node make.mjs package/land-110m.json > land-110m.js
import { readFileSync } from "node:fs";

const { objects, arcs, transform } = JSON.parse(readFileSync(process.argv[2]));

// TopoJSON: an arc's points are differences in steps of `scale`; arc ~i is arc i backwards.
const lines = arcs.map((arc) => {
  const at = [0, 0];
  return arc.map((step) => step.map((size, axis) => (at[axis] += size) * transform.scale[axis] + transform.translate[axis]));
});
const line = (i) => (i < 0 ? [...lines[~i]].reverse() : lines[i]);

function ring(numbers) {
  const points = numbers.flatMap((i, n) => line(i).slice(n ? 1 : 0));
  let turns = 0; // across the date line a ring goes on beyond 180 degrees, instead of to the other end of the map
  const whole = points.map(([lon, lat], n) => {
    const step = n ? lon - points[n - 1][0] : 0;
    turns += step > 180 ? -360 : step < -180 ? 360 : 0;
    return [lon + turns, lat];
  });
  if (turns) whole.push([whole.at(-1)[0], -90], [whole[0][0], -90]); // around the South Pole
  const lons = whole.map(([lon]) => lon);
  const home = 360 * Math.round((Math.min(...lons) + Math.max(...lons)) / 720);
  return whole.map(([lon, lat]) => [Math.round((lon - home) * 10), Math.round(lat * 10)]);
}

function path([first, ...others]) {
  let from = first;
  const steps = others.map((point) => {
    const step = [point[0] - from[0], point[1] - from[1]];
    from = point;
    return step;
  });
  const moved = steps.filter(([x, y]) => x || y);
  const text = moved.map((step) => step.map((n) => (n < 0 ? n : ` ${n}`)).join("")).join("");
  return moved.length < 3 ? "" : `M${first.join(" ")}l${text.trim()}z`;
}

const rings = objects.land.geometries.flatMap((shape) => shape.arcs.flat().map(ring));
console.log(`// The land of Natural Earth 4.1.0, 1:110m, public domain: an SVG path in tenths of a degree, east and north. See LICENSE and make.mjs.
export const LAND = \`
${rings.map(path).filter(Boolean).join("\n")}
\`;`);
