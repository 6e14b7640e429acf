// Draws a tile: contrast, colours, masked and saturated pixels.

const SAMPLES = 8192; // maximum number of values that the contrast is computed from
const LEAST_COUNTS = 5; // minimum range of whole numbers, so that 40 and 41 are not white and black

// Returns a sample of the values that are not masked, in ascending order.
function sample(tile, mask) {
  const step = Math.max(1, Math.floor(tile.values.length / SAMPLES));
  const values = [];
  for (let i = 0; i < tile.values.length; i += step)
    if (isFinite(tile.values[i]) && !mask?.values[i]) values.push(tile.values[i]);
  return values.sort((a, b) => a - b);
}

// Returns the range of values that is shown.  It begins at the 1st percentile, and ends at the 99.5th
// percentile or at the median plus ten times the spread, whichever is larger.  If nearly all values
// are equal, it ends at the median of the larger ones.
export function contrast(tile, mask) {
  const sorted = sample(tile, mask);
  const at = (percent) => sorted[Math.round(percent / 100 * (sorted.length - 1))] ?? 0;
  const low = at(1);
  let high = Math.max(at(99.5), at(50) + 5 * (at(84) - at(16)));
  if (!(high > low)) {
    const more = sorted.filter((v) => v > low);
    high = more.length ? more[more.length >> 1] : low + 1;
  }
  if (high < low + LEAST_COUNTS && sorted.every(Number.isInteger)) high = low + LEAST_COUNTS;
  return {low, high};
}

// Returns `mask` if it has the region of the tile, else null.
export function maskOf(tile, mask) {
  const same = mask && ['x', 'y', 'width', 'height', 'factor'].every((k) => mask[k] === tile[k]);
  return same ? mask : null;
}

// Paints a tile into `canvas`, with one pixel per block.  Returns the colours of the blocks and whether
// any of them is saturated.
export function paint(canvas, tile, mask, look) {
  canvas.width = tile.width;
  canvas.height = tile.height;
  const context = canvas.getContext('2d');
  const image = context.createImageData(tile.width, tile.height);
  const pixels = new Uint32Array(image.data.buffer);
  const {colors, masked, saturated} = look.map;
  const {values} = tile;
  const range = look.high - look.low || 1;
  const limit = look.saturation > 0 ? look.saturation : Infinity;
  const shade = look.log ? (t) => Math.log(1 + 999 * t) / Math.log(1000) : (t) => t;
  const steps = Uint32Array.from({length: 1024}, (_, i) => colors[Math.round(255 * shade(i / 1023))]);
  const k = 1023 / range;
  let overflow = false;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (mask?.values[i] || v !== v) pixels[i] = masked;
    else if (v >= limit) { pixels[i] = saturated; overflow = true; }
    else pixels[i] = steps[Math.min(1023, Math.max(0, (v - look.low) * k)) | 0];
  }
  context.putImageData(image, 0, 0);
  return {pixels, saturated: overflow};
}
