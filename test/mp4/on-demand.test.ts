import { describe, expect, it } from 'vitest';
import type { Blobs } from '../../core/ports/blobs.ts';
import { vod } from '../../core/vod/answer.ts';
import { writeSegmentIndex } from '../../core/vod/segment-index.ts';
import { AAC_44100_MONO } from '../hls/feed.ts';
import { avc1, type Bytes, box, edts, ftyp, join, mp4a, mvhd, sampleTables, text, trak } from './build.ts';
import { cut, readSamples } from './cut.ts';

/** Frames of a second, key frames each `gop` frames; the bytes of each are its number. */
interface Picture {
  readonly frames: number;
  readonly rate?: number;
  readonly gop?: number;
  readonly shifts?: readonly number[];
  readonly edits?: Bytes;
  readonly entry?: Bytes;
  readonly entries?: number;
  /** Which entry the chunk of each frame has. */
  readonly entryOf?: (frame: number) => number;
}

interface Sound {
  readonly frames: number;
  readonly edits?: Bytes;
  /** Of 48,000 a second that each lasts. */
  readonly ticks?: number;
}

/** A film of picture and sound, a chunk for each frame; interleaved by time, or all sound behind all pictures. */
function filmOf(options: {
  picture?: Picture;
  sound?: Sound;
  isInterleaved?: boolean;
  space?: number;
  pad?: number;
}): Bytes {
  const { picture, sound, isInterleaved = true, space = 0, pad = 0 } = options;
  const rate = picture?.rate ?? 10;
  const frames = [
    ...Array.from({ length: picture?.frames ?? 0 }, (_, i) => ({ of: 'v', i, time: i / rate })),
    ...Array.from({ length: sound?.frames ?? 0 }, (_, i) => ({ of: 'a', i, time: i / 10 })),
  ];
  if (isInterleaved) frames.sort((a, b) => a.time - b.time);
  const places = { v: [] as number[], a: [] as number[] };
  const sizes = { v: [] as number[], a: [] as number[] };
  const parts: Uint8Array[] = [];
  let at = ftyp.length + 8;
  for (const { of, i } of frames) {
    const bytes = text(`${of}${i};`.padEnd(pad));
    places[of as 'v'].push(at);
    sizes[of as 'v'].push(bytes.length);
    parts.push(bytes, new Uint8Array(space));
    at += bytes.length + space;
  }
  const tracks: Bytes[] = [];
  if (picture) {
    const { gop = 10, shifts, edits, entry, entries, entryOf } = picture;
    const count = picture.frames;
    const syncs = Array.from({ length: Math.ceil(count / gop) }, (_, i) => i * gop + 1);
    tracks.push(
      trak({
        timescale: 1000,
        duration: 0,
        ...(entry && { entry, entries }),
        extra: edits ? [edits] : [],
        tables: sampleTables({
          sizes: sizes.v,
          durations: sizes.v.map(() => 1000 / rate),
          syncs,
          shifts,
          chunks: places.v.map((place) => [place, 1] as const),
          entries: entryOf && places.v.map((_, frame) => entryOf(frame)),
        }),
      }),
    );
  }
  if (sound)
    tracks.push(
      trak({
        id: 2,
        handler: 'soun',
        timescale: 48_000,
        duration: 0,
        entry: mp4a(),
        extra: sound.edits ? [sound.edits] : [],
        tables: sampleTables({
          sizes: sizes.a,
          durations: sizes.a.map(() => sound.ticks ?? 4800),
          chunks: places.a.map((place) => [place, 1] as const),
        }),
      }),
    );
  return join(ftyp, box('mdat', ...parts), box('moov', mvhd(0), ...tracks));
}

const durations = async (bytes: Bytes) => {
  const { index } = await cut(bytes);
  return Array.from(
    { length: index.count },
    (_, number) => Math.round(index.segment(number).duration * 100) / 100,
  );
};

describe('where segments end', () => {
  it.each([
    ['a key frame each second', { frames: 120, gop: 10 }, [4, 4, 4]],
    ['each two seconds', { frames: 120, gop: 20 }, [4, 4, 4]],
    ['each three', { frames: 120, gop: 30 }, [6, 6]],
    ['each five', { frames: 120, gop: 50 }, [5, 5, 2]],
    ['each seven, which is longer than it should be', { frames: 140, gop: 70 }, [7, 7]],
    ['every frame', { frames: 90, gop: 1 }, [4, 4, 1]],
    ['3.5 s: two would be too long', { frames: 105, gop: 35 }, [3.5, 3.5, 3.5]],
    ['only the first, so it ends without one after 20 s', { frames: 450, gop: 1000 }, [20, 20, 5]],
  ])('%s', async (_name, picture, expected) => {
    expect(await durations(filmOf({ picture }))).toEqual(expected);
  });

  it('sound alone, each 4 s', async () => {
    expect(await durations(filmOf({ sound: { frames: 130 } }))).toEqual([4, 4, 4, 1]);
  });

  it('where there are no pictures yet, or no more', async () => {
    const late = edts([9000, -1], [4000, 0]);
    const behind = filmOf({ picture: { frames: 40, edits: late }, sound: { frames: 200 } });
    expect(await durations(behind)).toEqual([4, 6, 4, 4, 2]);
    const { segments, inits } = await cut(behind);
    const read = await readSamples(join(inits[0], ...segments));
    expect(read.vide[0]).toMatchObject({ pts: 9, bytes: 'v0;' });
    expect(read.soun).toHaveLength(200);
  });
});

describe('what is in them', () => {
  it('is every sample once, with its bytes and its time', async () => {
    for (const isInterleaved of [true, false]) {
      const film = filmOf({ picture: { frames: 100, gop: 20 }, sound: { frames: 100 }, isInterleaved });
      const { inits, segments, pieces } = await cut(film);
      expect(segments).toHaveLength(3);
      expect(Math.max(...pieces)).toBe(isInterleaved ? 1 : 2);
      expect(await readSamples(join(inits[0], ...segments))).toEqual(await readSamples(film));
      const [, second] = segments;
      const read = await readSamples(join(inits[0], second));
      expect(read.vide[0]).toMatchObject({ pts: 4, isSync: true, bytes: 'v40;' });
      expect(read.soun.map(({ bytes }) => bytes)).toEqual(
        Array.from({ length: 40 }, (_, i) => `a${i + 40};`),
      );
    }
  });

  it('is the same of a fragmented film, also one that begins late on its clock', async () => {
    const film = filmOf({ picture: { frames: 100, gop: 20 }, sound: { frames: 100 } });
    const first = await cut(film);
    const fragmented = join(first.inits[0], ...first.segments);
    const again = await cut(fragmented);
    expect(again.inits).toEqual(first.inits);
    expect(await readSamples(join(again.inits[0], ...again.segments))).toEqual(await readSamples(film));
    const end = await cut(join(first.inits[0], ...first.segments.slice(1)));
    expect((await readSamples(join(end.inits[0], ...end.segments))).vide[0]).toMatchObject({
      dts: 0,
      bytes: 'v40;',
    });
  });

  it('is shown when its edit list says, from the key frame before', async () => {
    // B-frames: shown up to 200 ms after they are decoded; the first frame is shown at 200 ms of the track.
    const shifts = Array.from({ length: 60 }, (_, frame) =>
      frame % 3 === 0 ? 200 : frame % 3 === 1 ? 300 : 0,
    );
    const plain = filmOf({
      picture: { frames: 60, gop: 30, shifts, edits: edts([6000, 200]) },
      sound: { frames: 60, edits: edts([5900, 4800]) },
    });
    const { inits, segments } = await cut(plain);
    const read = await readSamples(join(inits[0], ...segments));
    // Pictures are shown from 200 ms on, so that they need not be decoded before 0; the sound goes along.
    expect(read.vide[0]).toMatchObject({ dts: 0, pts: 0.2, bytes: 'v0;' });
    expect(read.soun[0]).toMatchObject({ pts: 0.2, bytes: 'a1;' });
    expect(read.soun).toHaveLength(59);

    const later = filmOf({
      picture: { frames: 60, gop: 20, edits: edts([2000, 3100]) },
      sound: { frames: 60, edits: edts([2000, 4800 * 31]) },
    });
    const trimmed = await cut(later);
    const rest = await readSamples(join(trimmed.inits[0], ...trimmed.segments));
    expect(rest.vide[0]).toMatchObject({ pts: 0, bytes: 'v20;' });
    expect(rest.vide.at(-1)).toMatchObject({ bytes: 'v50;' });
    expect(rest.soun[0]).toMatchObject({ pts: 1.1, bytes: 'a31;' });
  });

  it('has another init behind a seam where the configuration changes, and one where only its number does', async () => {
    const entry = join(avc1(), avc1(), avc1({ type: 'avc3' }));
    const picture = {
      frames: 100,
      gop: 10,
      entry,
      entries: 3,
      entryOf: (frame: number) => (frame < 20 ? 1 : frame < 50 ? 2 : 3),
    };
    const { index, inits } = await cut(filmOf({ picture }));
    const found = Array.from({ length: index.count }, (_, number) => index.segment(number));
    expect(found.map(({ init, isDiscontinuity }) => [init, isDiscontinuity])).toEqual([
      [0, false],
      [0, false],
      [1, true],
      [1, false],
    ]);
    expect(found[2].duration).toBeCloseTo(4);
    expect(inits).toHaveLength(2);
    expect(index.inits.map(({ codecs }) => codecs)).toEqual([['avc1.64001e'], ['avc3.64001e']]);
  });

  it('is put together of few pieces, with what lies between, unless that is too much', async () => {
    const film = filmOf({ picture: { frames: 40 }, sound: { frames: 40 }, space: 1, pad: 8 });
    const near = await cut(film);
    expect(near.pieces).toEqual([1]);
    expect(await readSamples(join(near.inits[0], ...near.segments))).toEqual(await readSamples(film));
    const far = await cut(filmOf({ picture: { frames: 40 }, sound: { frames: 40 }, space: 100 }));
    expect(far.pieces).toEqual([80]);
  });
});

describe('refused, where it cannot be cut', () => {
  it.each([
    [
      'scattered all over the file',
      filmOf({ picture: { frames: 1200, rate: 1000, gop: 2000 }, space: 100 }),
      /segment 0 would be put together of 1200 pieces of the file; expected 1000/,
    ],
    [
      'too many samples of sound in a segment of pictures',
      filmOf({ picture: { frames: 30 }, sound: { frames: 10_001, ticks: 10 } }),
      /audio track \(track 2\) has more than 10000 samples in one segment/,
    ],
    [
      'an edit list that shows nothing',
      filmOf({ sound: { frames: 10, edits: edts([1, 2_000_000_000]) } }),
      /its edit lists show nothing of it/,
    ],
  ])('%s', async (_name, film, reason) => {
    const outcome = cut(film).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(await outcome).toMatch(reason);
  });
});

it('is played from three blobs, none of which has the media twice', async () => {
  const film = filmOf({ picture: { frames: 100, gop: 20 }, sound: { frames: 100 }, isInterleaved: false });
  const { index, heads, inits, segments } = await cut(film);
  const written = writeSegmentIndex({
    ...index,
    segments: Array.from({ length: index.count }, (_, number) => index.segment(number)),
  });
  const player = vod({ blobs: blobsOf({ video: film, heads, index: written }), bytes: 1e6 });
  const described = {
    video: { key: 'video', size: film.length, sha256: 'ab'.repeat(32) },
    index: { key: 'index', size: written.length },
    heads: { key: 'heads', size: heads.length },
  };
  const ask = (name: string, init: RequestInit = {}) =>
    player.answer(described, { name, request: new Request(`http://localhost/${name}`, init) });
  const playlist = await (await ask('source.m3u8'))?.text();
  expect(playlist?.split('\n')).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-TARGETDURATION:4',
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-MEDIA-SEQUENCE:0',
    '#EXT-X-MAP:URI="init0.mp4"',
    ...[4, 4, 2].flatMap((seconds, number) => [`#EXTINF:${seconds.toFixed(5)},`, `seg${number}.mp4`]),
    '#EXT-X-ENDLIST',
    '',
  ]);
  expect(await (await ask('index.m3u8'))?.text()).toContain(
    'CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360',
  );
  expect(await (await ask('init0.mp4'))?.bytes()).toEqual(inits[0]);
  for (const [number, bytes] of segments.entries()) {
    expect(await (await ask(`seg${number}.mp4`))?.bytes()).toEqual(bytes);
    const part = await ask(`seg${number}.mp4`, { headers: { range: 'bytes=5-700' } });
    expect([part?.status, await part?.bytes()]).toEqual([206, bytes.slice(5, 701)]);
    const head = await ask(`seg${number}.mp4`, { method: 'HEAD' });
    expect(head?.headers.get('content-length')).toBe(String(bytes.length));
  }
  expect(await ask('seg3.mp4')).toBeUndefined();
  expect(await (await ask('source.mp4'))?.bytes()).toEqual(film);
});

it('tells the sound that its configuration says', async () => {
  const sound = trak({
    handler: 'soun',
    timescale: 44_100,
    duration: 0,
    entry: mp4a({ config: AAC_44100_MONO }),
    tables: sampleTables({ sizes: [10, 10], durations: [1024, 1024], chunks: [[ftyp.length + 8, 2]] }),
  });
  const film = join(ftyp, box('mdat', new Uint8Array(20)), box('moov', mvhd(0), sound));
  const { index, inits, segments } = await cut(film);
  expect(index.inits[0].codecs).toEqual(['mp4a.40.2']);
  expect((await readSamples(join(inits[0], segments[0]))).soun).toHaveLength(2);
});

function blobsOf(files: Record<string, Uint8Array>): Pick<Blobs, 'get'> {
  return {
    async get(key, { range } = {}) {
      const bytes = files[key];
      const { from, to } = { from: 0, to: bytes.length, ...range } as { from: number; to: number };
      const body = new Blob([bytes.slice(from, to)]).stream();
      const blob = { key, size: bytes.length, etag: key, modified: 0, type: '' };
      return { outcome: 'ok', blob, from, to, body };
    },
  };
}
