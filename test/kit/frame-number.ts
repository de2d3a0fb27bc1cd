/**
 * Reads the frame number that is painted into the demo clip: 16 squares in a row near the bottom, bit 15 on
 * the left, white is 1, on a grey panel. Works on a scaled picture (a screenshot, a canvas) down to about
 * 320 pixels of width.
 *
 * `area` says where the video lies in the picture when it does not fill it.
 * Answers null where the panel is not there or a square is neither clearly black nor clearly white.
 */
export function readFrameNumber(image: Picture, area: Area = whole(image)): number | null {
  const { left, top, size, pitch, bits } = SQUARES;
  const gap = pitch - size;
  const middle = top + size / 2;
  let greySum = 0;
  let greyMin = 255;
  let greyMax = 0;
  for (let i = 0; i <= bits; i++) {
    const grey = brightness(image, area, { x: left + i * pitch - gap / 2, y: middle, w: gap * 0.4, h: size });
    greySum += grey;
    greyMin = Math.min(greyMin, grey);
    greyMax = Math.max(greyMax, grey);
  }
  if (greyMax - greyMin > 2 * GREY_TOLERANCE) return null;
  const grey = greySum / (bits + 1);

  let number = 0;
  for (let i = 0; i < bits; i++) {
    const half = size / 2;
    const square = brightness(image, area, { x: left + i * pitch + half, y: middle, w: half, h: half });
    if (Math.abs(square - grey) < CONTRAST) return null;
    number = number * 2 + (square > grey ? 1 : 0);
  }
  return number;
}

export interface Picture {
  width: number;
  height: number;
  /** RGBA, four bytes a pixel, rows from the top. */
  data: ArrayLike<number>;
}

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where the squares lie, in pixels of the clip's own 1280 × 720. `margin`: of the panel around them. */
export const SQUARES = {
  frameWidth: 1280,
  frameHeight: 720,
  bits: 16,
  size: 44,
  pitch: 64,
  left: 138,
  top: 654,
  margin: 20,
  grey: 128,
} as const;

/** Least distance of a square from the grey around it, of 255. A sound picture has about 120. */
const CONTRAST = 50;
/** The panel is one grey: a sample further than this from the others means that it is not the panel. */
const GREY_TOLERANCE = 24;

const whole = (image: Picture): Area => ({ x: 0, y: 0, width: image.width, height: image.height });

/** Mean luma (BT.709) of a box given by its centre, in clip pixels; at least one pixel is looked at. */
function brightness(image: Picture, area: Area, box: { x: number; y: number; w: number; h: number }): number {
  const scaleX = area.width / SQUARES.frameWidth;
  const scaleY = area.height / SQUARES.frameHeight;
  const fromX = clamp(Math.round(area.x + (box.x - box.w / 2) * scaleX), image.width - 1);
  const fromY = clamp(Math.round(area.y + (box.y - box.h / 2) * scaleY), image.height - 1);
  const toX = clamp(Math.max(fromX + 1, Math.round(area.x + (box.x + box.w / 2) * scaleX)), image.width);
  const toY = clamp(Math.max(fromY + 1, Math.round(area.y + (box.y + box.h / 2) * scaleY)), image.height);
  let sum = 0;
  for (let y = fromY; y < toY; y++) {
    for (let x = fromX; x < toX; x++) {
      const at = (y * image.width + x) * 4;
      sum += 0.2126 * image.data[at] + 0.7152 * image.data[at + 1] + 0.0722 * image.data[at + 2];
    }
  }
  return sum / ((toX - fromX) * (toY - fromY));
}

function clamp(value: number, max: number): number {
  return Math.max(0, Math.min(value, max));
}
