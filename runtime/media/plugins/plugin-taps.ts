import type { MediaSample, MediaSubscriber } from '../../../core/plugin/media.ts';
import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import { AudioMessage, VideoMessage } from '../flv/message.ts';
import type {
  CutPart,
  PublishedHeader,
  PublishedInit,
  SampleSubscriber,
  Subscriber,
} from '../publish/subscriber.ts';
import type { PluginLoad } from './plugin-load.ts';
import type { PluginPublish } from './plugin-publish.ts';

/**
 * The subscribers of plugins to one publish. Whatever they do, what calls this does not notice: one that throws is not called
 * again.
 */
export class PluginTaps implements Subscriber, SampleSubscriber {
  readonly #timer: () => number;
  #taps: readonly Tap[] = [];
  /** Those that want samples. */
  #sampled: readonly Tap[] = [];
  /** Their subscribers and methods, in the same order: beside each other, for a cache that media runs through. */
  #subscribers: readonly MediaSubscriber[] = [];
  #methods: readonly SampleMethod[] = [];
  readonly #video = new VideoMessage();
  readonly #audio = new AudioMessage();
  /** Used again for each sample: none is good after the call. */
  readonly #picture = new Sample('video');
  readonly #sound = new Sample('audio');
  /** Samples since one was measured. */
  #turn = 0;

  /** @param options.timer ms of a steady clock */
  constructor(options: { timer: () => number }) {
    this.#timer = options.timer;
  }

  /** No plugin wants anything of the publish. */
  get isEmpty(): boolean {
    return this.#taps.length === 0;
  }

  get isActive(): boolean {
    return this.#sampled.length > 0;
  }

  get issues(): readonly string[] {
    return this.#taps.map(({ publish }) => publish.issue).filter((text) => text !== undefined);
  }

  /** Asks a plugin what it wants. `fail`: told once, when it throws. */
  add(
    publish: PluginPublish,
    options: {
      load: PluginLoad;
      fail(error: unknown): void;
      open(): MediaSubscriber | undefined;
    },
  ): void {
    const { load, fail, open } = options;
    const tap: Tap = { publish, load, fail, subscriber: {} };
    this.#taps = [...this.#taps, tap];
    let subscriber: MediaSubscriber | undefined;
    this.#each([tap], () => {
      const answer: unknown = open();
      if (answer === undefined) return undefined;
      if (answer === null || typeof answer !== 'object' || answer instanceof Promise)
        throw new TypeError('`media` of a plugin returns a subscriber or undefined, and at once');
      subscriber = answer;
      return undefined;
    });
    if (subscriber === undefined) {
      // One that only adds something to the broadcast stays, so that it ends with the publish.
      if (publish.isUsed) return;
      publish.end();
      this.#taps = this.#taps.filter((one) => one !== tap);
      return;
    }
    tap.subscriber = subscriber;
    if (subscriber.sample) this.#sample([...this.#sampled, tap]);
  }

  begin({ bytes, codecs, width, height, frameRate }: PublishedInit): void {
    const init = { bytes, codecs, width, height, frameRate };
    this.#each(this.#taps, (subscriber) => subscriber.begin?.(init));
  }

  part(bytes: Uint8Array, { time, duration, wallStart, isIndependent, startsSegment }: CutPart): void {
    const part = { time, duration: duration * 1000, wallTime: wallStart, isIndependent, startsSegment };
    this.#each(this.#taps, (subscriber) => subscriber.part?.(bytes, part));
  }

  /** The publish is over. */
  end(): void {
    this.#each(this.#taps, (subscriber) => subscriber.end?.());
    for (const { publish } of this.#taps) publish.end();
    this.#sample([]);
  }

  #sample(taps: readonly Tap[]): void {
    this.#sampled = taps;
    this.#subscribers = taps.map(({ subscriber }) => subscriber);
    this.#methods = taps.map(({ subscriber }) => subscriber.sample as SampleMethod);
  }

  announce(): void {}

  configureVideo({ bytes, start, end, config }: PublishedHeader<VideoConfig>): void {
    const message = this.#video;
    message.read(bytes, start, end);
    const { codec, width, height } = config;
    const record = bytes.subarray(message.at, message.end);
    const shown = { track: 'video', codec, bytes: record, width, height } as const;
    this.#each(this.#taps, (subscriber) => subscriber.configure?.(shown));
  }

  configureAudio({ bytes, start, end, config }: PublishedHeader<AudioConfig>): void {
    const message = this.#audio;
    message.read(bytes, start, end);
    const { codec, sampleRate, channels } = config;
    const record = bytes.subarray(message.at, message.end);
    const shown = { track: 'audio', codec, bytes: record, sampleRate, channels } as const;
    this.#each(this.#taps, (subscriber) => subscriber.configure?.(shown));
  }

  video(
    bytes: Uint8Array,
    _start: number,
    end: number,
    time: number,
    isKey: boolean,
    _now: number,
    at: number,
    shift: number,
  ): void {
    const sample = this.#picture;
    if (time > sample.time) sample.time = time;
    sample.shift = shift;
    sample.isKey = isKey;
    sample.lies(bytes, at, end);
    this.#give(sample);
  }

  audio(bytes: Uint8Array, _start: number, end: number, time: number, _now: number, at: number): void {
    const sample = this.#sound;
    if (time > sample.time) sample.time = time;
    sample.lies(bytes, at, end);
    this.#give(sample);
  }

  /** Some 80 a second of each broadcast. Time is taken of one in `measured`, and counts for all of them. */
  #give(sample: MediaSample): void {
    this.#turn += 1;
    if (this.#turn === measured) {
      this.#turn = 0;
      this.#each(this.#sampled, (subscriber) => subscriber.sample?.(sample), measured);
      return;
    }
    const taps = this.#sampled;
    const methods = this.#methods;
    const subscribers = this.#subscribers;
    for (let index = 0; index < methods.length; index += 1) {
      try {
        const answer = methods[index].call(subscribers[index], sample);
        if (answer !== undefined) this.#follow(taps[index], answer);
      } catch (error) {
        this.#detach(taps[index], error);
      }
    }
  }

  /** One look at the clock for each: where one ends, the next begins. `weight`: calls that this one stands for. */
  #each(taps: readonly Tap[], call: (subscriber: MediaSubscriber) => unknown, weight = 1): void {
    let at = this.#timer();
    for (const tap of taps) {
      try {
        const answer = call(tap.subscriber);
        if (answer !== undefined) this.#follow(tap, answer);
      } catch (error) {
        this.#detach(tap, error);
      }
      const now = this.#timer();
      tap.load.add((now - at) * weight, now);
      at = now;
    }
  }

  /** A subscriber may be asynchronous against all advice. */
  #follow(tap: Tap, answer: unknown): void {
    if (answer instanceof Promise) answer.catch((error: unknown) => this.#detach(tap, error));
  }

  #detach(tap: Tap, error: unknown): void {
    if (!this.#taps.includes(tap)) return;
    this.#taps = this.#taps.filter((one) => one !== tap);
    this.#sample(this.#sampled.filter((one) => one !== tap));
    tap.publish.withdraw();
    tap.fail(error);
  }
}

/** The sample of a track that is handed out now. */
class Sample implements MediaSample {
  readonly track: MediaSample['track'];
  time = 0;
  shift = 0;
  isKey = true;
  size = 0;
  #source = new Uint8Array(0);
  #at = 0;
  #bytes: Uint8Array | undefined;

  constructor(track: MediaSample['track']) {
    this.track = track;
  }

  /** Made for the first who looks at it. */
  get bytes(): Uint8Array {
    this.#bytes ??= this.#source.subarray(this.#at, this.#at + this.size);
    return this.#bytes;
  }

  lies(source: Uint8Array, at: number, end: number): void {
    this.#source = source as Uint8Array<ArrayBuffer>;
    this.#at = at;
    this.size = end - at;
    this.#bytes = undefined;
  }
}

/** A prime, so that it meets pictures and sound by turns. */
const measured = 61;

type SampleMethod = (this: MediaSubscriber, sample: MediaSample) => unknown;

interface Tap {
  readonly publish: PluginPublish;
  readonly load: PluginLoad;
  readonly fail: (error: unknown) => void;
  subscriber: MediaSubscriber;
}
