/**
 * The picture of the demo clip: a water mill at dusk. Answers a function that draws the scene at a moment
 * of its loop (0 to 1; 1 is 0 again) as RGB, three bytes a pixel. The buffer is used again by the next call.
 */
export function sceneOf(): (moment: number) => Uint8Array {
  const backdrop = paintBackdrop();
  const picture = new Uint8Array(backdrop.length);
  return (moment) => {
    picture.set(backdrop);
    const turn = moment * TAU;
    paintClouds(picture, turn);
    paintSmoke(picture, moment);
    paintBirds(picture, moment);
    paintWheel(picture, turn * 2);
    paintWater(picture, turn);
    return picture;
  };
}

export const WIDTH = 1280;
export const HEIGHT = 720;

const TAU = Math.PI * 2;
const SHORE = 528;
const SUN = { x: 915, y: 356, r: 44 };
const WHEEL = { x: 508, y: 446, r: 104 };

type Colour = readonly [number, number, number];
/** How much of a pixel is covered, 0 to 1, by the signed distance to a shape's edge (negative is inside). */
type Distance = (x: number, y: number) => number;

const SKY: readonly (readonly [number, Colour])[] = [
  [0, [38, 66, 104]],
  [200, [92, 128, 160]],
  [340, [224, 172, 138]],
  [450, [250, 212, 160]],
  [720, [250, 212, 160]],
];

function paintBackdrop(): Uint8Array {
  const picture = new Uint8Array(WIDTH * HEIGHT * 3);
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const glow = Math.exp(-(((x - SUN.x) / 260) ** 2 + ((y - SUN.y) / 150) ** 2));
      put(picture, x, y, mix(gradient(SKY, y), [255, 232, 184], glow * 0.75));
    }
  }
  paint(picture, (x, y) => Math.hypot(x - SUN.x, y - SUN.y) - SUN.r, [255, 244, 214]);
  paint(picture, (x, y) => 418 + 30 * Math.sin(x / 210 + 0.7) + 13 * Math.sin(x / 87) - y, [142, 136, 152]);
  paint(picture, (x, y) => 462 + 20 * Math.sin(x / 160 + 3.4) + 8 * Math.sin(x / 61) - y, [92, 110, 118]);
  for (const [x, h] of [
    [1010, 120],
    [1046, 150],
    [1084, 128],
    [1180, 104],
    [1216, 132],
    [60, 140],
    [98, 112],
  ] as const) {
    paint(
      picture,
      (px, py) => (Math.hypot((px - x) / 16, (py - 508 + h / 2) / (h / 2)) - 1) * 14,
      [52, 74, 76],
    );
  }
  paint(picture, (x, y) => 506 + 7 * Math.sin(x / 120 + 1) + 3 * Math.sin(x / 37) - y, [48, 72, 64]);
  paintMill(picture);
  return picture;
}

function paintMill(picture: Uint8Array): void {
  paint(picture, box(352, 300, 376, 372), [112, 88, 80]);
  paint(picture, box(256, 372, 456, 540), [186, 164, 138]);
  paint(picture, box(256, 476, 456, 540), [142, 126, 112]);
  const roof: Distance = (x, y) =>
    Math.max(y - 376, (Math.abs(x - 356) - 26) * 0.62 - (y - 292) * 0.81 - 8, 292 - y);
  paint(picture, roof, [104, 62, 56]);
  for (const [x, y] of [
    [286, 404],
    [344, 404],
    [286, 446],
  ] as const) {
    paint(picture, box(x - 3, y - 3, x + 27, y + 33), [92, 72, 62]);
    paint(picture, box(x, y, x + 24, y + 30), [255, 216, 132]);
    paint(picture, box(x + 11, y, x + 13, y + 30), [92, 72, 62]);
  }
  paint(picture, box(344, 456, 384, 530), [88, 64, 54]);
}

function paintClouds(picture: Uint8Array, turn: number): void {
  for (const [x, y, w, h, sway] of CLOUDS) {
    const cx = x + sway * Math.sin(turn + x);
    blend(
      picture,
      { x0: cx - w * 2, y0: y - h * 2, x1: cx + w * 2, y1: y + h * 2 },
      [255, 226, 206],
      (px, py) => {
        const d = ((px - cx) / w) ** 2 + ((py - y) / h) ** 2;
        return d > 4 ? 0 : 0.42 * (Math.exp(-d) - 0.0183);
      },
    );
  }
}

const CLOUDS = [
  [660, 190, 150, 15, 22],
  [760, 208, 110, 12, 22],
  [1090, 268, 130, 12, -18],
  [180, 236, 140, 14, 16],
] as const;

function paintSmoke(picture: Uint8Array, moment: number): void {
  for (let i = 0; i < 6; i++) {
    const age = (moment * 3 + i / 6) % 1;
    const x = 364 + age * 54 + 7 * Math.sin(age * 7);
    const y = 296 - age * 118;
    const r = 10 + age * 30;
    blend(
      picture,
      { x0: x - 2 * r, y0: y - 2 * r, x1: x + 2 * r, y1: y + 2 * r },
      [238, 232, 228],
      (px, py) => {
        const d = ((px - x) / r) ** 2 + ((py - y) / r) ** 2;
        return d > 4 ? 0 : 0.34 * Math.min(1, age * 8) * (1 - age) * (Math.exp(-d) - 0.0183);
      },
    );
  }
}

function paintBirds(picture: Uint8Array, moment: number): void {
  for (const [dx, dy, phase] of [
    [0, 0, 0],
    [-44, 20, 2],
    [-62, -16, 4],
  ] as const) {
    const x = -20 + dx + moment * (WIDTH + 140);
    const y = 252 + dy + 16 * Math.sin(moment * TAU * 2);
    const lift = 7 * Math.sin(moment * TAU * 30 + phase);
    blend(picture, { x0: x - 18, y0: y - 16, x1: x + 18, y1: y + 16 }, [52, 60, 78], (px, py) => {
      const span = Math.abs(px - x);
      const wing = y - lift * Math.sin((span / 15) * 1.9);
      return span > 15 ? 0 : cover(Math.abs(py - wing) - 2.4 * (1 - span / 18));
    });
  }
}

function paintWheel(picture: Uint8Array, turn: number): void {
  const { x, y, r } = WHEEL;
  const reach = r * 1.16;
  blend(picture, { x0: x - reach, y0: y - reach, x1: x + reach, y1: y + reach }, [66, 48, 42], (px, py) => {
    const far = Math.hypot(px - x, py - y);
    if (far > reach) return 0;
    const angle = Math.atan2(py - y, px - x) - turn;
    const rims = Math.min(Math.abs(far - r) - 4, Math.abs(far - r * 0.74) - 3);
    const spokes = Math.max(Math.abs(far * Math.sin(fold(angle, TAU / 8))) - 3.4, far - r);
    const paddles = Math.max(
      Math.abs(far * Math.sin(fold(angle, TAU / 16))) - 3.4,
      r * 0.74 - far,
      far - r * 1.12,
    );
    return cover(Math.min(rims, spokes, paddles, far - 15));
  });
  paint(picture, (px, py) => Math.hypot(px - x, py - y) - 6, [196, 168, 128], {
    x0: x - 9,
    y0: y - 9,
    x1: x + 9,
    y1: y + 9,
  });
}

/** The race: it mirrors the sky, flows to the right, carries the sun's path, and foams at the wheel. */
function paintWater(picture: Uint8Array, turn: number): void {
  for (let y = SHORE; y < HEIGHT; y++) {
    const depth = (y - SHORE) / (HEIGHT - SHORE);
    const base = mix([176, 148, 134], [44, 76, 100], Math.min(1, depth * 1.9));
    const path = SUN.x + (6 + 10 * depth) * Math.sin(y * 0.22 - turn * 6);
    const half = 34 + 70 * depth;
    const glint = 0.62 * (0.55 + 0.45 * Math.sin(y * 0.42 - turn * 10)) * (1 - depth * 0.5);
    const length = 46 + 90 * depth;
    for (let x = 0; x < WIDTH; x++) {
      const flow =
        Math.sin(x / length - turn * 9 + y * 0.16) * Math.sin(x / (length * 1.7) - turn * 5 - y * 0.1);
      const sun = glint * Math.exp(-(((x - path) / half) ** 2));
      const foam = 0.5 * Math.exp(-(((x - WHEEL.x - 46) / 84) ** 2) - ((y - SHORE - 10) / 9) ** 2);
      const white = foam * (0.6 + 0.4 * Math.sin(x / 7 - turn * 40) * Math.sin(x / 19 - turn * 24));
      const lit = mix(base, [214, 224, 226], Math.max(0, flow) * 0.16 + white);
      const covered = mix(lit, [255, 228, 176], sun);
      // The first rows let what stands in the water show through.
      blendPixel(picture, x, y, covered, Math.min(1, 0.62 + depth * 6));
    }
  }
}

const cover = (distance: number): number => Math.max(0, Math.min(1, 0.5 - distance));
const fold = (angle: number, step: number): number => angle - Math.round(angle / step) * step;

const box =
  (x0: number, y0: number, x1: number, y1: number): Distance =>
  (x, y) =>
    Math.max(x0 - x, x - x1, y0 - y, y - y1);

interface Bounds {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

function paint(
  picture: Uint8Array,
  shape: Distance,
  colour: Colour,
  bounds: Bounds = { x0: 0, y0: 0, x1: WIDTH, y1: HEIGHT },
): void {
  blend(picture, bounds, colour, (x, y) => cover(shape(x, y)));
}

function blend(
  picture: Uint8Array,
  bounds: Bounds,
  colour: Colour,
  share: (x: number, y: number) => number,
): void {
  const x1 = Math.min(WIDTH, Math.ceil(bounds.x1));
  const y1 = Math.min(HEIGHT, Math.ceil(bounds.y1));
  for (let y = Math.max(0, Math.floor(bounds.y0)); y < y1; y++) {
    for (let x = Math.max(0, Math.floor(bounds.x0)); x < x1; x++) {
      const much = share(x + 0.5, y + 0.5);
      if (much > 0) blendPixel(picture, x, y, colour, much);
    }
  }
}

function blendPixel(picture: Uint8Array, x: number, y: number, colour: Colour, share: number): void {
  const at = (y * WIDTH + x) * 3;
  for (let c = 0; c < 3; c++) picture[at + c] += Math.round((colour[c] - picture[at + c]) * share);
}

function put(picture: Uint8Array, x: number, y: number, colour: Colour): void {
  picture.set(colour.map(Math.round), (y * WIDTH + x) * 3);
}

const mix = (a: Colour, b: Colour, share: number): Colour => [
  a[0] + (b[0] - a[0]) * share,
  a[1] + (b[1] - a[1]) * share,
  a[2] + (b[2] - a[2]) * share,
];

function gradient(stops: readonly (readonly [number, Colour])[], at: number): Colour {
  const next = stops.findIndex(([y]) => y > at);
  const [y1, to] = stops[next];
  const [y0, from] = stops[next - 1];
  return mix(from, to, (at - y0) / (y1 - y0));
}
