// The course of the stream: rate, hits and brightness of the last minutes as lines.

const KEPT = 300; // points of a line
const points = []; // {time, rate, hits, brightness}
let last = null;

// Takes what a `frames` message says.
export function takePoint(frames) {
  if (last && (frames.came < last.came || frames.time < last.time)) { points.length = 0; last = null; }
  if (!last) { last = frames; return; }
  const [seconds, came] = [frames.time - last.time, frames.came - last.came];
  if (seconds < 0.5 || came < 1) return;
  points.push({rate: came / seconds, hits: 100 * (frames.hits - last.hits) / came, brightness: frames.brightness});
  if (points.length > KEPT) points.shift();
  last = frames;
}

function line(name, unit, values, digits) {
  const most = Math.max(...values, 1e-30);
  const figure = document.createElement('figure');
  const caption = document.createElement('figcaption');
  caption.textContent = values.length ? `${name} ${values.at(-1).toFixed(digits)} ${unit}, up to ${most.toFixed(digits)}` : `${name}: nothing yet`;
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', `0 0 ${Math.max(1, values.length - 1)} 40`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', caption.textContent);
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', values.map((v, i) => `${i ? 'L' : 'M'}${i} ${38 - 36 * v / most}`).join(''));
  svg.append(path);
  figure.append(caption, svg);
  return figure;
}

// Shows the lines in `section`.
export function showStrip(section, unit) {
  section.replaceChildren(
    line('Rate', 'frames/s', points.map((p) => p.rate), 1), line('Hits', '%', points.map((p) => p.hits), 0),
    line('Brightness', `${unit} in a pixel`, points.map((p) => p.brightness), 2));
}
