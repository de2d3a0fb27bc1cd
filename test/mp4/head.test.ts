import { expect, it } from 'vitest';
import { inspectFile } from '../../runtime/media/mp4/inspect/inspect-file.ts';
import { readFilm } from '../../runtime/media/mp4/inspect/read-film.ts';
import { takeHead } from '../../runtime/media/vod/head.ts';
import {
  avc1,
  type Bytes,
  box,
  film,
  fragmented,
  ftyp,
  full,
  join,
  mvhd,
  tables,
  text,
  trak,
  u32,
} from './build.ts';
import { fileOf, readSamples } from './cut.ts';

/** Two samples of four bytes, a chunk each. */
const short = (...places: number[]) => [
  ...[full('stts', 0, 0, u32(1, 2, 15_000)), full('stsc', 0, 0, u32(1, 1, 1, 1))],
  ...[full('stsz', 0, 0, u32(4, 2)), full('stco', 0, 0, u32(2, ...places))],
];
const long = (...places: number[]) => [
  ...short(...places).slice(0, 3),
  full('co64', 0, 0, u32(2, ...places.flatMap((at) => [Math.floor(at / 2 ** 32), at % 2 ** 32]))),
];
const media = box('mdat', text('one.two.'));
const first = ftyp.length + 8;

async function headIn(file: Bytes) {
  return takeHead(await readFilm(fileOf(file)));
}

/** The film with its index in front. */
async function turned(file: Bytes): Promise<Bytes> {
  const head = await headIn(file);
  if (!head) throw new Error('it has no head');
  return join(...head.parts, file.subarray(head.from, head.to));
}

it.each([
  ['32 bits', short],
  ['64 bits', long],
])('puts an index with places of %s in front; every sample is what it was', async (_bits, tablesOf) => {
  const file = join(
    ...[ftyp, box('free', text('x')), media],
    box('moov', mvhd(), trak({ tables: tablesOf(first + 9, first + 13) })),
    box('free', text('behind')),
  );
  const before = await readSamples(file);
  const front = await turned(file);
  expect(
    Buffer.from(front)
      .subarray(ftyp.length + 4, ftyp.length + 8)
      .toString(),
  ).toBe('moov');
  expect(before.vide.map(({ bytes }) => bytes)).toEqual(['one.', 'two.']);
  expect(await readSamples(front)).toEqual(before);
  const said = await inspectFile(fileOf(front));
  expect(said.inspection).toMatchObject({ ok: true });
  // What is in front is left as it is.
  expect(await headIn(front)).toBeUndefined();
});

it('moves the samples of every track, also of those that are passed over', async () => {
  const words = trak({ id: 2, handler: 'text', tables: short(first, first + 4) });
  const front = await turned(
    join(ftyp, media, box('moov', mvhd(), trak({ tables: short(first, first + 4) }), words)),
  );
  const moved = first + front.length - ftyp.length - media.length;
  const stco = Buffer.from(front).lastIndexOf('stco');
  expect(new DataView(front.buffer).getUint32(stco + 12)).toBe(moved);
});

it.each([
  ['samples on both sides of the index', join(ftyp, media, moovOf(short(first, behind())), media)],
  ['a place in the index itself', join(ftyp, media, moovOf(short(first, first + 20)), media)],
  ['fragments', fragmented()],
  ['a ftyp box that is not short', longStart()],
  [
    'a track of words that is broken',
    film(mvhd(), trak(), trak({ id: 2, handler: 'text', tables: [full('stco', 0, 0, u32(1000))] })),
  ],
])('has none for a film with %s', async (_what, file) => {
  const { inspection, playback } = await inspectFile(fileOf(file), { isPlayed: true });
  expect([inspection.ok, playback?.head]).toEqual([true, undefined]);
});

it('is made of a film of another kind only when that is converted', async () => {
  const hevc = trak({ entry: avc1({ type: 'hvc1' }), tables: short(first, first + 4) });
  const file = () => join(ftyp, media, box('moov', mvhd(), hevc));
  const { length } = ftyp;
  expect((await inspectFile(fileOf(file()), { isConverted: true })).inspection).toMatchObject({
    foreign: { container: 'mp4', front: { from: length, to: length + media.length } },
  });
  // It is known to be one that could be converted all the same.
  const { inspection } = await inspectFile(fileOf(file()));
  expect(inspection).toMatchObject({ ok: false, foreign: { container: 'mp4' } });
  expect(inspection).not.toHaveProperty('foreign.front');
  const both = join(
    ftyp,
    media,
    box('moov', mvhd(), trak({ entry: avc1({ type: 'hvc1' }), tables: short(first, 9000) })),
  );
  expect((await inspectFile(fileOf(both))).inspection).not.toHaveProperty('foreign');
});

it('has none where a place would need more than 32 bits', async () => {
  const place = 2 ** 32 - 100;
  const start = (tablesOf: typeof short) => {
    const moov = moovOf(tablesOf(first, place));
    const mdat = join(u32(1), text('mdat'), u32(0, 1), u32(0));
    return { moov, mdat };
  };
  for (const [tablesOf, isThere] of [
    [short, false],
    [long, true],
  ] as const) {
    const { moov, mdat } = start(tablesOf);
    const moovAt = place + 100;
    // A box of 4 GiB that nobody has to make.
    new DataView(mdat.buffer).setBigUint64(8, BigInt(moovAt - ftyp.length));
    const size = moovAt + moov.length;
    const parts = [
      [0, ftyp],
      [ftyp.length, mdat],
      [moovAt, moov],
    ] as const;
    const film = await readFilm({
      size,
      async read(from, to) {
        const bytes = new Uint8Array(to - from);
        for (const [at, part] of parts) {
          const [begin, end] = [Math.max(from, at), Math.min(to, at + part.length)];
          if (begin < end) bytes.set(part.subarray(begin - at, end - at), begin - from);
        }
        return bytes;
      },
    });
    expect([tablesOf.name, takeHead(film) !== undefined]).toEqual([tablesOf.name, isThere]);
  }
});

function moovOf(rows: Bytes[]): Bytes {
  return box('moov', mvhd(), trak({ tables: rows }));
}

function behind(): number {
  return first + 8 + moovOf(short(0, 0)).length + 8;
}

function longStart(): Bytes {
  const start = box('ftyp', text('isom'), u32(512), text('isom'.repeat(1024)));
  const [stts, stsc, stsz, stco] = Object.values(tables(start.length + 8));
  const samples = box('mdat', new Uint8Array(4000));
  return join(start, samples, moovOf([stts, stsc, stsz, stco]));
}
