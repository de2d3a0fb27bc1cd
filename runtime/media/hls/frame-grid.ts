/** How far a time may be from the grid and still be taken for a rounded one: 1 ms and a rounding, in ticks. */
const TOLERANCE = 100;
const MILLISECOND = 90;
/** Most frames that may be left out between two and still keep to the grid. */
const LONGEST_SKIP = 30;

/**
 * Undoes the rounding of RTMP, whose times are whole milliseconds: at 30 frames a second they step by 33, 33,
 * 34, and players that count in frames see two frames at one time now and then. When the frame rate is known,
 * a time that is within a millisecond of the frame grid is put on it; any other stays, and the grid goes on
 * from there. All times in ticks of 1/90000 s.
 *
 * Key frames stay at whole milliseconds all the same. Browsers keep buffered ranges in microseconds, rounded
 * down, and hls.js 1.7 compares their end with the end of a segment: where that is 2.0666… s the range ends
 * before it for ever, and the part behind it is never asked for.
 */
export class FrameGrid {
  #frame = 0;
  #last = Number.NaN;
  /** From the grid of composition offsets to whole milliseconds. */
  #shift = 0;

  /** @param frameRate frames per second, or undefined: then nothing is put right. */
  use(frameRate: number | undefined): void {
    const frame = frameRate !== undefined && frameRate >= 1 && frameRate <= 240 ? 90_000 / frameRate : 0;
    if (frame !== this.#frame) this.#last = Number.NaN;
    this.#frame = frame;
  }

  /** The decode time of the next frame. */
  time(claimed: number, isKey: boolean): number {
    if (this.#frame === 0) return Math.round(claimed);
    const frames = Math.round((claimed - this.#last) / this.#frame);
    const onGrid = this.#last + frames * this.#frame;
    const fits = frames >= 1 && frames <= LONGEST_SKIP && Math.abs(claimed - onGrid) <= TOLERANCE;
    this.#last = fits ? onGrid : claimed;
    return isKey ? Math.round(this.#last / MILLISECOND) * MILLISECOND : Math.round(this.#last);
  }

  /** A composition offset: whole frames after that of the last key frame when it is close to that. */
  offset(claimed: number, isKey: boolean): number {
    if (this.#frame === 0) return claimed;
    const onGrid = Math.round(claimed / this.#frame) * this.#frame;
    const fits = Math.abs(claimed - onGrid) <= TOLERANCE;
    // Upwards, so that no picture is shown before it is decoded.
    if (isKey) this.#shift = fits ? Math.ceil(onGrid / MILLISECOND) * MILLISECOND - onGrid : 0;
    return fits ? Math.round(onGrid + this.#shift) : claimed;
  }
}
