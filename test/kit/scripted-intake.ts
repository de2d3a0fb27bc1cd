import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import type { FilmPlayback, Inspector } from '../../core/ports/inspector.ts';
import type { Intake, NewPartialFile, Pace, PartialFile, ReceivedFile } from '../../core/ports/intake.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import { writeSegmentBlock, writeSegmentIndex } from '../../core/vod/segment-index.ts';

export interface ScriptedIntake extends Intake {
  /** Bytes that the disk has for files; less than none: it is nearly full. */
  room: number;
  /** How fast each body was to come. */
  readonly paces: (Pace | undefined)[];
}

/** Text of a file → what differs from the film of 640x360 and 8 s that it is otherwise. */
export type Films = (text: string) => Partial<VideoSpec>;

function noRoom(): Fault {
  return new Fault('intake.full', { status: 507, message: 'there is no room' });
}

/**
 * Takes files in at once and in memory, then writes them below `folder`: in one go, for virtual time does not wait for a disk.
 * Partial ones outlive `crash`, as on a disk.
 */
export function scriptedIntake(folder: string): ScriptedIntake {
  const partial = new Map<string, PartialFile>();
  const paces: ScriptedIntake['paces'] = [];
  let room = Number.POSITIVE_INFINITY;
  return {
    paces,
    partial: {
      async begin(file) {
        if (room < 0) throw noRoom();
        const one = scriptedPartialFile(folder, {
          ...{ file, paces },
          onRemoved: () => void partial.delete(file.id),
        });
        partial.set(file.id, one);
        return one;
      },
      find: (id) => partial.get(id),
      list: () => [...partial.values()],
    },
    async open() {
      mkdirSync(folder, { recursive: true });
      return { count: 0, bytes: 0 };
    },
    async checkRoom(bytes) {
      if (bytes > room) throw noRoom();
    },
    get room() {
      return room;
    },
    set room(bytes) {
      room = bytes;
    },
    async receive(body, { most, expected = 0, least, signal, onBytes }) {
      paces.push(least);
      const tooLarge = () => new Fault('intake.too_large', { status: 413, message: 'too large' });
      if (expected > most) throw tooLarge();
      if (room < 0 || expected > room) throw noRoom();
      const pieces: Uint8Array[] = [];
      let size = 0;
      const reader = body?.getReader();
      while (reader) {
        const { done, value } = await reader.read().catch((cause: unknown) => {
          throw new Fault('intake.broken', { status: 400, message: 'broken', cause });
        });
        signal.throwIfAborted();
        if (done) break;
        size += value.byteLength;
        if (size > most) throw tooLarge();
        pieces.push(value);
        onBytes?.(size);
      }
      return received(folder, Buffer.concat(pieces));
    },
    close: async () => {},
  };
}

function scriptedPartialFile(
  folder: string,
  { file, paces, onRemoved }: { file: NewPartialFile; paces: ScriptedIntake['paces']; onRemoved(): void },
): PartialFile {
  let bytes = Buffer.alloc(0);
  return {
    ...file,
    get offset() {
      return bytes.length;
    },
    async append(body, { least, skip = 0, signal, onBytes }) {
      paces.push(least);
      let toSkip = skip;
      const { promise: ended, reject } = Promise.withResolvers<never>();
      ended.catch(() => {});
      signal.addEventListener('abort', () => reject(signal.reason));
      const reader = body?.getReader();
      while (reader) {
        const read = reader.read().catch((cause: unknown) => {
          throw new Fault('intake.broken', { status: 400, message: 'broken', cause });
        });
        const { done, value } = await Promise.race([read, ended]);
        signal.throwIfAborted();
        if (done) break;
        const piece = value.subarray(toSkip);
        toSkip = Math.max(0, toSkip - value.byteLength);
        if (bytes.length + piece.byteLength > file.size)
          throw new Fault('intake.beyond', { status: 413, message: 'beyond' });
        bytes = Buffer.concat([bytes, piece]);
        onBytes?.(bytes.length);
      }
      return bytes.length;
    },
    received: () => received(folder, bytes),
    async remove() {
      onRemoved();
    },
  };
}

async function received(folder: string, bytes: Uint8Array): Promise<ReceivedFile> {
  const path = join(folder, uuid());
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, bytes);
  const hash = (name: string) => createHash(name).update(bytes).digest('hex');
  const hashes = { md5: hash('md5'), sha256: hash('sha256') };
  return { path, size: bytes.length, ...hashes, discard: async () => rmSync(path, { force: true }) };
}

/**
 * Refuses what begins with `refuse: `, for the rest of its text, and what begins with `foreign: ` as WebM, `of 6 s` where it says so; all else is a film of 8 s. It has one segment, `head` and the
 * text; and `front`, followed by the text behind its first two characters, is what it is with its index in front. What begins
 * with `uncut: ` has neither, for the rest of its text.
 *
 * @param films what is otherwise in the film of this text
 */
export function scriptedInspector(films: Films = () => ({})): Inspector {
  return {
    async inspect(file, { keep }) {
      const text = 'path' in file ? readFileSync(file.path, 'latin1') : '';
      if (text.startsWith('refuse: ')) return { ok: false, reason: text.slice(8) };
      if (text.startsWith('foreign: '))
        return {
          ...{ ok: false, reason: 'it is Matroska or WebM' },
          foreign: { container: 'matroska', ...lengthIn(text) },
        };
      if (text.startsWith('busy'))
        throw new Fault('inspection.unavailable', { status: 503, message: 'busy', retryAfter: 1 });
      const uncut = text.startsWith('uncut: ') && text.slice(7);
      await keep?.(uncut ? {} : filmOf(text));
      return {
        ...(uncut && { uncut }),
        ok: true,
        passedOver: [],
        spec: {
          ...{ format: 'mp4', duration: 8, bitrate: 1000 },
          tracks: [
            { type: 'video', codec: 'h264', duration: 8, bitrate: 800, fps: 30, width: 640, height: 360 },
            { type: 'audio', codec: 'aac', duration: 8, bitrate: 200, channels: 2, sampleRate: 48_000 },
          ],
          ...films(text),
        },
      };
    },
    close: async () => {},
  };
}

function filmOf({ length }: string): FilmPlayback {
  const init = Buffer.from('init');
  const block = writeSegmentBlock({ head: Buffer.from('head'), ranges: [[0, length]] });
  const at = { at: init.length, size: block.length };
  return {
    hls: {
      index: writeSegmentIndex({
        inits: [{ at: 0, size: init.length, codecs: ['avc1.64001e', 'mp4a.40.2'], width: 640, height: 360 }],
        bandwidth: { average: 1000, peak: 1000 },
        segments: [{ ...at, duration: 8, wallStart: Number.NaN, init: 0, isDiscontinuity: false }],
      }),
      heads: [new Uint8Array(init), block],
    },
    head: { parts: [new Uint8Array(Buffer.from('front'))], from: 2, to: length },
  };
}

function lengthIn(text: string): { duration?: number } {
  const seconds = / of (\d+) s/.exec(text)?.[1];
  return seconds === undefined ? {} : { duration: Number(seconds) };
}
