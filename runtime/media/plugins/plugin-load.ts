/** How much of the thread that reads sockets one plugin takes for the media that it is given, all broadcasts together. */
export class PluginLoad {
  /** ms since the process began. */
  total = 0;
  readonly #onSlow: (share: number) => void;
  #spent = 0;
  #since = -1;

  /** @param options.onSlow called with the share of a core, 0 to 1, once for each 10 s in which it was too much */
  constructor(options: { onSlow(share: number): void }) {
    this.#onSlow = options.onSlow;
  }

  /** A call took `ms`, and ended at `at`, ms of a steady clock. */
  add(ms: number, at: number): void {
    this.total += ms;
    this.#spent += ms;
    if (this.#since < 0) this.#since = at - ms;
    const passed = at - this.#since;
    if (passed < span) return;
    const share = this.#spent / passed;
    this.#spent = 0;
    this.#since = at;
    if (share > most) this.#onSlow(share);
  }
}

/** ms over which it is measured. */
const span = 10_000;
/** Of a core: a node has one for all its broadcasts and viewers. */
const most = 0.2;
