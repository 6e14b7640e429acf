// Draws the marks over the image: rings, beam, reflections, values of pixels.

import {isDark} from './colors.js';
import {aim, cone} from './geometry.js';

const ROUND = [100, 50, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3.5, 3, 2.5, 2.2, 2, 1.8, 1.6, 1.5, 1.4, 1.3,
  1.2, 1.1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];
const ARCS = 360; // lines that a ring is drawn with
const ROOM = 70; // CSS pixels between rings that the page chooses
const LATTICES = ['#d97a00', '#00868b', '#b0208f', '#4d8a00', '#5a50d6', '#b23b1e'];

// Colours of rings: on light and on dark images.
const RINGS = [
  {line: '#2a86d9', text: '#0b5aa6', ground: 'rgba(255, 255, 255, .88)'},
  {line: '#3d9bf0', text: '#bfe0ff', ground: 'rgba(10, 20, 30, .8)'},
];

export const latticeColor = (lattice) => LATTICES[lattice % LATTICES.length];

// Formats a resolution with at least one decimal, as previews do.
export const formatResolution = (d) => Number.isInteger(d) ? d.toFixed(1) : String(Number(d.toPrecision(4)));

// Reads a list of resolutions in Å, separated by commas or spaces.  Returns null if it is malformed.
export function readRings(text) {
  const words = text.split(/[\s,;]+/).filter((word) => word);
  const rings = words.map((word) => /^\d*\.?\d+$|^\d+\.$/.test(word) ? Number(word) : NaN);
  return rings.every((d) => d > 0 && d <= 10000) ? rings : null;
}

function ringPoints(stream, toScreen, twoTheta) {
  const points = [];
  for (let i = 0; i <= ARCS; i++) {
    const at = aim(stream.shown, stream.beam, cone(stream.beam, twoTheta, 2 * Math.PI * i / ARCS));
    points.push(at && toScreen(at[0], at[1]));
  }
  return points;
}

function drawLine(c, points) {
  c.beginPath();
  let drawn = false;
  points.forEach((p, i) => {
    const last = points[i - 1];
    if (p && last) { if (!drawn) c.moveTo(...last); c.lineTo(...p); drawn = true; } else drawn = false;
  });
  c.stroke();
}

// Writes the label of a ring on a ground of its own, so that it does not touch the line.
function labelRing(c, points, size, text, colors) {
  const at = points.find((p, i) => i % 15 === 0 && p && p[0] > 20 && p[1] > 20 && p[0] < size[0] - 40 && p[1] < size[1] - 12);
  if (!at) return;
  const width = c.measureText(text).width;
  c.fillStyle = colors.ground;
  c.beginPath();
  c.roundRect(at[0] - width / 2 - 4, at[1] - 9, width + 8, 17, 4);
  c.fill();
  c.fillStyle = colors.text;
  c.fillText(text, at[0] - width / 2, at[1] + 4);
}

// Selects rings at round resolutions with room between them, as {d, points}.
function chooseRings(what, centre) {
  const {stream, wavelength, toScreen} = what;
  const [x, y] = toScreen(...centre);
  const chosen = [];
  let last = 0;
  for (const d of ROUND) {
    const sine = wavelength / (2 * d);
    if (sine >= 0.999) break;
    const points = ringPoints(stream, toScreen, 2 * Math.asin(sine));
    const radius = points[0] ? Math.hypot(points[0][0] - x, points[0][1] - y) : Infinity;
    if (!(radius >= last + ROOM) || radius > 1e5) continue;
    last = radius;
    chosen.push({d, points});
  }
  return chosen;
}

function drawRings(c, what) {
  const {stream, wavelength, toScreen, size} = what;
  const centre = aim(stream.shown, stream.beam, stream.beam);
  if (!centre) return;
  const wanted = what.rings.filter((d) => wavelength < 2 * d);
  const rings = what.rings.length
    ? wanted.map((d) => ({d, points: ringPoints(stream, toScreen, 2 * Math.asin(wavelength / (2 * d)))}))
    : chooseRings(what, centre);
  const colors = RINGS[what.dark ? 1 : 0];
  c.lineWidth = 1;
  c.setLineDash([5, 4]);
  c.strokeStyle = colors.line;
  for (const ring of rings) drawLine(c, ring.points);
  c.setLineDash([]);
  for (const ring of rings) labelRing(c, ring.points, size, `${formatResolution(ring.d)} Å`, colors);
  return rings.map((ring) => formatResolution(ring.d)).join(' ');
}

function drawBeam(c, stream, toScreen) {
  const centre = aim(stream.shown, stream.beam, stream.beam);
  if (!centre) return;
  const [x, y] = toScreen(...centre);
  for (const [width, color] of [[4, 'rgba(255,255,255,.85)'], [2, '#0a7d32']]) {
    c.lineWidth = width;
    c.strokeStyle = color;
    c.beginPath();
    c.moveTo(x - 9, y); c.lineTo(x + 9, y);
    c.moveTo(x, y - 9); c.lineTo(x, y + 9);
    c.stroke();
  }
}

function drawReflections(c, marks, scale, toScreen, size) {
  const radius = Math.max(5, 1.5 * scale);
  c.lineWidth = 1.5;
  for (const m of marks) {
    const [x, y] = toScreen(m.x, m.y);
    if (x < -radius || y < -radius || x > size[0] + radius || y > size[1] + radius) continue;
    c.strokeStyle = latticeColor(m.lattice);
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    c.stroke();
    if (scale >= 6) {
      c.fillStyle = c.strokeStyle;
      c.fillText(m.hkl.join(' '), x + radius + 2, y - 4);
    }
  }
}

// Writes the values of single pixels if there is room: white on dark pixels, black on light ones.
function drawValues(c, what) {
  const {tile, scale, toScreen, size, pixels} = what;
  if (!tile || tile.factor !== 1 || scale < 30) return;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  for (let y = 0; y < tile.height; y++)
    for (let x = 0; x < tile.width; x++) {
      const at = toScreen(tile.x + x + 0.5, tile.y + y + 0.5);
      if (at[0] < 0 || at[1] < 0 || at[0] > size[0] || at[1] > size[1]) continue;
      const i = y * tile.width + x;
      c.fillStyle = isDark(pixels[i]) ? '#fff' : '#111';
      c.fillText(shorten(tile.values[i]), ...at);
    }
  c.textAlign = 'start';
  c.textBaseline = 'alphabetic';
}

// Formats a value with at most four significant digits; whole numbers keep all of them.
export function shorten(value) {
  if (Number.isInteger(value)) return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : 'none';
}

// Draws the marks that `what` asks for; sizes and positions are in CSS pixels.  what.rings is null for
// no rings, empty if the page chooses them, or a list of resolutions in Å.  Returns the resolutions of
// the drawn rings as a text.
export function drawMarks(c, what) {
  const {size, stream, toScreen} = what;
  c.clearRect(0, 0, size[0], size[1]);
  c.font = '12px system-ui, sans-serif';
  drawValues(c, what);
  const rings = what.rings && what.wavelength > 0 ? drawRings(c, what) : '';
  if (what.marks) drawReflections(c, what.marks, what.scale, toScreen, size);
  if (what.beam) drawBeam(c, stream, toScreen);
  return rings ?? '';
}
