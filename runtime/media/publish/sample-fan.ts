import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import type { Announced, PublishedHeader, SampleSubscriber } from './subscriber.ts';

/** Those that are there, as one. Undefined: there is none. */
export function fanOf(...all: readonly (SampleSubscriber | undefined)[]): SampleSubscriber | undefined {
  const there = all.filter((one) => one !== undefined);
  return there.length < 2 ? there[0] : new SampleFan(there);
}

/** Gives samples to several subscribers, in this order. */
class SampleFan implements SampleSubscriber {
  readonly #all: readonly SampleSubscriber[];

  constructor(all: readonly SampleSubscriber[]) {
    this.#all = all;
  }

  get isActive(): boolean {
    for (let index = 0; index < this.#all.length; index += 1) if (this.#all[index].isActive) return true;
    return false;
  }

  announce(announced: Announced): void {
    for (const one of this.#all) one.announce(announced);
  }

  configureVideo(header: PublishedHeader<VideoConfig>): void {
    for (const one of this.#all) one.configureVideo(header);
  }

  configureAudio(header: PublishedHeader<AudioConfig>): void {
    for (const one of this.#all) one.configureAudio(header);
  }

  video(
    bytes: Uint8Array,
    start: number,
    end: number,
    time: number,
    isKey: boolean,
    now: number,
    at: number,
    shift: number,
  ): void {
    for (let index = 0; index < this.#all.length; index += 1) {
      const one = this.#all[index];
      if (one.isActive) one.video(bytes, start, end, time, isKey, now, at, shift);
    }
  }

  audio(bytes: Uint8Array, start: number, end: number, time: number, now: number, at: number): void {
    for (let index = 0; index < this.#all.length; index += 1) {
      const one = this.#all[index];
      if (one.isActive) one.audio(bytes, start, end, time, now, at);
    }
  }
}
