// A tile as an image: contrast, colours, masked and saturated pixels.

const SAMPLES = 8192;

// Values from which contrast is taken, in ascending order.
function sample(tile, mask) {
  const step = Math.max(1, Math.floor(tile.values.length / SAMPLES));
  const values = [];
  for (let i = 0; i < tile.values.length; i += step)
    if (isFinite(tile.values[i]) && !mask?.values[i]) values.push(tile.values[i]);
  return values.sort((a, b) => a - b);
}

// The range that is shown: from the 1st percentile to the larger of the 99.5th and the median
// plus ten times the spread; where nearly all are equal to half of those that are more.
export function contrast(tile, mask) {
  const sorted = sample(tile, mask);
  const at = (percent) => sorted[Math.round(percent / 100 * (sorted.length - 1))] ?? 0;
  const low = at(1);
  let high = Math.max(at(99.5), at(50) + 5 * (at(84) - at(16)));
  if (!(high > low)) {
    const more = sorted.filter((v) => v > low);
    high = more.length ? more[more.length >> 1] : low + 1;
  }
  return {low, high};
}

// The mask that was sent for the region of a tile, or null.
export function maskOf(tile, mask) {
  const same = mask && ['x', 'y', 'width', 'height', 'factor'].every((k) => mask[k] === tile[k]);
  return same ? mask : null;
}

// Paints a tile, a pixel for each block, into `canvas`.
export function paint(canvas, tile, mask, look) {
  canvas.width = tile.width;
  canvas.height = tile.height;
  const context = canvas.getContext('2d');
  const image = context.createImageData(tile.width, tile.height);
  const to = new Uint32Array(image.data.buffer);
  const {colors, masked, saturated} = look.map;
  const {values} = tile;
  const range = look.high - look.low || 1;
  const limit = look.saturation > 0 ? look.saturation : Infinity;
  const shade = look.log ? (t) => Math.log(1 + 999 * t) / Math.log(1000) : (t) => t;
  const steps = Uint32Array.from({length: 1024}, (_, i) => colors[Math.round(255 * shade(i / 1023))]);
  const k = 1023 / range;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (mask?.values[i] || v !== v) to[i] = masked;
    else if (v >= limit) to[i] = saturated;
    else to[i] = steps[Math.min(1023, Math.max(0, (v - look.low) * k)) | 0];
  }
  context.putImageData(image, 0, 0);
}
