import { Fault } from '../../../core/base/fault.ts';
import type { Pace } from '../../../core/ports/intake.ts';

/** Whether a sender is as fast as he must be, by what was waited for him: where we are slow it is no matter. */
export class SenderPace {
  readonly #least: Pace | undefined;
  /** Since it was last looked: ms, bytes. */
  #waited = 0;
  #came = 0;

  constructor(least: Pace | undefined) {
    this.#least = least;
  }

  /** A piece came. Throws Fault `intake.slow`. */
  note(piece: { readonly bytes: number; readonly waited: number }): void {
    if (!this.#least) return;
    const { rate, window } = this.#least;
    this.#waited += piece.waited;
    this.#came += piece.bytes;
    if (this.#waited < window) return;
    if (this.#came * 1000 < rate * this.#waited) throw tooSlow(this.#came, { waited: this.#waited, rate });
    this.#waited = 0;
    this.#came = 0;
  }
}

function tooSlow(bytes: number, { waited, rate }: { waited: number; rate: number }): Fault {
  const message = `The file comes too slowly: ${bytes} bytes in ${Math.round(waited / 1000)} s; at least ${rate} bytes a second are wanted.`;
  return new Fault('intake.slow', { status: 408, message });
}
