import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import { readVideoHeader } from '../../../runtime/media/codecs/headers.ts';
import { VIDEO_AVC } from '../../../runtime/media/flv/message.ts';
import { box, full, join, u32, u64 } from '../../../runtime/media/mp4/box.ts';
import { writeInit } from '../../../runtime/media/mp4/init.ts';
import { boxes } from '../../hls/box.ts';
import { find, readFragments } from '../../hls/boxes.ts';
import { AVC_240P, AVC_360P } from '../../hls/feed.ts';

export interface ScriptedProcessOptions {
  readonly profiles: readonly RenditionProfile[];
  /** Seconds; as of `LadderRun`. */
  readonly from: number | undefined;
  /** Parameter sets in place of those that it has by default. */
  readonly records?: readonly Uint8Array[];
  /** Pictures that the decoder holds back, as one does for B-frames. */
  readonly delay?: number;
  /** Pictures that the decoder cannot read: shown at these ticks. */
  readonly isBroken?: (shown: number) => boolean;
}

interface Picture {
  readonly shown: number;
  readonly isKey: boolean;
}

/**
 * What ffmpeg makes of a run, without ffmpeg: it reads fragmented mp4, puts pictures in the order in which they are shown, leaves
 * out those before `from` and those beyond the rate of a profile, and writes each as ffmpeg 5.1 does (seen with
 * `-frag_duration 1`: tfhd 0x20038, tfdt version 1, a trun with nothing but the place of its data).
 */
export class ScriptedProcess {
  readonly #options: ScriptedProcessOptions;
  readonly #delay: number;
  #pictures: Picture[] = [];
  #hasKey = false;
  #hasHead = false;
  #fragments = 0;
  /** By profile: the slot of the picture given last, counted from its last key frame. */
  readonly #slots: { key: number; slot: number }[] = [];

  constructor(options: ScriptedProcessOptions) {
    this.#options = options;
    this.#delay = options.delay ?? 3;
  }

  /** Reads an init segment or a part; what is written meanwhile. */
  read(bytes: Uint8Array): Uint8Array {
    if (boxes(bytes)[0].type === 'ftyp') return new Uint8Array();
    for (const { runs } of readFragments(bytes)) {
      const run = runs.find(({ track }) => track === 1);
      if (run === undefined) throw new Error('a part has no pictures');
      let decoded = run.start;
      for (const { duration, cts, isSync } of run.samples) {
        this.#decode({ shown: decoded + cts, isKey: isSync });
        decoded += duration;
      }
    }
    return this.#give(this.#delay);
  }

  /** The input is over. */
  finish(): Uint8Array {
    return this.#give(0);
  }

  #decode(picture: Picture): void {
    if (this.#options.isBroken?.(picture.shown)) return;
    if (!this.#hasKey && !picture.isKey) return;
    // Those of an open GOP in front of the first key frame cannot be decoded.
    const first = this.#hasKey ? Number.NEGATIVE_INFINITY : picture.shown;
    this.#hasKey = true;
    if (picture.shown < first) return;
    const at = this.#pictures.findLastIndex(({ shown }) => shown < picture.shown);
    this.#pictures.splice(at + 1, 0, picture);
  }

  #give(rest: number): Uint8Array {
    const written: Uint8Array[] = [];
    while (this.#pictures.length > rest) {
      const [picture] = this.#pictures.splice(0, 1);
      if (picture.shown < Math.round((this.#options.from ?? 0) * 90_000)) continue;
      if (!this.#hasHead) written.push(outputHead(this.#records));
      const isFirst = !this.#hasHead;
      this.#hasHead = true;
      for (const [index, profile] of this.#options.profiles.entries())
        if (this.#isKept(index, { profile, picture })) {
          this.#fragments += 1;
          const isKey = picture.isKey || isFirst;
          const data = pictureBytes({ rendition: index, shown: picture.shown, isKey });
          const told = { track: index + 1, time: picture.shown, isKey, data };
          written.push(outputFragment(told, { sequence: this.#fragments }));
        }
    }
    return join(written);
  }

  get #records(): readonly Uint8Array[] {
    return this.#options.records ?? recordsOf(this.#options.profiles.length);
  }

  #isKept(index: number, { profile, picture }: { profile: RenditionProfile; picture: Picture }): boolean {
    if (profile.fps === 0) return true;
    const slots = this.#slots;
    if (picture.isKey || slots[index] === undefined) {
      slots[index] = { key: picture.shown, slot: 0 };
      return true;
    }
    const slot = Math.floor(((picture.shown - slots[index].key) / 90_000) * profile.fps + 0.1);
    if (slot === slots[index].slot) return false;
    slots[index].slot = slot;
    return true;
  }
}

/** By turns of two sizes. */
export function recordsOf(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => (index % 2 === 0 ? AVC_360P : AVC_240P));
}

/** One NAL unit that says whose it is. */
export function pictureBytes(options: { rendition: number; shown: number; isKey: boolean }): Uint8Array {
  const { rendition, shown, isKey } = options;
  const size = isKey ? 900 : 120 + (shown % 31);
  const nal = new Uint8Array(size).fill(rendition + 1);
  nal[0] = isKey ? 0x65 : 0x41;
  nal.set(u64(shown), 1);
  return join([u32(size), nal]);
}

/** When a picture of `pictureBytes` is shown, ticks. */
export function shownOf(bytes: Uint8Array): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(5));
}

/** `ftyp` and `moov` with a video track for each record. */
export function outputHead(records: readonly Uint8Array[]): Uint8Array {
  const inits = records.map((record, index) => {
    const config = readVideoHeader(VIDEO_AVC, record);
    if ('malformed' in config) throw new Error(config.malformed);
    return writeInit({ video: { id: index + 1, timescale: 90_000, config, record } });
  });
  const whole = (bytes: Uint8Array, path: string) =>
    find(bytes, path).map(({ type, body }) =>
      box(type, new Uint8Array(body.buffer, body.byteOffset, body.byteLength)),
    );
  const [mvhd] = whole(inits[0], 'moov/mvhd');
  const traks = inits.flatMap((init) => whole(init, 'moov/trak'));
  const trex = inits.flatMap((init) => whole(init, 'moov/mvex/trex'));
  return join([box('ftyp', u32(0x69736f35, 512)), box('moov', mvhd, ...traks, box('mvex', ...trex))]);
}

/** `moof` and `mdat` of one picture. `time`: ticks. */
export function outputFragment(
  picture: { track: number; time: number; isKey: boolean; data: Uint8Array },
  options: { sequence: number },
): Uint8Array {
  const { track, time, isKey, data } = picture;
  const flags = isKey ? 0x02000000 : 0x01010000;
  const moof = (offset: number) =>
    box(
      'moof',
      full('mfhd', 0, 0, u32(options.sequence)),
      box(
        'traf',
        full('tfhd', 0, 0x020038, u32(track, 3000, data.length, flags)),
        full('tfdt', 1, 0, u64(time)),
        full('trun', 0, 1, u32(1, offset)),
      ),
    );
  return join([moof(moof(0).length + 8), box('mdat', data)]);
}
