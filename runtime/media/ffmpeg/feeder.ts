import type { FfmpegProcess } from './process.ts';

/** Writes to the standard input of one process, as fast as it reads. */
export class Feeder {
  #isStopped = false;
  #wake = () => {};
  /** To be called when the process takes bytes again. */
  readonly onDrain = (): void => this.#wake();

  /** Nothing more is written. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  /** Resolves when all bytes are taken, or after `stop`. `onTaken` is called when some are. */
  async write(
    process: Pick<FfmpegProcess, 'write'>,
    bytes: Uint8Array,
    onTaken: () => void = () => {},
  ): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#isStopped; ) {
      const count = process.write(bytes.subarray(at));
      if (count > 0) onTaken();
      at += count;
      if (at < bytes.length)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
