/** How far a time may be from the grid and still be taken for a rounded one: 1 ms and a rounding, in ticks. */
const TOLERANCE = 100;
/** Most frames that may be left out between two and still keep to the grid. */
const LONGEST_SKIP = 30;

/**
 * Undoes the rounding of RTMP, whose times are whole milliseconds: at 30 frames a second they step by 33, 33,
 * 34, and players that count in frames see two frames at one time now and then. When the frame rate is known,
 * a time that is within a millisecond of the frame grid is put on it; any other stays, and the grid goes on
 * from there. All times in ticks of 1/90000 s.
 */
export class FrameGrid {
  #frame = 0;
  #last = Number.NaN;

  /** @param frameRate frames per second, or undefined: then nothing is put right. */
  use(frameRate: number | undefined): void {
    const frame = frameRate !== undefined && frameRate >= 1 && frameRate <= 240 ? 90_000 / frameRate : 0;
    if (frame !== this.#frame) this.#last = Number.NaN;
    this.#frame = frame;
  }

  /** The decode time of the next frame. */
  time(claimed: number): number {
    if (this.#frame === 0) return Math.round(claimed);
    const frames = Math.round((claimed - this.#last) / this.#frame);
    const onGrid = this.#last + frames * this.#frame;
    const fits = frames >= 1 && frames <= LONGEST_SKIP && Math.abs(claimed - onGrid) <= TOLERANCE;
    this.#last = fits ? onGrid : claimed;
    return Math.round(this.#last);
  }

  /** A composition offset: a whole number of frames when it is close to one. */
  offset(claimed: number): number {
    if (this.#frame === 0) return claimed;
    const onGrid = Math.round(claimed / this.#frame) * this.#frame;
    return Math.abs(claimed - onGrid) <= TOLERANCE ? Math.round(onGrid) : claimed;
  }
}
