import type { Blobs } from '../ports/blobs.ts';
import { type Box, boxOf, typeAt, within } from './boxes.ts';
import type { Film } from './films.ts';

/** Bytes of the index of a film that is read: some days. */
const mostIndex = 64 * 1_048_576;

/** What is read of a film, and how much. */
interface SoundOptions {
  readonly blobs: Pick<Blobs, 'get'>;
  /** Bytes that the file may have. */
  readonly most: number;
  readonly signal: AbortSignal;
}

/**
 * The sound of a film as a file of its own (`.m4a`), sample for sample: the index of the film without the pictures, then the chunks
 * of its first audio track. Undefined: it has no sound.
 *
 * Throws RangeError when the file would be larger than `most`, and for a film without an index of all samples in front, which
 * recordings have. What reading blobs throws is thrown as it is.
 */
export async function filmSound(
  { head, video }: Pick<Film, 'head' | 'video'>,
  { blobs, most, signal }: SoundOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (head === undefined || head.size > mostIndex) throw new RangeError('the film has no index in front');
  const index = boxOf(await new Response(await bodyOf(head.key, { blobs, signal })).bytes());
  const track = within(index, ['moov', 'trak']).find((one) => handlerOf(one) === 'soun');
  if (!track) return undefined;
  const chunks = chunksOf(track);
  const size = chunks.reduce((sum, chunk) => sum + chunk.size, 0);
  const header = soundHeader(index, { track, size });
  if (header.length + size > most) {
    throw new RangeError(`the sound has ${header.length + size} bytes; expected at most ${most}`);
  }
  const sound = new Uint8Array(header.length + size);
  const view = new DataView(sound.buffer);
  sound.set(header);
  // The track lies before the header of the samples.
  const trackAt = header.length - 8 - (track.to - track.from);
  let to = header.length;
  const wanted = chunks.map((chunk) => {
    chunk.write(view, { at: trackAt + chunk.at - track.from, place: to });
    // Places are counted through the head and then the video from `head.from` on.
    const copied = { from: chunk.place - head.size + head.from, size: chunk.size, to };
    to += chunk.size;
    return copied;
  });
  await copy(await bodyOf(video.key, { blobs, signal }), { wanted, sound });
  return sound;
}

async function bodyOf(
  key: string,
  { blobs, signal }: Pick<SoundOptions, 'blobs' | 'signal'>,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const got = await blobs.get(key, { signal });
  if (got.outcome !== 'ok') throw new Error(`the blob ${key} of the film is not there`);
  return got.body as ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Everything before the samples: type, index with one track, and the header of the samples. */
function soundHeader(index: Box, { track, size }: { track: Box; size: number }): Uint8Array {
  const whole = (box: Box) =>
    new Uint8Array(box.view.buffer, box.view.byteOffset + box.from - 8, box.to - box.from + 8);
  const type = whole(one(index, ['ftyp']));
  const parts = [whole(one(index, ['moov', 'mvhd'])), whole(track)];
  const length = parts.reduce((sum, part) => sum + part.length, 8);
  return Buffer.concat([type, headerOf('moov', length), ...parts, headerOf('mdat', size + 8)]);
}

function headerOf(type: string, size: number): Uint8Array {
  if (size > 0xffffffff) throw new RangeError(`the sound has ${size} bytes; expected at most 4 GiB`);
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(size);
  bytes.write(type, 4, 'latin1');
  return bytes;
}

/** Some samples that lie together. */
interface Chunk {
  /** Where its place is written in the index. */
  readonly at: number;
  readonly place: number;
  /** Bytes. */
  readonly size: number;
  write(view: DataView, written: { readonly at: number; readonly place: number }): void;
}

/** From where they lie (`co64`, or `stco` with 32 bits), which samples they have (`stsc`) and how large those are (`stsz`). */
function chunksOf(track: Box): Chunk[] {
  const table = one(track, ['mdia', 'minf', 'stbl']);
  const [long] = within(table, ['co64']);
  const [places, runs, samples] = [long ?? one(table, ['stco']), one(table, ['stsc']), one(table, ['stsz'])];
  const { view } = table;
  const fixed = view.getUint32(samples.from + 4);
  const runAt = (number: number) => runs.from + 8 + number * 12;
  const write: Chunk['write'] = (to, { at, place }) =>
    long ? to.setBigUint64(at, BigInt(place)) : to.setUint32(at, place);
  const chunks: Chunk[] = [];
  let run = 0;
  let sample = 0;
  for (let number = 0; number < view.getUint32(places.from + 4); number += 1) {
    if (run + 1 < view.getUint32(runs.from + 4) && view.getUint32(runAt(run + 1)) === number + 1) run += 1;
    let size = 0;
    for (let left = view.getUint32(runAt(run) + 4); left > 0; left -= 1, sample += 1) {
      size += fixed || view.getUint32(samples.from + 12 + sample * 4);
    }
    const at = places.from + 8 + number * (long ? 8 : 4);
    chunks.push({ at, place: long ? Number(view.getBigUint64(at)) : view.getUint32(at), size, write });
  }
  return chunks;
}

/** Copies places of a stream and drops what lies between them. */
async function copy(
  body: ReadableStream<Uint8Array>,
  { wanted, sound }: { wanted: { from: number; size: number; to: number }[]; sound: Uint8Array },
): Promise<void> {
  const places = wanted.filter(({ size }) => size > 0).sort((a, b) => a.from - b.from);
  let at = 0;
  let next = 0;
  for await (const piece of body) {
    const end = at + piece.length;
    for (let place = places[next]; place && place.from < end; place = places[next]) {
      const from = Math.max(place.from, at);
      const to = Math.min(place.from + place.size, end);
      if (from < to) sound.set(piece.subarray(from - at, to - at), place.to + from - place.from);
      if (place.from + place.size > end) break;
      next += 1;
    }
    at = end;
    if (next === places.length) return;
  }
  if (next < places.length) throw new RangeError('the film ends before its sound');
}

/** `vide` or `soun`. */
function handlerOf(track: Box): string {
  const { view, from } = one(track, ['mdia', 'hdlr']);
  return typeAt(view, from + 8);
}

function one(box: Box, path: readonly string[]): Box {
  const [found] = within(box, path);
  if (!found) throw new RangeError(`the index of the film has no ${path.join('.')}`);
  return found;
}
