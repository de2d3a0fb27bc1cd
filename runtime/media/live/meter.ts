import type { Figures } from '../../../core/ports/media.ts';

type Reading = Omit<Figures, 'segments' | 'targetDuration'>;

/** Counts one publish. Nothing is allocated per message. */
export class Meter {
  readonly #seconds = new Float64Array(SECONDS);
  readonly #issues = new Map<string, number>();
  #second = -1;
  #since = 0;
  #bytes = 0;
  #lastAt = 0;
  #from = -1;
  #until = 0;

  /** A message of `bytes` has come, at `now` in epoch milliseconds. */
  count(bytes: number, now: number): void {
    this.#bytes += bytes;
    this.#lastAt = now;
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#turn(second);
    this.#seconds[second % SECONDS] += bytes;
  }

  /** Media has reached `time`, in milliseconds of its own timeline. */
  pass(time: number): void {
    if (this.#from < 0) this.#from = this.#until = time;
    else if (time > this.#until) this.#until = time;
  }

  /** Something is wrong, at `now`; it is shown for a minute after it last happened. */
  issue(text: string, now: number): void {
    this.#issues.set(text, now);
    if (this.#issues.size <= MOST_ISSUES) return;
    let oldest = '';
    let since = Number.POSITIVE_INFINITY;
    for (const [other, at] of this.#issues) {
      if (other === text || at >= since) continue;
      oldest = other;
      since = at;
    }
    this.#issues.delete(oldest);
  }

  read(now: number): Reading {
    const second = Math.floor(now / 1000);
    if (this.#second >= 0 && second !== this.#second) this.#turn(second);
    let recent = 0;
    for (let i = 0; i < SECONDS; i += 1) if (i !== second % SECONDS) recent += this.#seconds[i];
    const span = Math.min(SECONDS - 1, second - this.#since);
    if (span < 1) recent = this.#bytes;
    return {
      bytes: this.#bytes,
      duration: this.#from < 0 ? 0 : (this.#until - this.#from) / 1000,
      ingestRate: Math.round((recent * 8) / Math.max(1, span)),
      lastMediaAt: this.#lastAt,
      issues: [...this.#issues].filter(([, at]) => now - at < SHOWN).map(([text]) => text),
    };
  }

  /** Empties the seconds in which nothing came. */
  #turn(second: number): void {
    if (this.#second < 0) this.#since = second;
    const passed = this.#second < 0 ? SECONDS : Math.min(SECONDS, Math.max(0, second - this.#second));
    for (let i = 0; i < passed; i += 1) this.#seconds[(second - i) % SECONDS] = 0;
    this.#second = second;
  }
}

/** The running second and the five before it. */
const SECONDS = 6;
/** How long an issue is shown after it last happened, ms. */
const SHOWN = 60_000;
/** Beyond, the one that happened longest ago is forgotten. */
const MOST_ISSUES = 16;
