// The page: its state, its requests to the server, the image, texts and controls.

import {css, maps} from './colors.js';
import {panelAt, position, resolution} from './geometry.js';
import {contrast, maskOf, paint} from './image.js';
import {connect} from './link.js';
import {drawMarks, latticeColor, readRings, shorten} from './marks.js';
import {showPipeline} from './pipeline.js';
import {listen} from './pointer.js';
import {showStrip, takeHistory, takePoint} from './strip.js';

const BLOCKS_MAX = 1 << 22; // maximum size of a tile, as the server allows
const SCALE_MAX = 80; // CSS pixels per detector pixel
/** @type {(id: string) => any} Returns an element of the page. */
const by = (id) => document.getElementById(id);
const canvas = by('image');
const overlay = by('overlay');
const painted = document.createElement('canvas'); // the tile, with one pixel per block

const state = {
  stream: null, frames: null, ended: null, pipeline: null,
  live: true, number: 0,              // true: show the newest frame; false: show frame `number`
  x: 0, y: 0, scale: 1, fitted: true, // detector pixel at the left and top edge; CSS pixels per pixel
  tile: null, mask: null, marks: null,
  colors: null, saturated: false,     // colours of the tile's blocks; whether one is saturated
  rings: [],                          // resolutions in Å; empty: chosen for the view
  asked: false, stale: false,         // a tile was requested; the view has changed since
  cursor: null,
};

// --- requests ----------------------------------------------------------------

const ratio = () => window.devicePixelRatio || 1;
const size = () => [canvas.clientWidth, canvas.clientHeight];

// Returns the visible region in blocks.  It has at most as many blocks as the screen has pixels, and as
// the server sends.
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
  send(`tile ${state.live ? 0 : state.number} ${where} ${by('blocks').value}`);
}

function askMore(tile) {
  if (state.stream.masked && !maskOf(tile, state.mask))
    send(`mask ${tile.x} ${tile.y} ${tile.width} ${tile.height} ${tile.factor}`);
  if (by('truth').checked && state.marks?.number !== tile.number) send(`marks ${tile.number}`);
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
  c.beginPath(); // blocks at the edges may extend beyond the detector
  c.rect(...toScreen(0, 0), shown.fastPixels * state.scale, shown.slowPixels * state.scale);
  c.clip();
  const edge = tile.factor * state.scale;
  c.drawImage(painted, ...toScreen(tile.x * tile.factor, tile.y * tile.factor), tile.width * edge, tile.height * edge);
  c.restore();
  c.strokeStyle = '#8886';
  c.strokeRect(...toScreen(0, 0), shown.fastPixels * state.scale, shown.slowPixels * state.scale);
  const marks = by('truth').checked && state.marks?.number === tile.number ? state.marks.marks : null;
  const rings = drawMarks(fitCanvas(overlay), {
    size: [width, height], stream, tile, scale: state.scale, toScreen, wavelength: tile.wavelength,
    rings: by('rings').checked ? state.rings : null, beam: by('beam').checked,
    marks, pixels: state.colors, dark: maps[by('colors').value].dark,
  });
  describeColors(marks);
  Object.assign(document.body.dataset, {x: state.x, y: state.y, scale: state.scale, marks: marks?.length ?? 0, rings});
}

// Paints the tile with the chosen contrast and colours.
function color() {
  const {tile} = state;
  if (!tile) return;
  const mask = maskOf(tile, state.mask);
  if (by('auto').checked) {
    const {low, high} = contrast(tile, mask);
    by('low').value = shorten(low);
    by('high').value = shorten(high);
  }
  const painting = paint(painted, tile, mask, {
    map: maps[by('colors').value], low: Number(by('low').value), high: Number(by('high').value),
    log: by('scale').value === 'log', saturation: state.stream.saturation,
  });
  Object.assign(state, {colors: painting.pixels, saturated: painting.saturated});
  draw();
}

// --- texts -------------------------------------------------------------------

// Shows a text in the message box, which the user can close until another text comes.
function showMessage(text) {
  if (by('said').textContent === text) return;
  by('said').textContent = text;
  by('message').hidden = !text;
}

// Returns the number of lattices of a tile in words.  Files may not record lattices.
function describeLattices(tile) {
  if (!state.stream.known) return 'lattices not known';
  if (!tile.lattices) return 'blank';
  return tile.lattices === 1 ? '1 lattice' : `${tile.lattices} lattices`;
}

// Returns the name of the file that holds a frame; empty if it is not known.
function fileOf(tile) {
  const names = state.stream.names ?? [];
  return names.length === 1 ? names[0] : names[Number(tile.id)] ?? '';
}

function describeFrame() {
  const {tile, frames} = state;
  by('frame').textContent = !tile ? '' : [`Frame ${tile.id}`, describeLattices(tile), fileOf(tile),
    state.live ? '' : `${frames.newest - tile.number} before the newest`, state.ended ? 'stream ended' : '',
  ].filter((text) => text).join(', ');
  by('pause').setAttribute('aria-pressed', String(!state.live));
  Object.assign(by('history'), {min: frames?.oldest ?? 1, max: frames?.newest ?? 1});
  by('history').value = state.live ? frames?.newest : state.number;
  document.body.dataset.number = tile?.number ?? '';
}

// Shows the meaning of the colours: lattices, and pixels with a colour of their own.
function describeColors(marks) {
  const map = maps[by('colors').value];
  const lattices = [...new Set((marks ?? []).map((m) => m.lattice))].sort((a, b) => a - b);
  const items = lattices.map((lattice) => [`lattice ${lattice + 1}`, latticeColor(lattice), '']);
  if (state.stream.masked) items.push(['masked', css(map.masked), 'pixel']);
  if (state.saturated) items.push(['saturated', css(map.saturated), 'pixel']);
  const key = JSON.stringify(items);
  if (by('legend').dataset.key === key) return;
  by('legend').dataset.key = key;
  by('legend').replaceChildren(...items.map(([text, color, className]) => {
    const [item, swatch] = [document.createElement('span'), document.createElement('i')];
    swatch.className = className;
    swatch.style.cssText = className ? `background: ${color}` : `border-color: ${color}`;
    item.append(swatch, text);
    return item;
  }));
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
  return tile.factor === 1 ? text : `${tile.mean ? 'mean' : 'maximum'} of ${tile.factor} × ${tile.factor}: ${text}`;
}

function describePlace() {
  const {stream, tile, cursor} = state;
  const [x, y] = cursor ? cursor.map((v, i) => Math.floor((i ? state.y : state.x) + v / state.scale)) : [-1, -1];
  const inside = stream && tile && x >= 0 && y >= 0 && x < stream.shown.fastPixels && y < stream.shown.slowPixels;
  if (!inside) { by('place').textContent = ''; return; }
  const at = panelAt(stream, x, y);
  const d = resolution(position(stream.shown, stream.beam, x + 0.5, y + 0.5), stream.beam, tile.wavelength);
  const where = !at ? 'between panels' : `fast ${at.fast}, slow ${at.slow}` + (stream.panels.length > 1 ? `, panel ${at.number}` : '');
  by('place').textContent = `${where}: ${at ? valueAt(x, y) : ''}; d ${d.toFixed(d < 10 ? 3 : 1)} Å`;
}

// Shows the selected sections below the image.
function showSections() {
  by('pipeline').hidden = !by('showPipeline').checked;
  by('strip').hidden = !by('showStrip').checked;
  const ended = state.ended !== null;
  if (!by('pipeline').hidden) showPipeline(by('pipeline'), state.pipeline, ended);
  if (!by('strip').hidden) showStrip(by('strip'), state.stream?.unit ?? '', ended);
}

// Shows the name of the run or the files, and which marks this stream can have.
function describeStream() {
  const {stream} = state;
  document.title = `${stream.title} · bragg-view`;
  by('title').textContent = stream.title;
  by('title').title = `${stream.title}: ${stream.detector}`;
  by('truth').disabled = !stream.known;
  by('truthLabel').classList.toggle('off', !stream.known);
  by('truthLabel').title = stream.known ? 'True or predicted reflections (t)'
    : 'The reflections are not known: these files record no lattices';
}

// --- the view ----------------------------------------------------------------

function show() {
  ask();
  draw();
  describePlace();
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

// Shows frame `number`; 0: always shows the newest frame.
function choose(number) {
  const {frames} = state;
  state.live = number === 0;
  state.number = frames ? Math.min(frames.newest, Math.max(frames.oldest, number)) : number;
  describeFrame();
  ask();
}

const shownNumber = () => state.tile?.number ?? state.frames?.newest ?? 0;
const pause = () => choose(state.live ? shownNumber() : 0);

// --- messages of the server --------------------------------------------------

const send = connect({
  open() {
    Object.assign(state, {asked: false, ended: null, frames: null, mask: null, marks: null});
    showMessage('Waiting for the first frame …');
    send(`look ${document.hidden ? 'no' : 'yes'}`);
  },
  lost() {
    state.asked = false;
    showMessage(`${state.ended ?? 'The connection was lost.'} Trying to connect again …`);
  },
  stream(stream) {
    const same = state.stream?.lineage === stream.lineage;
    state.stream = stream;
    describeStream();
    if (!same && stream.rings.length) { by('ringList').value = stream.rings.join(', '); state.rings = stream.rings; }
    if (!same) { state.tile = null; state.live = true; fit(); }
  },
  frames(frames) {
    state.frames = frames;
    if (!state.live && state.number < frames.oldest) state.number = frames.oldest;
    if (!state.ended) showMessage('');
    if (state.live || !state.tile) ask();
    describeFrame();
    takePoint(frames);
    showSections();
  },
  pipeline(pipeline) { state.pipeline = pipeline; showSections(); },
  end(end) {
    state.ended = `${end.text} ${end.frames} ${end.frames === 1 ? 'frame' : 'frames'} arrived.`;
    showMessage(state.ended);
    takeHistory(end.history);
    describeFrame();
    showSections();
  },
  tile(tile) {
    state.asked = false;
    state.tile = tile;
    askMore(tile);
    color();
    describeFrame();
    describePlace();
    if (state.stale || (state.live && tile.number < state.frames.newest)) ask();
  },
  mask(mask) { state.mask = mask; color(); describePlace(); },
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
  if (by(id).disabled) return;
  by(id).checked = !by(id).checked;
  by(id).dispatchEvent(new Event('change'));
}

// Takes the list of rings that the user typed.
function changeRings() {
  const rings = readRings(by('ringList').value);
  const half = (state.tile?.wavelength ?? 0) / 2;
  const beyond = rings?.filter((d) => d <= half) ?? [];
  const fault = !rings ? 'The rings must be resolutions in Å, such as 3, 2, 1.5.'
    : beyond.length ? `There is no ring at ${beyond.join(', ')} Å: half the wavelength is ${half.toFixed(3)} Å.` : '';
  by('ringList').setCustomValidity(fault);
  showMessage(fault || state.ended || '');
  state.rings = rings ?? [];
  by('rings').checked = true;
  draw();
}

function foldControls() {
  const open = by('controls').classList.toggle('open');
  by('more').setAttribute('aria-expanded', String(open));
  by('more').textContent = open ? 'Less' : 'More';
}

const step = (offset) => choose(Math.max(1, shownNumber() + offset));
const clicks = {
  pause, back: () => step(-1), forth: () => step(1), fit, in: () => zoomMiddle(1.5), out: () => zoomMiddle(1 / 1.5),
  one: () => zoomMiddle(1 / (ratio() * state.scale)), more: foldControls,
  close: () => { by('message').hidden = true; },
};
for (const [id, action] of Object.entries(clicks)) by(id).addEventListener('click', action);
by('history').addEventListener('input', () => choose(Number(by('history').value)));
for (const id of ['colors', 'scale', 'auto']) by(id).addEventListener('change', color);
for (const id of ['low', 'high']) by(id).addEventListener('input', () => { by('auto').checked = false; color(); });
for (const id of ['rings', 'beam']) by(id).addEventListener('change', draw);
by('ringList').addEventListener('input', changeRings);
by('truth').addEventListener('change', () => { if (state.tile) askMore(state.tile); draw(); });
by('blocks').addEventListener('change', ask);
for (const id of ['showPipeline', 'showStrip']) by(id).addEventListener('change', showSections);
listen(canvas, {
  move, zoom,
  hover(at) { state.cursor = at; describePlace(); },
  key: {
    ' ': pause, ',': clicks.back, '.': clicks.forth, '+': clicks.in, '=': clicks.in, '-': clicks.out, '0': fit, '1': clicks.one,
    c: nextColors, a: () => toggle('auto'), r: () => toggle('rings'), b: () => toggle('beam'), t: () => toggle('truth'),
    p: () => toggle('showPipeline'), s: () => toggle('showStrip'),
  },
});
document.addEventListener('visibilitychange', () => { send(`look ${document.hidden ? 'no' : 'yes'}`); ask(); });
new ResizeObserver(() => { if (state.fitted) fit(); else show(); }).observe(canvas);
