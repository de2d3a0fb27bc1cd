import type { FfmpegLimits } from './limits.ts';
import { redacted } from './redact.ts';

/** The end of what a process says on its standard error. A flood costs neither memory nor the thread: it waits. */
export class ErrorTail {
  readonly #limits: FfmpegLimits;
  readonly #secrets: readonly string[];
  #kept = Buffer.alloc(0);

  constructor(options: { limits: FfmpegLimits; secrets: readonly string[] }) {
    this.#limits = options.limits;
    this.#secrets = options.secrets;
  }

  /** Reads to the end of it. Never fails. */
  async read(stream: ReadableStream<Uint8Array>, pause: (ms: number) => Promise<void>): Promise<void> {
    let sincePause = 0;
    try {
      for await (const bytes of stream) {
        this.#keep(bytes);
        sincePause += bytes.length;
        if (sincePause < this.#limits.errorsAtOnce) continue;
        sincePause = 0;
        await pause(this.#limits.errorPause);
      }
    } catch {
      // The process is gone.
    }
  }

  /** Without secrets, and without a first line that is not whole. */
  text(): string {
    const text = this.#kept.toString('utf8');
    // Half a secret would not be known as one.
    const isCut = this.#kept.length >= this.#limits.errorTail;
    const start = isCut ? text.indexOf('\n') + 1 || text.length : 0;
    return redacted(text.slice(start), this.#secrets);
  }

  #keep(bytes: Uint8Array): void {
    const most = this.#limits.errorTail;
    const last = bytes.subarray(Math.max(0, bytes.length - most));
    const before = this.#kept.subarray(Math.max(0, this.#kept.length + last.length - most));
    this.#kept = Buffer.concat([before, last]);
  }
}
