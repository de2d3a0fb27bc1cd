import { beforeAll, expect, test } from 'vitest';
import { EventFollower } from './event-checker.ts';
import { Feed, play, sendHeaders } from './feed.ts';
import { ScriptedTake } from './scripted-take.ts';

/** What a viewer was given: the playlists in their order (delta updates where there are any), and the files. */
interface Recording {
  playlists: string[];
  files: Map<string, Uint8Array>;
}

let sound: Recording;

/** A recorded broadcast with a break in it, as its DVR is served. */
beforeAll(async () => {
  const feed = new Feed();
  const take = new ScriptedTake();
  const recording = { open: () => take.feed(), onTrouble: () => {} };
  sound = { playlists: [], files: new Map() };
  const follower = new EventFollower(async (uri) => {
    const bytes = await feed.bytes(uri);
    sound.files.set(uri, bytes);
    return bytes;
  });
  const look = async () => {
    if (take.count === 0) return;
    const text = await feed.text('dvr.m3u8', '_HLS_skip=YES');
    if (text === sound.playlists.at(-1)) return;
    sound.playlists.push(text);
    await follower.see(text);
  };
  const first = feed.attach({}, recording);
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 13, after: look });
  feed.output.detach(first.grant.token);
  const second = feed.attach({}, recording);
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 40, after: look });
});

async function replay({ playlists, files }: Recording): Promise<void> {
  const follower = new EventFollower(async (uri) => {
    const bytes = files.get(uri);
    if (bytes === undefined) throw new Error(`${uri} is 404`);
    return bytes;
  });
  for (const text of playlists) await follower.see(text);
}

/** Changes the playlists from the `from`th on. A change that changes nothing is a mistake of the test. */
const swap =
  (pattern: RegExp | string, by: string, from = 0) =>
  (recording: Recording) => {
    const changed = recording.playlists.map((text, i) => (i < from ? text : text.replace(pattern, by)));
    expect(changed).not.toEqual(recording.playlists);
    recording.playlists = changed;
  };

const mutants: [string, (recording: Recording) => unknown, RegExp][] = [
  ['a target under a segment', swap('TARGETDURATION:4', 'TARGETDURATION:1'), /target 1/],
  ['a target that shrinks', swap('TARGETDURATION:4', 'TARGETDURATION:3', 5), /does not shrink/],
  ['an older version', swap('VERSION:9', 'VERSION:5'), /version/],
  ['another type', swap('TYPE:EVENT', 'TYPE:LIVE'), /type of playlist/],
  ['a VOD that does not end', swap('TYPE:EVENT', 'TYPE:VOD'), /VOD ends/],
  ['a type that changes', swap('#EXT-X-PLAYLIST-TYPE:EVENT\n', '', 5), /type stays/],
  ['a media sequence that runs ahead', swap('MEDIA-SEQUENCE:0', 'MEDIA-SEQUENCE:1', 5), /stays/],
  ['a discontinuity sequence off by one', swap('NUITY-SEQUENCE:0', 'NUITY-SEQUENCE:1', 5), /does not change/],
  ['a small skip boundary', swap('CAN-SKIP-UNTIL=24.0', 'CAN-SKIP-UNTIL=12.0'), /CAN-SKIP-UNTIL/],
  ['a skip of one too many', swap(/SEGMENTS=\d+/, 'SEGMENTS=99'), /stood in the playlist before/],
  ['a segment that vanishes', swap(/#EXT-X-PROGRAM.*\n#EXTINF.*\n.*dvr1.mp4\n/, '', 3), /change|vanishes/],
  ['a segment under another name', swap(/_dvr2\.mp4/, '_dvr9.mp4', 5), /does not change/],
  ['a name for two segments', swap(/_dvr2\.mp4/, '_dvr1.mp4'), /of its own/],
  ['a segment without its date', swap(/#EXT-X-PROGRAM.*\n/, ''), /has a date/],
  ['a date that jumps', swap(/(DATE-TIME:.*)\.\d+Z(\n.*\n.*dvr3)/, '$1.999Z$2'), /date/],
  [
    'a segment that does not last what it says',
    swap(/#EXTINF:0.26\d+(,\n.*dvr0)/, '#EXTINF:0.27000$1'),
    /lasts 0.27/,
  ],
  ['no discontinuity', swap('#EXT-X-DISCONTINUITY\n', ''), /another map needs|EXT-X-MAP/],
  ['no discontinuity and no map', swap(/#EXT-X-DISCONTINUITY\n#EXT-X-MAP.*\n/, ''), /goes on at|off|change/],
  ['a discontinuity in front', swap('#EXT-X-MAP', '#EXT-X-DISCONTINUITY\n#EXT-X-MAP'), /before the first/],
  ['no map', swap(/#EXT-X-MAP.*\n/, ''), /map/],
  ['a part', swap('#EXTINF', '#EXT-X-PART:DURATION=1,URI="x.mp4"\n#EXTINF'), /known tag/],
  ['a tag that is left over', swap(/$/, '#EXTINF:2.00000,\n'), /has its segment/],
  ['more behind the end', swap('#EXTINF', '#EXT-X-ENDLIST\n#EXTINF'), /behind ENDLIST/],
  [
    'an end that is taken back',
    ({ playlists }) => playlists.splice(2, 1, `${playlists[2]}#EXT-X-ENDLIST\n`),
    /has ended/,
  ],
  ['a file that is gone', ({ files }) => void files.delete(nameOf(files, '_dvr3.mp4')), /404/],
  ['an init that is gone', ({ files }) => void files.delete(nameOf(files, '_dvrinit1.mp4')), /404/],
  [
    "another segment's bytes",
    ({ files }) =>
      void files.set(nameOf(files, '_dvr3.mp4'), files.get(nameOf(files, '_dvr2.mp4')) as Uint8Array),
    /mfhd|goes on at/,
  ],
];

function nameOf(files: Map<string, Uint8Array>, end: string): string {
  return [...files.keys()].find((name) => name.endsWith(end)) ?? '';
}

test('the recording is sound, and has what the mutants change', async () => {
  await replay(sound);
  const all = sound.playlists.join('');
  expect(sound.playlists.length).toBeGreaterThan(20);
  for (const tag of ['EXT-X-SKIP:', 'EXT-X-DISCONTINUITY\n', '_dvrinit1.mp4']) expect(all).toContain(tag);
});

test.each(mutants)('the checker catches %s', async (_, mutate, complaint) => {
  const recording = { playlists: [...sound.playlists], files: new Map(sound.files) };
  mutate(recording);
  await expect(replay(recording)).rejects.toThrow(complaint);
});
