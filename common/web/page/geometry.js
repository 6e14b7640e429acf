// Converts between rays from the sample and pixels.  Positions are in m; directions have any length.

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const l = Math.hypot(...a); return a.map((v) => v / l); };

// Returns two axes of a curved panel, both normal to the beam: one along fast, the other normal to it
// and towards slow.
function curveAxes(panel, beam) {
  const along = dot(panel.fast, beam);
  const fast = unit(panel.fast.map((v, i) => v - along * beam[i]));
  const slow = cross(beam, fast);
  return [fast, dot(slow, panel.slow) < 0 ? slow.map((v) => -v) : slow];
}

// Returns the position of a point of a panel.  The point is in pixels from the outer corner.
export function position(panel, beam, fast, slow) {
  if (!panel.curved)
    return panel.origin.map((o, i) => o + panel.pixel * (fast * panel.fast[i] + slow * panel.slow[i]));
  const [u, v] = curveAxes(panel, beam);
  const a = (fast * panel.pixel - panel.beamFast) / panel.distance;
  const b = (slow * panel.pixel - panel.beamSlow) / panel.distance;
  return beam.map((o, i) => panel.distance *
    (Math.cos(a) * Math.cos(b) * o + Math.sin(a) * u[i] + Math.cos(a) * Math.sin(b) * v[i]));
}

// Returns the point [fast, slow] in pixels where a ray meets a panel; null if it does not meet it.
export function aim(panel, beam, ray) {
  if (panel.curved) {
    const [u, v] = curveAxes(panel, beam);
    const along = unit(ray);
    return [(panel.beamFast + panel.distance * Math.asin(dot(along, u))) / panel.pixel,
      (panel.beamSlow + panel.distance * Math.atan2(dot(along, v), dot(along, beam))) / panel.pixel];
  }
  const length = dot(panel.origin, panel.normal) / dot(ray, panel.normal);
  if (!(length > 0) || !isFinite(length)) return null;
  const on = ray.map((r, i) => length * r - panel.origin[i]);
  return [dot(on, panel.fast) / panel.pixel, dot(on, panel.slow) / panel.pixel];
}

// Returns the resolution d of a position, in the unit of the wavelength (angstrom).
export function resolution(at, beam, wavelength) {
  const cosine = dot(at, beam) / Math.hypot(...at);
  return wavelength / (2 * Math.sin(0.5 * Math.acos(Math.min(1, Math.max(-1, cosine)))));
}

// Returns the ray at the angle 2 theta to the beam and an azimuth about the beam, both in rad.
export function cone(beam, twoTheta, azimuth) {
  const u = unit(cross(beam, Math.abs(beam[0]) < 0.5 ? [1, 0, 0] : [0, 1, 0]));
  const v = cross(beam, u);
  return beam.map((b, i) => Math.cos(twoTheta) * b +
    Math.sin(twoTheta) * (Math.cos(azimuth) * u[i] + Math.sin(azimuth) * v[i]));
}

// Returns the panel that a pixel of the picture shows, as {number, fast, slow} with whole pixels; null
// in gaps between panels.
export function panelAt(stream, x, y) {
  if (stream.layout === 'panel') return {number: 0, fast: x, slow: y};
  const ray = position(stream.shown, stream.beam, x + 0.5, y + 0.5);
  for (let number = 0; number < stream.panels.length; number++) {
    const panel = stream.panels[number];
    const at = aim(panel, stream.beam, ray);
    if (at && at[0] >= 0 && at[1] >= 0 && at[0] < panel.fastPixels && at[1] < panel.slowPixels)
      return {number, fast: Math.floor(at[0]), slow: Math.floor(at[1])};
  }
  return null;
}
