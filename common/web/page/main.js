// The page: what is shown, what is asked of the server, what the controls do.

import {maps} from './colors.js';
import {panelAt, position, resolution} from './geometry.js';
import {contrast, maskOf, paint} from './image.js';
import {connect} from './link.js';
import {drawMarks, shorten} from './marks.js';
import {showPipeline} from './pipeline.js';
import {listen} from './pointer.js';
import {showStrip, takePoint} from './strip.js';

const BLOCKS_MAX = 1 << 22; // of a tile, as the server allows
const SCALE_MAX = 80;
/** @type {(id: string) => any} an element of the page */
const by = (id) => document.getElementById(id);
const canvas = by('image');
const overlay = by('overlay');
const painted = document.createElement('canvas'); // the tile, a pixel for each block

const state = {
  stream: null, frames: null, ended: null, pipeline: null,
  live: true, number: 0,          // follows the newest; else the frame that is shown
  x: 0, y: 0, scale: 1, fitted: true, // pixel at the left and top; CSS pixels for each
  tile: null, mask: null, marks: null,
  asked: false, stale: false,     // a tile is on its way; the view has moved since
  cursor: null,
};

// --- asking ------------------------------------------------------------------

const ratio = () => window.devicePixelRatio || 1;
const size = () => [canvas.clientWidth, canvas.clientHeight];

// What the screen shows, in blocks: no more than it has pixels, and than the server sends.
function region() {
  const {shown} = state.stream;
  const [width, height] = size();
  const cut = (from, to, pixels, factor) => {
    const first = Math.max(0, Math.floor(from / factor));
    return [first, Math.min(Math.ceil(pixels / factor), Math.ceil(to / factor)) - first];
  };
  for (let factor = Math.max(1, Math.ceil(1 / (state.scale * ratio()) - 1e-6)); ; factor++) {
    const [x, w] = cut(state.x, state.x + width / state.scale, shown.fastPixels, factor);
    const [y, h] = cut(state.y, state.y + height / state.scale, shown.slowPixels, factor);
    if (w <= 0 || h <= 0) return null;
    if (w * h <= BLOCKS_MAX) return `${x} ${y} ${w} ${h} ${factor}`;
  }
}

function ask() {
  if (!state.stream || !state.frames?.newest || document.hidden) return;
  const where = region();
  state.stale = state.asked && where !== null;
  if (state.asked || !where) return;
  state.asked = true;
  say(`tile ${state.live ? 0 : state.number} ${where} ${by('blocks').value}`);
}

function askMore(tile) {
  if (state.stream.masked && !maskOf(tile, state.mask))
    say(`mask ${tile.x} ${tile.y} ${tile.width} ${tile.height} ${tile.factor}`);
  if (by('truth').checked && state.marks?.number !== tile.number) say(`marks ${tile.number}`);
}

// --- drawing -----------------------------------------------------------------

let due = false;
function draw() {
  if (!due) requestAnimationFrame(() => { due = false; drawNow(); });
  due = true;
}

const toScreen = (x, y) => [(x - state.x) * state.scale, (y - state.y) * state.scale];

function fitCanvas(c) {
  const [width, height] = size().map((v) => Math.round(v * ratio()));
  if (c.width !== width || c.height !== height) { c.width = width; c.height = height; }
  const context = c.getContext('2d');
  context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  return context;
}

function drawNow() {
  const c = fitCanvas(canvas);
  const [width, height] = size();
  c.clearRect(0, 0, width, height);
  const {tile, stream} = state;
  if (!tile || !stream) return;
  const {shown} = stream;
  c.imageSmoothingEnabled = false;
  c.save();
  c.beginPath(); // blocks at the far edges may reach beyond the detector
  c.rect(...toScreen(0, 0), shown.fastPixels * state.scale, shown.slowPixels * state.scale);
  c.clip();
  const edge = tile.factor * state.scale;
  c.drawImage(painted, ...toScreen(tile.x * tile.factor, tile.y * tile.factor), tile.width * edge, tile.height * edge);
  c.restore();
  c.strokeStyle = '#8886';
  c.strokeRect(...toScreen(0, 0), shown.fastPixels * state.scale, shown.slowPixels * state.scale);
  const marks = by('truth').checked && state.marks?.number === tile.number ? state.marks.marks : null;
  drawMarks(fitCanvas(overlay), {
    size: [width, height], stream, tile, scale: state.scale, toScreen, wavelength: tile.wavelength,
    rings: by('rings').checked, beam: by('beam').checked,
    marks,
  });
  Object.assign(document.body.dataset, {x: state.x, y: state.y, scale: state.scale, marks: marks?.length ?? 0});
}

// The tile in its colours.
function color() {
  const {tile} = state;
  if (!tile) return;
  const mask = maskOf(tile, state.mask);
  if (by('auto').checked) {
    const {low, high} = contrast(tile, mask);
    by('low').value = shorten(low);
    by('high').value = shorten(high);
  }
  paint(painted, tile, mask, {
    map: maps[by('colors').value], low: Number(by('low').value), high: Number(by('high').value),
    log: by('scale').value === 'log', saturation: state.stream.saturation,
  });
  draw();
}

// --- words -------------------------------------------------------------------

function tellFrame() {
  const {tile, frames} = state;
  const lattices = tile && (tile.lattices === 1 ? '1 lattice' : `${tile.lattices} lattices`);
  by('frame').textContent = tile ? `Frame ${tile.id}, ${tile.lattices ? lattices : 'blank'}` +
    (state.live ? '' : `, ${frames.newest - tile.number} before the newest`) : '';
  by('pause').setAttribute('aria-pressed', String(!state.live));
  Object.assign(by('history'), {min: frames?.oldest ?? 1, max: frames?.newest ?? 1});
  by('history').value = state.live ? frames?.newest : state.number;
  document.body.dataset.number = tile?.number ?? '';
}

function valueAt(x, y) {
  const {tile} = state;
  const [i, j] = [Math.floor(x / tile.factor) - tile.x, Math.floor(y / tile.factor) - tile.y];
  if (i < 0 || j < 0 || i >= tile.width || j >= tile.height) return '';
  const at = j * tile.width + i;
  if (maskOf(tile, state.mask)?.values[at]) return 'masked';
  const value = tile.values[at];
  const text = `${Number.isInteger(value) ? value : Number(value.toPrecision(7))} ${state.stream.unit}` +
    (state.stream.saturation > 0 && value >= state.stream.saturation ? ', saturated' : '');
  return tile.factor === 1 ? text : `${tile.mean ? 'mean' : 'largest'} of ${tile.factor} × ${tile.factor}: ${text}`;
}

function tellPlace() {
  const {stream, tile, cursor} = state;
  const [x, y] = cursor ? cursor.map((v, i) => Math.floor((i ? state.y : state.x) + v / state.scale)) : [-1, -1];
  const inside = stream && tile && x >= 0 && y >= 0 && x < stream.shown.fastPixels && y < stream.shown.slowPixels;
  if (!inside) { by('place').textContent = ''; return; }
  const at = panelAt(stream, x, y);
  const d = resolution(position(stream.shown, stream.beam, x + 0.5, y + 0.5), stream.beam, tile.wavelength);
  const where = !at ? 'between panels' : `fast ${at.fast}, slow ${at.slow}` + (stream.panels.length > 1 ? `, panel ${at.number}` : '');
  by('place').textContent = `${where}: ${at ? valueAt(x, y) : ''}; d ${d.toFixed(d < 10 ? 3 : 1)} Å`;
}

// The sections below the image that are wanted.
function tellStream() {
  by('pipeline').hidden = !(by('showPipeline').checked && state.pipeline);
  by('strip').hidden = !by('showStrip').checked;
  if (!by('pipeline').hidden) showPipeline(by('pipeline'), state.pipeline);
  if (!by('strip').hidden) showStrip(by('strip'), state.stream?.unit ?? '');
}

// --- the view ----------------------------------------------------------------

function show() {
  ask();
  draw();
  tellPlace();
}

function fit() {
  const {shown} = state.stream ?? {};
  if (!shown) return;
  const [width, height] = size();
  state.scale = Math.min(width / shown.fastPixels, height / shown.slowPixels, SCALE_MAX);
  state.x = (shown.fastPixels - width / state.scale) / 2;
  state.y = (shown.slowPixels - height / state.scale) / 2;
  state.fitted = true;
  show();
}

function zoom(factor, at) {
  if (!state.stream) return;
  const [width, height] = size();
  const {shown} = state.stream;
  const least = 0.25 * Math.min(width / shown.fastPixels, height / shown.slowPixels, SCALE_MAX);
  const scale = Math.min(SCALE_MAX, Math.max(least, state.scale * factor));
  state.x += at[0] / state.scale - at[0] / scale;
  state.y += at[1] / state.scale - at[1] / scale;
  state.scale = scale;
  state.fitted = false;
  show();
}

const zoomMiddle = (factor) => zoom(factor, size().map((v) => v / 2));

function move(dx, dy) {
  state.x -= dx / state.scale;
  state.y -= dy / state.scale;
  state.fitted = false;
  show();
}

// Shows frame `number`, or follows the newest for 0.
function choose(number) {
  const {frames} = state;
  state.live = number === 0;
  state.number = frames ? Math.min(frames.newest, Math.max(frames.oldest, number)) : number;
  tellFrame();
  ask();
}

const shownNumber = () => state.tile?.number ?? state.frames?.newest ?? 0;
const pause = () => choose(state.live ? shownNumber() : 0);

// --- what comes --------------------------------------------------------------

const say = connect({
  open() {
    Object.assign(state, {asked: false, ended: null, frames: null, mask: null, marks: null});
    by('message').textContent = 'Waiting for the first frame …';
    say(`look ${document.hidden ? 'no' : 'yes'}`);
  },
  lost() {
    state.asked = false;
    by('message').textContent = `${state.ended ?? 'The connection was cut.'} Trying to connect again …`;
  },
  stream(stream) {
    const same = state.stream?.lineage === stream.lineage;
    state.stream = stream;
    document.title = `${stream.crystals[0] || 'bragg-view'} · bragg-view`;
    if (!same) { state.tile = null; state.live = true; fit(); }
  },
  frames(frames) {
    state.frames = frames;
    if (!state.live && state.number < frames.oldest) state.number = frames.oldest;
    if (!state.ended) by('message').textContent = '';
    if (state.live || !state.tile) ask();
    tellFrame();
    takePoint(frames);
    tellStream();
  },
  pipeline(pipeline) { state.pipeline = pipeline; tellStream(); },
  end(end) {
    state.ended = `${end.text} ${end.frames} ${end.frames === 1 ? 'frame' : 'frames'} came.`;
    by('message').textContent = state.ended;
  },
  tile(tile) {
    state.asked = false;
    state.tile = tile;
    askMore(tile);
    color();
    tellFrame();
    tellPlace();
    if (state.stale || (state.live && tile.number < state.frames.newest)) ask();
  },
  mask(mask) { state.mask = mask; color(); tellPlace(); },
  marks(marks) { state.marks = marks; draw(); },
  gone() { state.asked = false; choose(state.frames?.oldest ?? 0); },
});

// --- controls ----------------------------------------------------------------

for (const name of Object.keys(maps)) by('colors').add(new Option(name));

function nextColors() {
  by('colors').selectedIndex = (by('colors').selectedIndex + 1) % by('colors').length;
  color();
}

function toggle(id) {
  by(id).checked = !by(id).checked;
  by(id).dispatchEvent(new Event('change'));
}

const step = (by_) => choose(Math.max(1, shownNumber() + by_));
const clicks = {
  pause, back: () => step(-1), forth: () => step(1), fit, in: () => zoomMiddle(1.5), out: () => zoomMiddle(1 / 1.5),
  one: () => zoomMiddle(1 / (ratio() * state.scale)),
};
for (const [id, action] of Object.entries(clicks)) by(id).addEventListener('click', action);
by('history').addEventListener('input', () => choose(Number(by('history').value)));
for (const id of ['colors', 'scale', 'auto']) by(id).addEventListener('change', color);
for (const id of ['low', 'high']) by(id).addEventListener('input', () => { by('auto').checked = false; color(); });
for (const id of ['rings', 'beam']) by(id).addEventListener('change', draw);
by('truth').addEventListener('change', () => { if (state.tile) askMore(state.tile); draw(); });
by('blocks').addEventListener('change', ask);
for (const id of ['showPipeline', 'showStrip']) by(id).addEventListener('change', tellStream);
listen(canvas, {
  move, zoom,
  hover(at) { state.cursor = at; tellPlace(); },
  key: {
    ' ': pause, ',': clicks.back, '.': clicks.forth, '+': clicks.in, '=': clicks.in, '-': clicks.out, '0': fit, '1': clicks.one,
    c: nextColors, a: () => toggle('auto'), r: () => toggle('rings'), b: () => toggle('beam'), t: () => toggle('truth'),
    p: () => toggle('showPipeline'), s: () => toggle('showStrip'),
  },
});
document.addEventListener('visibilitychange', () => { say(`look ${document.hidden ? 'no' : 'yes'}`); ask(); });
new ResizeObserver(() => { if (state.fitted) fit(); else show(); }).observe(canvas);
