import { beforeAll, expect, test } from 'vitest';
import { answersReload, parsePlaylist } from './checker.ts';
import { Feed, play, sendHeaders } from './feed.ts';
import { Follower } from './follower.ts';

/** What a viewer was given: the playlists in their order (delta updates where there are any), and the files. */
interface Recording {
  playlists: string[];
  files: Map<string, Uint8Array>;
}

let sound: Recording;
/** As `sound`, but with a restart of the server in place of the break. */
let restarted: Recording;

/** Notes what a viewer of these feeds, one after the other, is given. */
function recorder() {
  const recording: Recording = { playlists: [], files: new Map() };
  let feed: Feed;
  const follower = new Follower(async (uri) => {
    const bytes = await feed.bytes(uri);
    recording.files.set(uri, bytes);
    return bytes;
  });
  const look = async () => {
    if (!feed.output.isPlayable) return;
    const text = await feed.text('source.m3u8', '_HLS_skip=YES');
    if (text === recording.playlists.at(-1)) return;
    recording.playlists.push(text);
    await follower.see(text);
  };
  return {
    recording,
    look,
    watch: (another: Feed) => {
      feed = another;
    },
  };
}

beforeAll(async () => {
  const viewer = recorder();
  sound = viewer.recording;
  const feed = new Feed({ window: 40 });
  viewer.watch(feed);
  const first = feed.attach();
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 13, after: viewer.look });
  feed.output.detach(first.grant.token);
  await viewer.look();
  const second = feed.attach();
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 40, after: viewer.look });
});

beforeAll(async () => {
  const viewer = recorder();
  restarted = viewer.recording;
  for (const [turn, isReturn] of [false, true].entries()) {
    const feed = new Feed({ window: 40 });
    feed.clock.advance(10_000 * turn);
    viewer.watch(feed);
    const { sink } = feed.attach({ mediaSequence: 100 + 40 * turn, discontinuitySequence: turn, isReturn });
    sendHeaders(sink);
    await play(feed, sink, { seconds: turn === 0 ? 7 : 40, after: viewer.look });
  }
});

async function replay({ playlists, files }: Recording): Promise<void> {
  const follower = new Follower(async (uri) => {
    const bytes = files.get(uri);
    if (bytes === undefined) throw new Error(`${uri} is 404`);
    return bytes;
  });
  for (const text of playlists) await follower.see(text);
}

/** Changes the playlists from the `from`th on. A change that changes nothing is a mistake of the test. */
function texts(change: (text: string) => string, from = 0) {
  return (recording: Recording) => {
    let changes = 0;
    recording.playlists = recording.playlists.map((text, i) => {
      const changed = i < from ? text : change(text);
      if (changed !== text) changes += 1;
      return changed;
    });
    expect(changes).toBeGreaterThan(0);
  };
}

const swap = (pattern: RegExp | string, by: string, from = 0) =>
  texts((text) => text.replace(pattern, by), from);

/** Changes the segment with this number, and the parts that are its bytes. */
function bytes(change: (file: Buffer) => void, sequence = 102) {
  return ({ files }: Recording) => {
    const [uri, whole] = [...files].find(([name]) => name.endsWith(`_seg${sequence}.mp4`)) ?? [];
    if (uri === undefined || whole === undefined) throw new Error(`no segment ${sequence}`);
    const file = Buffer.from(whole);
    change(file);
    expect(file.equals(whole)).toBe(false);
    files.set(uri, file);
    let at = 0;
    for (let i = 0; at < file.length; i += 1) {
      const name = uri.replace('_seg', '_part').replace('.mp4', `.${i}.mp4`);
      const size = files.get(name)?.length;
      if (size === undefined) break;
      files.set(name, file.subarray(at, at + size));
      at += size;
    }
  };
}

/** Changes the first init. */
function init(change: (file: Buffer) => Buffer | undefined) {
  return ({ files }: Recording) => {
    const [uri, whole] = [...files].find(([name]) => name.endsWith('_init0.mp4')) ?? [];
    const file = Buffer.from(whole ?? []);
    files.set(uri ?? '', change(file) ?? file);
    expect(files.get(uri ?? '')).not.toEqual(whole);
  };
}

/** Adds to the number of four bytes at `offset` behind the nth box of a type. */
const add = (type: string, options: { offset: number; by?: number; nth?: number }) => (file: Buffer) => {
  let at = -1;
  for (let n = 0; n <= (options.nth ?? 0); n += 1) at = file.indexOf(type, at + 1);
  expect(at).toBeGreaterThan(0);
  const place = at + 4 + options.offset;
  file.writeUInt32BE((file.readUInt32BE(place) + (options.by ?? 1)) >>> 0, place);
};

const mutants: [string, (recording: Recording) => void, RegExp][] = [
  ['a target under a segment', swap('TARGETDURATION:4', 'TARGETDURATION:1'), /target 1/],
  [
    'a target that shrinks',
    texts((text) => text.replace('TARGETDURATION:4', 'TARGETDURATION:3'), 20),
    /does not shrink/,
  ],
  ['an older version', swap('VERSION:9', 'VERSION:6'), /version/],
  ['no blocking reload', swap('CAN-BLOCK-RELOAD=YES', 'CAN-BLOCK-RELOAD=NO'), /CAN-BLOCK-RELOAD/],
  ['a small hold-back', swap(/PART-HOLD-BACK=[\d.]+/, 'PART-HOLD-BACK=0.9'), /PART-HOLD-BACK/],
  ['a small skip boundary', swap('CAN-SKIP-UNTIL=24.0', 'CAN-SKIP-UNTIL=12.0'), /CAN-SKIP-UNTIL/],
  ['a media sequence that goes back', swap(/MEDIA-SEQUENCE:100/, 'MEDIA-SEQUENCE:99', 9), /does not go back/],
  [
    'a media sequence that runs ahead',
    swap(/MEDIA-SEQUENCE:100/, 'MEDIA-SEQUENCE:101', 9),
    /after a removal|stays/,
  ],
  ['a discontinuity sequence off by one', swap('CONTINUITY-SEQUENCE:0', 'CONTINUITY-SEQUENCE:1', 9), /stays/],
  ['no discontinuity', swap('#EXT-X-DISCONTINUITY\n', ''), /another map needs|EXT-X-MAP/],
  ['no discontinuity and no map', swap(/#EXT-X-DISCONTINUITY\n#EXT-X-MAP.*\n/, ''), /goes on at|off|track/],
  [
    'a segment that vanishes',
    swap(/#EXT-X-PROGRAM.*\n(#EXT-X-PART.*\n)*#EXTINF.*\n.*seg102.mp4\n/, '', 24),
    /stays|vanishes/,
  ],
  [
    'a return whose parts are not listed',
    swap(/(DISCONTINUITY\n.*\n.*DATE-TIME.*\n)(#EXT-X-PART:.*\n)+(#EXTINF)/, '$1$3'),
    /behind a discontinuity, are listed/,
  ],
  ['a last line that names a segment', swap(/#EXT-X-PRELOAD-HINT.*\n|# nobody.*\n/, ''), /last line/],
  ['a wrong hint', swap(/(HINT.*part102\.3)\.mp4/, '$19.mp4'), /hinted/],
  ['a hint for what is there', swap(/(HINT.*part102)\.3\.mp4/, '$1.2.mp4'), /hint/],
  ['no map', swap(/#EXT-X-MAP.*\n/, ''), /map/],
  [
    'a date that jumps',
    swap(/(DATE-TIME:.*)\.\d+Z(\n(?:#EXT-X-PART.*\n)*#EXTINF.*\n.*seg103)/, '$1.999Z$2'),
    /date/,
  ],
  [
    "a date that is not the media's",
    texts((text) =>
      text.replace(/(DATE-TIME:.*:\d\d)\.(\d)/g, (_, day, tenth) => `${day}.${(Number(tenth) * 7 + 3) % 10}`),
    ),
    /date/,
  ],
  ['a part over its target', swap(/DURATION=0.33300/, 'DURATION=0.36000'), /over 0.35/],
  [
    'a part that does not last what it says',
    swap(/0.333(00,URI=".*part102\.)/g, '0.331$1'),
    /parts last|lasts 0.331/,
  ],
  ['a key frame that is not told', swap(/(part102\.0.mp4"),INDEPENDENT=YES/, '$1'), /INDEPENDENT/],
  ['a key frame that is not there', swap(/(part102\.1.mp4")/, '$1,INDEPENDENT=YES'), /INDEPENDENT/],
  ['parts that go too early', swap(/(#EXT-X-PART:.*part102\..*\n)+(?=#EXTINF)/, '', 24), /parts of .* stay/],
  [
    'a segment that does not last what it says',
    swap(/#EXTINF:0.26\d+(,\n.*seg100)/, '#EXTINF:0.27000$1'),
    /lasts 0.27/,
  ],
  ['a segment under another name', swap(/seg102\.mp4/, 'seg1020.mp4', 30), /stays/],
  [
    'a file that is gone',
    ({ files }) => files.delete([...files.keys()].find((name) => name.includes('seg103')) ?? ''),
    /404/,
  ],
  [
    'a skip of one too many',
    texts((text) => text.replace(/SEGMENTS=(\d+)/, (_, n) => `SEGMENTS=${Number(n) + 1}`)),
    /stays|does not change|hint/,
  ],
  [
    'a skip of one too few',
    texts((text) => text.replace(/SEGMENTS=([2-9])/, (_, n) => `SEGMENTS=${Number(n) - 1}`)),
    /stays|vanishes|does not change|hint/,
  ],
  [
    'a skip inside the boundary',
    texts((text) =>
      text.replace(/SEGMENTS=(\d+)\n((?:#.*\n)*.*seg.*\n)/, (_, n) => `SEGMENTS=${Number(n) + 1}\n`),
    ),
    /skip boundary/,
  ],
  ['a skip without a boundary', swap(/CAN-SKIP-UNTIL=24.0,/, '', 90), /CAN-SKIP-UNTIL/],
  ['a decode time that jumps by a tick', bytes(add('tfdt', { offset: 8 })), /goes on at|off/],
  ['a decode time of the sound that jumps', bytes(add('tfdt', { offset: 8, nth: 1 })), /goes on at/],
  ['a sample that lasts longer', bytes(add('trun', { offset: 12, by: 900 })), /lasts|goes on at/],
  [
    'a sample that lasts no time',
    bytes((file) => file.writeUInt32BE(0, file.indexOf('trun') + 16)),
    /at least a tick/,
  ],
  ['a key frame without its flag', bytes(add('trun', { offset: 20, by: 0x10000 })), /flagged|INDEPENDENT/],
  ['a flag without its key frame', bytes(add('trun', { offset: 36, by: -0x10000 })), /flagged/],
  ['a fragment number twice', bytes(add('mfhd', { offset: 4, by: -1 })), /mfhd/],
  [
    'an mdat that is too long',
    bytes((file) => file.writeUInt32BE(file.length, file.indexOf('mdat') - 4)),
    /box at|mdat/,
  ],
  ['a sample with too many bytes', bytes(add('trun', { offset: 16 })), /mdat|data at|NAL/],
  ['data that begin elsewhere', bytes(add('trun', { offset: 8, by: 4 })), /data at/],
  ['a NAL unit that is cut', bytes((file) => file.writeUInt32BE(9, file.indexOf('mdat') + 4)), /NAL/],
  ['a track that the init lacks', bytes(add('tfhd', { offset: 4, by: 8, nth: 1 })), /not in its init/],
  [
    "a part that is not the segment's bytes",
    ({ files }) => {
      const uri = [...files.keys()].find((name) => name.endsWith('part102.2.mp4')) ?? '';
      const part = Buffer.from(files.get(uri) ?? []);
      part[part.length - 1] ^= 1;
      files.set(uri, part);
    },
    /are its bytes/,
  ],
  [
    'an avcC with another profile than its SPS',
    init((file) => void file.writeUInt8(66, file.indexOf('avcC') + 5)),
    /profile/,
  ],
  [
    'an avcC without emulation bytes',
    init((file) => {
      // 00 00 03 00 → 00 00 00 00
      file[file.indexOf(Buffer.of(0, 0, 3), file.indexOf('avcC')) + 2] = 0;
      return undefined;
    }),
    /emulation/,
  ],
  ['an avcC that is cut', init((file) => void file.writeUInt8(200, file.indexOf('avcC') + 11)), /cut short/],
  ['an init without its codec', init((file) => void file.write('free', file.indexOf('avcC'))), /avcC/],
  ['a codec nobody knows', init((file) => void file.write('xvid', file.indexOf('avc1'))), /sample entry/],
  ['a timescale of 0', init((file) => void file.writeUInt32BE(0, file.indexOf('mdhd') + 16)), /timescale/],
  [
    'another timescale',
    init((file) => void file.writeUInt32BE(1000, file.indexOf('mdhd') + 16)),
    /lasts|off/,
  ],
  ['an init without trex', init((file) => void file.write('free', file.lastIndexOf('trex'))), /trex/],
];

const afterRestart: [string, (recording: Recording) => void, RegExp][] = [
  ['no gap', swap(/#EXT-X-GAP\n/, ''), /a gap leads|404/],
  [
    'neither gap nor discontinuity',
    swap(
      /MEDIA-SEQUENCE:140((?:\n.*)*?)SEQUENCE:0((?:\n.*)*?)#EXT-X-PROGRAM.*\n#EXT-X-GAP\n.*\n.*\n.*DISCONTINUITY\n/,
      'MEDIA-SEQUENCE:141$1SEQUENCE:1$2',
    ),
    /a gap leads/,
  ],
  [
    'a gap without a discontinuity behind it',
    swap(/(seg140.*\n)#EXT-X-DISCONTINUITY\n/, '$1'),
    /behind a gap/,
  ],
  [
    'a discontinuity in front of the gap',
    swap('#EXT-X-GAP', '#EXT-X-DISCONTINUITY\n#EXT-X-GAP'),
    /behind it/,
  ],
  ['a gap of another length', swap(/(GAP\n#EXTINF:)4/, '$12'), /target duration, not 2/],
  [
    'a gap whose date changes',
    texts((text) => text.replace(/:\d\d(\.\d+Z\n#EXT-X-GAP)/, ':00$1'), 45),
    /wall of/,
  ],
  [
    'a gap dated after what follows it',
    texts((text) => text.replace(/:\d\d(\.\d+Z\n#EXT-X-GAP)/, ':59$1')),
    /goes back/,
  ],
  ['a gap with parts', swap(/(#EXT-X-GAP\n)/, '$1#EXT-X-PART:DURATION=0.3,URI="x"\n'), /no parts/],
  ['a gap in the middle', swap(/(#EXTINF.*\n.*seg142)/, '#EXT-X-GAP\n$1'), /first segment|said once/],
  ['a gap that becomes media', swap(/#EXT-X-GAP\n/, '', 40), /isGap of|404|behind a gap/],
  ['a gap alone', swap(/#EXT-X-DISCONTINUITY\n(.*\n)*?.*seg141.mp4\n/, ''), /more than a gap/],
  [
    'a gap that goes back behind what it ends',
    texts((text) => text.replace(/SEQUENCE:0(\n(?:.*\n)*.*seg10\d)/, 'SEQUENCE:1$1')),
    /nor the discontinuity|as what it ends/,
  ],
];

test('the recording is sound, and has what the mutants change', async () => {
  await replay(sound);
  const all = sound.playlists.join('');
  expect(sound.playlists.length).toBeGreaterThan(120);
  for (const tag of ['EXT-X-SKIP:', 'EXT-X-DISCONTINUITY\n', '# nobody publishes now'])
    expect(all).toContain(tag);
});

test.each(afterRestart)('after a restart the checker catches %s', async (_, mutate, complaint) => {
  const recording = { playlists: [...restarted.playlists], files: new Map(restarted.files) };
  mutate(recording);
  await expect(replay(recording)).rejects.toThrow(complaint);
});

test.each(mutants)('the checker catches %s', async (_, mutate, complaint) => {
  const recording = { playlists: [...sound.playlists], files: new Map(sound.files) };
  mutate(recording);
  await expect(replay(recording)).rejects.toThrow(complaint);
});

test('a part far under its target is caught, unless it is the last of its segment', () => {
  const { open } = parsePlaylist(sound.playlists[20]);
  const shortened = (index: number) =>
    sound.playlists[20].replace(open.parts[index].duration.toFixed(5), '0.20000');
  expect(() =>
    parsePlaylist(sound.playlists[20].replace(/(part102\.1\.mp4.*\n#EXT-X-PART:DURATION=)[\d.]+/, '$10.2')),
  ).toThrow(/85 %|parts last/);
  const last = sound.playlists[20].replace(
    /DURATION=[\d.]+(,URI="[^"]*"(?:,INDEPENDENT=YES)?\n#EXT-X-PRELOAD)/,
    'DURATION=0.20000$1',
  );
  expect(last).not.toBe(sound.playlists[20]);
  expect(() => parsePlaylist(last)).not.toThrow();
  expect(() => parsePlaylist(shortened(0))).toThrow(/85 %|parts last/);
});

test('a blocking reload that comes back too early is told from one that kept its word', () => {
  const [early, late] = [sound.playlists[20], sound.playlists[21]].map((text) => parsePlaylist(text));
  const asked = { msn: early.open.sequence, part: early.open.parts.length };
  expect([answersReload(early, asked), answersReload(late, asked)]).toEqual([false, true]);
  expect(answersReload(early, { msn: early.open.sequence })).toBe(false);
  expect(answersReload(early, { msn: early.open.sequence - 1 })).toBe(true);
});
