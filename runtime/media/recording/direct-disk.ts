import type { RecorderLimits } from './limits.ts';
import { takeBlock } from './take-file.ts';
import { codeOf, isFull } from './trouble.ts';

export interface DirectDiskOptions {
  readonly limits: DirectLimits;
  /** ms, of a clock that only goes forward; fractions count. */
  now(): number;
  /** Told once each. */
  onRefused(error: unknown): void;
  onFailed(error: unknown): void;
  onSlow(): void;
}

/**
 * Whether the files of recordings may be written and read past the cache of the system (`O_DIRECT`), which takes a small part of the
 * CPU: the disk fetches what is written from our memory by itself. Such a call waits for the disk, and some disks know none: then
 * it is done the ordinary way, for a while or for good.
 */
export class DirectDisk {
  /** Begins on a page, as such calls want it; of all files, used again and again. */
  readonly room: Uint8Array;
  readonly #options: DirectDiskOptions;
  #isRefused = false;
  #wasSlow = false;
  #hasFailed = false;
  #offUntil = Number.NEGATIVE_INFINITY;
  /** The look at how long calls take. */
  #look = lookFrom(Number.NEGATIVE_INFINITY);

  constructor(options: DirectDiskOptions) {
    this.#options = options;
    const size = options.limits.directPiece - (options.limits.directPiece % takeBlock);
    this.room = pageMemory(Math.max(takeBlock, size));
  }

  get isOn(): boolean {
    return !this.#isRefused && this.#options.now() >= this.#offUntil;
  }

  /**
   * What the call answers; undefined: the disk knows no such calls, and nothing was done. Throws what else the disk says: unless it
   * is full, the ordinary way is taken for a while, which a file system with half of such calls may yet know.
   */
  ask<T>(call: () => T): T | undefined {
    const began = this.#options.now();
    try {
      return call();
    } catch (error) {
      if (!refusals.has(codeOf(error))) {
        if (!isFull(codeOf(error))) this.#fail(error);
        throw error;
      }
      if (!this.#isRefused) this.#options.onRefused(error);
      this.#isRefused = true;
      return undefined;
    } finally {
      this.#count(began);
    }
  }

  #fail(error: unknown): void {
    this.#rest();
    if (!this.#hasFailed) this.#options.onFailed(error);
    this.#hasFailed = true;
  }

  #rest(): void {
    this.#look = lookFrom(Number.NEGATIVE_INFINITY);
    this.#offUntil = this.#options.now() + this.#options.limits.directRest;
  }

  /** A disk that is slow is left alone: the cache of the system takes more at once, and what waits for this thread does not wait for the disk. */
  #count(began: number): void {
    const { limits, now, onSlow } = this.#options;
    const { directLook, directShare, directCall, directCalls } = limits;
    const ended = now();
    if (began - this.#look.from >= directLook) this.#look = lookFrom(began);
    this.#look.spent += ended - began;
    this.#look.calls += 1;
    if (ended - began > directCall) this.#look.long += 1;
    const { spent, calls, long } = this.#look;
    const isWaiting = spent > (directLook * directShare) / 100;
    // One that took very long says nothing: on a busy machine another may have run.
    if (!isWaiting && !(calls >= directCalls && long > calls / 2)) return;
    this.#rest();
    if (!this.#wasSlow) onSlow();
    this.#wasSlow = true;
  }
}

export type DirectLimits = Pick<
  RecorderLimits,
  'directPiece' | 'directLeast' | 'directLook' | 'directShare' | 'directCall' | 'directCalls' | 'directRest'
>;

function lookFrom(from: number) {
  return { from, spent: 0, calls: 0, long: 0 };
}

/** Of a file system without such calls, of one whose blocks are larger, or of memory that is not where it wants it. */
const refusals = new Set(['EINVAL', 'EOPNOTSUPP', 'ENOTSUP']);

/** The memory of WebAssembly begins on a page in every engine, and never moves. */
function pageMemory(size: number): Uint8Array {
  return new Uint8Array(new WebAssembly.Memory({ initial: Math.ceil(size / wasmPage) }).buffer, 0, size);
}

const wasmPage = 0x1_0000;
