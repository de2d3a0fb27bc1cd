/** Bit rates of one output, over its finished segments. */
export class Rate {
  /**
   * RFC 8216bis 4.4.6.2, BANDWIDTH: the greatest rate of any run of segments that lasts 0.5 to 1.5 target
   * durations; before there is such a run, the rate of all.
   */
  peak = 0;
  /** Bits per second over all segments. */
  average = 0;
  readonly #recent: { bits: number; duration: number }[] = [];
  #hasRun = false;
  #bits = 0;
  #duration = 0;

  add(bytes: number, duration: number, target: number): void {
    const bits = bytes * 8;
    this.#bits += bits;
    this.#duration += duration;
    this.average = Math.round(this.#bits / this.#duration);
    this.#recent.unshift({ bits, duration });
    let run = 0;
    let runBits = 0;
    for (let i = 0; i < this.#recent.length; i += 1) {
      run += this.#recent[i].duration;
      runBits += this.#recent[i].bits;
      if (run > target * 1.5 && i > 0) {
        this.#recent.length = i;
        break;
      }
      if (run < target * 0.5) continue;
      this.peak = this.#hasRun ? Math.max(this.peak, Math.round(runBits / run)) : Math.round(runBits / run);
      this.#hasRun = true;
    }
    if (!this.#hasRun || this.peak < this.average) this.peak = this.average;
  }
}
