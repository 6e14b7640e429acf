// The history of the stream: lines of the frame rate, the hits and the brightness.

const KEPT = 300; // maximum number of points of a line
let points = []; // {rate, hits, brightness}
let last = null; // the last `frames` message that made a point

// Adds the point between two messages, each {time, came, hits, brightness} with totals up to `time`.
function addPoint(from, to) {
  const [seconds, came] = [to.time - from.time, to.came - from.came];
  points.push({rate: came / seconds, hits: 100 * (to.hits - from.hits) / came, brightness: to.brightness});
  if (points.length > KEPT) points.shift();
}

// Takes a `frames` message.  A point needs at least half a second.
export function takePoint(frames) {
  if (last && (frames.came < last.came || frames.time < last.time)) { points = []; last = null; }
  if (!last) { last = frames; return; }
  if (frames.time - last.time < 0.5 || frames.came <= last.came) return;
  addPoint(last, frames);
  last = frames;
}

// Takes the history of a whole stream, which arrives with its end: a list of [time, came, hits,
// brightness] with totals.
export function takeHistory(list) {
  const all = list.map(([time, came, hits, brightness]) => ({time, came, hits, brightness}));
  if (all.length <= points.length) return;
  points = [];
  all.forEach((to, i) => {
    const from = all[i - 1];
    if (from && to.time > from.time && to.came > from.came) addPoint(from, to);
  });
}

function draw(svg, className, d) {
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', d);
  if (className) path.setAttribute('class', className);
  svg.append(path);
}

function line(name, unit, values, digits, ended) {
  const most = Math.max(...values, 1e-30);
  const figure = document.createElement('figure');
  const caption = document.createElement('figcaption');
  caption.textContent = values.length
    ? `${name} ${values.at(-1).toFixed(digits)} ${unit}, maximum ${most.toFixed(digits)}`
    : `${name}: ${ended ? 'the stream was too short' : 'no data yet'}`;
  figure.append(caption);
  if (!values.length) return figure;
  const shown = values.length > 1 ? values : [values[0], values[0]]; // one value is a level line
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', `0 0 ${shown.length - 1} 40`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', caption.textContent);
  const path = shown.map((v, i) => `${i ? 'L' : 'M'}${i} ${38 - 36 * v / most}`).join('');
  draw(svg, 'area', `${path}V40H0Z`);
  draw(svg, '', path);
  figure.append(svg);
  return figure;
}

// Shows the lines in `section`; `unit` is that of pixels.
export function showStrip(section, unit, ended) {
  section.replaceChildren(
    line('Rate', 'frames/s', points.map((p) => p.rate), 1, ended), line('Hits', '%', points.map((p) => p.hits), 0, ended),
    line('Brightness', `${unit} per pixel`, points.map((p) => p.brightness), 2, ended));
}
