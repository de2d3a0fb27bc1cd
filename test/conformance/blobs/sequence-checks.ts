import type { BlobRange, Blobs, BlobUpload } from '../../../core/ports/blobs.ts';
import { expect } from '../../kit/checked.ts';
import type { BlobCheck } from './check.ts';
import { bytesOf, hashOf, keysBelow, mebibyte, unfinishedBelow } from './fixtures.ts';
import { modelBlobs } from './model.ts';

const seeds = [1, 2, 3, 4, 5, 6];
const calls = 120;
const partSize = 5 * mebibyte;

/** Generated calls, one after the other, made of the driver and of the model: every answer and all that is stored are the same. */
export const sequenceChecks: readonly BlobCheck[] = seeds.map((seed) => ({
  name: `generated calls are answered as the model answers them, seed ${seed}`,
  async run({ blobs, folder, another }) {
    const other = await another();
    const model = modelBlobs();
    const game = new Game({ folder, seed, hasParts: blobs.adopting === 'copy' });
    for (let number = 0; number < calls; number++) {
      const { text, make } = game.next(number);
      // Two processes: what one does the other sees.
      const answer = await game.answer(make, { blobs: number % 3 === 0 ? other : blobs, side: 0 });
      const expected = await game.answer(make, { blobs: model, side: 1 });
      expect({ number, text, answer }).toEqual({ number, text, answer: expected });
    }
    expect(await view(blobs, folder)).toEqual(await view(model, folder));
    expect((await unfinishedBelow(blobs, folder)).map(({ key }) => key).sort()).toEqual(
      (await unfinishedBelow(model, folder)).map(({ key }) => key).sort(),
    );
    await other.close();
  },
}));

async function view(blobs: Blobs, folder: string): Promise<unknown> {
  return Promise.all(
    (await keysBelow(blobs, folder)).map(async (key) => {
      const got = await blobs.get(key);
      if (got.outcome !== 'ok') return [key, got.outcome];
      return [key, got.blob.size, got.blob.type, hashOf(await new Response(got.body).bytes())];
    }),
  );
}

type Side = 0 | 1;
type Make = (blobs: Blobs, side: Side) => Promise<unknown>;

/** Draws the calls, and knows each etag and upload by its name in both worlds. */
class Game {
  readonly #folder: string;
  readonly #hasParts: boolean;
  #state: number;
  readonly #etags: [string, string][] = [];
  readonly #uploads: [BlobUpload, BlobUpload][] = [];

  constructor({ folder, seed, hasParts }: { folder: string; seed: number; hasParts: boolean }) {
    this.#folder = folder;
    this.#hasParts = hasParts;
    this.#state = seed * 7919;
  }

  /** With etags and ids replaced by what they are called here. */
  async answer(make: Make, { blobs, side }: { blobs: Blobs; side: Side }): Promise<unknown> {
    try {
      return await make(blobs, side);
    } catch (error) {
      return { error: (error as Error).name, code: (error as { code?: string }).code };
    }
  }

  next(number: number): { text: string; make: Make } {
    const key = `${this.#folder}${this.#one(['a.bin', 'b.bin', 'c/a.bin', 'c/b.bin', 'c/d/a.bin', 'c-d/a.bin'])}`;
    const kind = this.#draw(this.#hasParts ? 20 : 14);
    if (kind < 6) return this.#put(key, number);
    if (kind < 9) return this.#get(key);
    if (kind < 10) return { text: `head ${key}`, make: (blobs, side) => this.#head(blobs, { key, side }) };
    if (kind < 12) return this.#list();
    if (kind < 14) return { text: `delete ${key}`, make: async (blobs) => blobs.delete([key]) };
    if (this.#uploads.length === 0 || kind < 15) {
      const at = this.#uploads.length;
      this.#uploads.push([] as never);
      return {
        text: `begin ${key}`,
        make: async (blobs, side) => {
          this.#uploads[at][side] = await blobs.uploads.begin(key, { partSize });
        },
      };
    }
    return this.#upload(number);
  }

  #put(key: string, number: number): { text: string; make: Make } {
    // No two puts have the same bytes: S3's etags are made of them.
    const bytes = bytesOf(this.#one([10, 1000, 70_000]) + number, number + 1);
    const condition = this.#condition();
    return {
      text: `put ${key} ${bytes.length} ${JSON.stringify(condition)}`,
      make: async (blobs, side) => this.#learn(await blobs.put(key, bytes, condition), side),
    };
  }

  #get(key: string): { text: string; make: Make } {
    const from = this.#draw(1500);
    const ranges: (BlobRange | undefined)[] = [undefined, { from }, { from, to: from + 1 + this.#draw(900) }];
    const range = this.#one([...ranges, { last: from + 1 }]);
    return {
      text: `get ${key} ${JSON.stringify(range)}`,
      make: async (blobs, side) => {
        const got = await blobs.get(key, range && { range });
        if (got.outcome !== 'ok') return got;
        const hash = hashOf(await new Response(got.body).bytes());
        return {
          from: got.from,
          to: got.to,
          size: got.blob.size,
          etag: this.#name(got.blob.etag, side),
          hash,
        };
      },
    };
  }

  #list(): { text: string; make: Make } {
    const prefix = `${this.#folder}${this.#one(['', 'a', 'c', 'c/', 'c/d', 'x'])}`;
    const after = this.#one([
      undefined,
      `${this.#folder}b.bin`,
      `${this.#folder}c/`,
      `${this.#folder}c/a.bin`,
    ]);
    const limit = this.#one([1, 2, 10]);
    return {
      text: `list ${prefix} after ${after}, ${limit}`,
      make: async (blobs, side) => {
        const page = await blobs.list(prefix, { limit, ...(after && { after }) });
        return {
          blobs: page.blobs.map(({ key, size, etag }) => ({ key, size, etag: this.#name(etag, side) })),
          // There may be a next page with nothing in it.
          hasNext:
            page.next !== undefined &&
            (await blobs.list(prefix, { limit, after: page.next })).blobs.length > 0,
        };
      },
    };
  }

  #upload(number: number): { text: string; make: Make } {
    const at = this.#draw(this.#uploads.length);
    const kind = this.#draw(6);
    const of = (side: Side) => this.#uploads[at][side];
    if (kind < 3) {
      const part = 1 + this.#draw(3);
      const bytes = bytesOf(this.#one([partSize, partSize, 1000 + number]), number + 1);
      return {
        text: `part ${part} of ${at}: ${bytes.length}`,
        make: (blobs, side) => blobs.uploads.part(of(side), { number: part, bytes }),
      };
    }
    if (kind === 3) return { text: `parts of ${at}`, make: (blobs, side) => blobs.uploads.parts(of(side)) };
    if (kind === 4 && this.#draw(4) === 0)
      return { text: `abort ${at}`, make: (blobs, side) => blobs.uploads.abort(of(side)) };
    const size = this.#one([partSize, 2 * partSize, 3 * partSize, partSize + 1000 + number - 1]);
    const condition = this.#condition();
    return {
      text: `complete ${at} ${size} ${JSON.stringify(condition)}`,
      make: async (blobs, side) =>
        this.#learn(await blobs.uploads.complete(of(side), { size, ...condition }), side),
    };
  }

  async #head(blobs: Blobs, { key, side }: { key: string; side: Side }): Promise<unknown> {
    const facts = await blobs.head(key);
    return facts && { size: facts.size, type: facts.type, etag: this.#name(facts.etag, side) };
  }

  #condition(): { ifAbsent?: true } {
    return this.#draw(4) === 0 ? { ifAbsent: true } : {};
  }

  #name(etag: string, side: Side): number {
    return this.#etags.findIndex((pair) => pair[side] === etag);
  }

  /** The driver is asked first. */
  #learn<T extends { outcome: string }>(outcome: T, side: Side): unknown {
    if (!('etag' in outcome)) return outcome;
    const etag = outcome.etag as string;
    if (this.#name(etag, side) < 0) {
      if (side === 0) this.#etags.push([etag, '']);
      else this.#etags[this.#etags.length - 1][1] = etag;
    }
    return { ...outcome, etag: this.#name(etag, side) };
  }

  #one<T>(choices: readonly T[]): T {
    return choices[this.#draw(choices.length)];
  }

  #draw(below: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) >>> 0;
    return (this.#state >>> 8) % below;
  }
}
