/**
 * What the file of a recording costs: writing it part by part, taking it up again, and the moov at its end.
 * `bun bench/take-file.ts [hours] [fps] [folder]`. 1 Mb/s, key frames every 2 s, AAC at 48 kHz, parts of a third of a second,
 * pictures shown out of order so that their tables are as long as they can be.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGrowingFile } from '../runtime/media/recording/file/growing-file.ts';
import type { Steps } from '../runtime/media/recording/file/steps.ts';
import type { FileIo } from '../runtime/media/recording/thread/file-io.ts';
import { atOnce } from '../test/recording/at-once.ts';
import { fragmentOf, initOf, type Sample } from '../test/recording/fragments.ts';

const hours = Number(process.argv[2] ?? 2);
const fps = Number(process.argv[3] ?? 30);
const folder = mkdtempSync(join(process.argv[4] ?? tmpdir(), 'millrace-bench-'));
const BITRATE = 1e6;

class DiskIo implements FileIo {
  reads = 0;
  readonly #file = openSync(join(folder, 'take.mp4'), 'w+');
  get size(): number {
    return fstatSync(this.#file).size;
  }
  read(at: number, into: Uint8Array): number {
    this.reads += 1;
    return readSync(this.#file, into, 0, into.length, at);
  }
  write(at: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#file, bytes, done, bytes.length - done, at + done);
  }
  truncate(size: number): void {
    ftruncateSync(this.#file, size);
  }
  close(): void {
    closeSync(this.#file);
  }
}

/** A second of media in three parts, at a time that is written into it. */
function second(): Uint8Array[] {
  const step = 90_000 / fps;
  let sounds = 0;
  return [0, 1, 2].map((part) => {
    const video: Sample[] = [];
    const audio: Sample[] = [];
    for (let frame = (part * fps) / 3; frame < ((part + 1) * fps) / 3; frame += 1)
      video.push({
        dts: frame * step,
        duration: step + (frame % 3 === 0 ? 0 : frame % 3 === 1 ? 30 : -30),
        cts: [2 * step, 5 * step, 2 * step, 0][frame % 4],
        size: Math.round(BITRATE / 8 / fps),
        isSync: frame === 0,
      });
    for (; (sounds * 1024) / 48_000 < (part + 1) / 3; sounds += 1)
      audio.push({ dts: sounds * 1024, duration: 1024, size: 340 + (sounds % 9) });
    return fragmentOf({ video, audio });
  });
}

/** Moves the decode times of a part to another second. */
function move(part: Uint8Array, at: number, first: readonly [number, number]): void {
  const view = new DataView(part.buffer);
  const videoAt = 24 + 8 + 20 + 12;
  const audioAt = 24 + view.getUint32(24) + 8 + 20 + 12;
  view.setBigUint64(videoAt, BigInt(at * 90_000 + first[0]));
  view.setBigUint64(audioAt, BigInt(at * 48_000 + first[1]));
}

const rss = () => Math.round(process.memoryUsage().rss / 1e6);
function timed<T>(name: string, act: () => T): T {
  Bun.gc(true);
  const before = rss();
  const began = performance.now();
  const result = act();
  const took = performance.now() - began;
  console.log(`${name}: ${took.toFixed(0)} ms, ${io.reads} reads; RSS ${before} → ${rss()} MB`);
  io.reads = 0;
  return result;
}

/** All of it, and how long the longest piece took. */
function inPieces<T>(steps: Steps<T>): T {
  let longest = 0;
  for (let pieces = 1; ; pieces += 1) {
    const began = performance.now();
    const step = steps.next();
    longest = Math.max(longest, performance.now() - began);
    if (!step.done) continue;
    console.log(`  ${pieces} pieces, the longest ${longest.toFixed(1)} ms`);
    return step.value;
  }
}

const io = new DiskIo();
const parts = second();
const firsts = parts.map((part): [number, number] => {
  const view = new DataView(part.buffer);
  const audioAt = 24 + view.getUint32(24) + 8 + 20 + 12;
  return [Number(view.getBigUint64(24 + 8 + 20 + 12)), Number(view.getBigUint64(audioAt))];
});
const seconds = hours * 3600;
const file = atOnce(openGrowingFile(io));
timed(`${seconds * 3} parts written`, () => {
  file.begin(initOf());
  for (let at = 0; at < seconds; at += 1)
    for (const [index, part] of parts.entries()) {
      move(part, at, firsts[index]);
      const startsSegment = index === 0 && at % 2 === 0;
      file.part(part, { wallStart: at * 1000, duration: 1 / 3, isIndependent: index === 0, startsSegment });
    }
  file.pause();
});
const again = timed('taken up again', () => inPieces(openGrowingFile(io)));
const finished = timed('finished', () => inPieces(again.finish()));
timed('finished once more', () => inPieces(again.finish()));
console.log(
  `${(io.size / 1e6).toFixed(0)} MB, moov ${((finished?.head.bytes.length ?? 0) / 1e6).toFixed(2)} MB, ${again.count} segments, ${finished?.spec.duration} s`,
);
io.close();
rmSync(folder, { recursive: true });
