// Colour maps: tables of 256 colours, each 32 bits with the bytes red, green, blue and alpha.

const pack = (r, g, b) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

function table(color) {
  const colors = new Uint32Array(256);
  for (let i = 0; i < 256; i++) colors[i] = pack(...color(i / 255));
  return colors;
}

// Converts a colour of Oklab (Björn Ottosson, 2020) to three bytes of sRGB.
function oklab(lightness, a, b) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
  ];
  return linear.map((v) => {
    const c = Math.min(1, Math.max(0, v));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
  });
}

// A map whose lightness grows uniformly, from dark blue through red to light yellow.
function uniform(t) {
  const hue = (264 + t * 206) * Math.PI / 180;
  const chroma = 0.16 * Math.sin(Math.PI * (0.12 + 0.76 * t));
  return oklab(0.10 + 0.87 * t, chroma * Math.cos(hue), chroma * Math.sin(hue));
}

const gray = (t) => Array(3).fill(Math.round(255 * t));

// Whether a text on a pixel of this colour must be white.
export function isDark(color) {
  return 0.299 * (color & 255) + 0.587 * (color >> 8 & 255) + 0.114 * (color >> 16 & 255) < 140;
}

export const css = (color) => `rgb(${color & 255}, ${color >> 8 & 255}, ${color >> 16 & 255})`;

// The maps by the names that the page shows.  The colours `masked` and `saturated` occur in no map;
// `dark` is true if low values are dark.
export const maps = {
  'dark on white': {colors: table((t) => gray(1 - t)), masked: pack(198, 214, 232), saturated: pack(220, 30, 30), dark: false},
  'white on dark': {colors: table(gray), masked: pack(40, 62, 96), saturated: pack(255, 60, 60), dark: true},
  'uniform colour': {colors: table(uniform), masked: pack(70, 90, 100), saturated: pack(60, 255, 120), dark: true},
};
