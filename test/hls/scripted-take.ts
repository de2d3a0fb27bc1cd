import type { IndexedInit, IndexedSegment } from '../../core/vod/segment-index.ts';
import type { PublishedInit, PublishedPart } from '../../runtime/media/publish/subscriber.ts';
import type { RecordingFeed, WrittenRecording } from '../../runtime/media/recording/feed.ts';

/** A take in memory: it remembers every call, and has what was fed as a real one has it, a segment when it is whole. */
export class ScriptedTake implements WrittenRecording {
  /** `begin`, `part`, `end` of all its feeds, in order; of parts with `S` for the start of a segment and `I` for a key frame. */
  readonly calls: string[] = [];
  readonly inits: IndexedInit[] = [];
  readonly parts: { readonly bytes: Uint8Array; readonly part: PublishedPart }[] = [];
  /** Said in `issues` of its feeds. */
  issues: string[] = [];
  /** What a part is answered; 'throws' throws. */
  takes: boolean | 'throws' = true;
  readonly #bytes: Uint8Array[] = [];
  #size = 0;
  readonly #segments: IndexedSegment[] = [];
  #open: { -readonly [K in keyof IndexedSegment]: IndexedSegment[K] } | undefined;
  #isDiscontinuity = true;

  get count(): number {
    return this.#segments.length;
  }

  segment(number: number): IndexedSegment {
    const found = this.#segments[number];
    if (found === undefined) throw new RangeError(`there is no segment ${number}`);
    return found;
  }

  async read(from: number, to: number): Promise<ReadableStream<Uint8Array>> {
    return new Response(await this.bytes(from, to)).body as ReadableStream<Uint8Array>;
  }

  bytes(from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    return new Blob(this.#bytes as Uint8Array<ArrayBuffer>[]).slice(from, to).bytes();
  }

  /** A publish of it. */
  feed(): RecordingFeed {
    const take = this;
    return {
      begin: (init) => take.#begin(init),
      part: (bytes, part) => take.#part(bytes, part),
      end: () => take.#end(),
      get issues() {
        return take.issues;
      },
      written: take,
    };
  }

  #begin({ bytes, ...init }: PublishedInit): void {
    this.calls.push('begin');
    this.#close();
    this.inits.push({ ...init, at: this.#write(bytes), size: bytes.length });
    this.#isDiscontinuity = true;
  }

  #part(bytes: Uint8Array, part: PublishedPart): boolean {
    this.calls.push(`part${part.startsSegment ? ' S' : ''}${part.isIndependent ? ' I' : ''}`);
    if (this.takes === 'throws') throw new Error('the recorder has a fault');
    if (!this.takes) return false;
    const { wallStart, duration, startsSegment } = part;
    const copy = bytes.slice();
    this.parts.push({ bytes: copy, part });
    if (startsSegment) {
      this.#close();
      const init = this.inits.length - 1;
      const isDiscontinuity = this.#isDiscontinuity;
      this.#open = { at: this.#size, size: 0, duration: 0, wallStart, init, isDiscontinuity };
      this.#isDiscontinuity = false;
    }
    if (this.#open === undefined) throw new Error('a take begins with a segment');
    this.#write(copy);
    this.#open.size += copy.length;
    this.#open.duration += duration;
    return true;
  }

  #end(): void {
    this.calls.push('end');
    this.#close();
  }

  #close(): void {
    if (this.#open !== undefined) this.#segments.push(this.#open);
    this.#open = undefined;
  }

  #write(bytes: Uint8Array): number {
    const at = this.#size;
    this.#bytes.push(bytes);
    this.#size += bytes.length;
    return at;
  }
}
