// What is drawn over the image: rings, beam, reflections, values of pixels.

import {aim, cone} from './geometry.js';

const ROUND = [100, 50, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3.5, 3, 2.5, 2.2, 2, 1.8, 1.6, 1.5, 1.4, 1.3,
  1.2, 1.1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];
const ARCS = 360;
const ROOM = 70; // CSS pixels between rings
const LATTICES = ['#d97a00', '#00868b', '#b0208f', '#4d8a00', '#5a50d6', '#b23b1e'];

// Draws a text that can be read on any ground.
function write(c, text, x, y) {
  c.strokeText(text, x, y);
  c.fillText(text, x, y);
}

function ringPoints(stream, toScreen, twoTheta) {
  const points = [];
  for (let i = 0; i <= ARCS; i++) {
    const at = aim(stream.shown, stream.beam, cone(stream.beam, twoTheta, 2 * Math.PI * i / ARCS));
    points.push(at && toScreen(at[0], at[1]));
  }
  return points;
}

function drawRing(c, points, size) {
  c.beginPath();
  let drawn = false;
  points.forEach((p, i) => {
    const last = points[i - 1];
    if (p && last) { if (!drawn) c.moveTo(...last); c.lineTo(...p); drawn = true; } else drawn = false;
  });
  c.stroke();
  return points.find((p, i) => i % 15 === 0 && p && p[0] > 20 && p[1] > 20 && p[0] < size[0] - 40 && p[1] < size[1] - 12);
}

function drawRings(c, stream, wavelength, toScreen, size) {
  const centre = aim(stream.shown, stream.beam, stream.beam);
  if (!centre) return;
  let last = 0;
  for (const d of ROUND) {
    const sine = wavelength / (2 * d);
    if (sine >= 0.999) break;
    const points = ringPoints(stream, toScreen, 2 * Math.asin(sine));
    const [x, y] = toScreen(...centre);
    const radius = points[0] ? Math.hypot(points[0][0] - x, points[0][1] - y) : Infinity;
    if (!(radius >= last + ROOM) || radius > 1e5) continue;
    last = radius;
    c.lineWidth = 1;
    c.setLineDash([5, 4]);
    c.strokeStyle = '#2a86d9';
    const label = drawRing(c, points, size);
    c.setLineDash([]);
    c.lineWidth = 3;
    c.strokeStyle = 'rgba(255,255,255,.85)';
    c.fillStyle = '#0b5aa6';
    if (label) write(c, `${d} Å`, label[0] - 12, label[1] + 4);
  }
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
    c.strokeStyle = LATTICES[m.lattice % LATTICES.length];
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    c.stroke();
    if (scale >= 6) {
      c.fillStyle = c.strokeStyle;
      c.fillText(m.hkl.join(' '), x + radius + 2, y - 4);
    }
  }
}

// The values of single pixels, where squares have room for them.
function drawValues(c, tile, scale, toScreen, size) {
  if (!tile || tile.factor !== 1 || scale < 30) return;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.lineWidth = 4;
  c.strokeStyle = '#fff';
  c.fillStyle = '#111';
  for (let y = 0; y < tile.height; y++)
    for (let x = 0; x < tile.width; x++) {
      const at = toScreen(tile.x + x + 0.5, tile.y + y + 0.5);
      if (at[0] < 0 || at[1] < 0 || at[0] > size[0] || at[1] > size[1]) continue;
      write(c, shorten(tile.values[y * tile.width + x]), ...at);
    }
  c.textAlign = 'start';
  c.textBaseline = 'alphabetic';
}

// A value in a few letters.
export function shorten(value) {
  if (Number.isInteger(value)) return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : 'none';
}

// Draws all that `what` asks for.  Sizes and places are CSS pixels.
export function drawMarks(c, what) {
  const {size, stream, toScreen} = what;
  c.clearRect(0, 0, size[0], size[1]);
  c.font = '12px system-ui, sans-serif';
  drawValues(c, what.tile, what.scale, toScreen, size);
  if (what.rings && what.wavelength > 0) drawRings(c, stream, what.wavelength, toScreen, size);
  if (what.marks) drawReflections(c, what.marks, what.scale, toScreen, size);
  if (what.beam) drawBeam(c, stream, toScreen);
}
