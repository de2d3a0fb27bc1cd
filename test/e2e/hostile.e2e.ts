import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeAmf0 } from '../../runtime/media/rtmp/amf0.ts';
import {
  audio,
  chunk,
  command,
  connect,
  createStream,
  handshake,
  message,
  pattern,
  video,
} from '../rtmp/kit.ts';
import type { NewStream } from './harness/api.ts';
import { expectResident, memoryEnv, residentAfterCollection } from './harness/memory.ts';
import { dial } from './harness/rtmp-peer.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';
import { hostileMark, type Witness, witness } from './harness/witness.ts';

/**
 * Everything that has ended or fooled an RTMP server (test/rtmp/README.md says what comes from where), on the socket
 * of a real one. After each case: the broadcast beside it has lost nothing and shows nothing of it, memory is where it
 * was, the connection is gone within its deadline, and the log says why.
 */
let server: Server;
let beside: Witness;
/** A stream whose key the attacker has: what only an authorised publisher can try. */
let mule: NewStream;
beforeAll(async () => {
  server = await startServer({ env: memoryEnv });
  const stream = await server.api.createStream({ name: 'beside' });
  mule = await server.api.createStream({ name: 'mule' });
  beside = await witness({
    ingestUrl: server.ingestUrl(stream.streamKey),
    playlistUrl: server.playlistUrl(stream.playbackId),
  });
});
afterAll(async () => {
  await beside?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

type Bytes = readonly number[];
const opening = [...handshake, ...connect, ...createStream];
const publish = (key: string) => command(['publish', 5, null, key, 'live'], { stream: 1 });
const control = (type: number, body: Bytes) => message({ fmt: 0, csid: 2, type, stream: 0 }, body);
const commandOf = (body: Bytes, type = 20) => message({ fmt: 0, csid: 3, type, stream: 0 }, body);
const text = (value: string) => [...Buffer.from(value)];
const many = (count: number, part: (index: number) => Bytes) =>
  Array.from({ length: count }, (_, index) => part(index)).flat();
/** Media as an encoder sends it, marked. */
const media = many(50, (index) => [
  ...video(
    [index === 0 ? 0x17 : 0x27, 1, 0, 0, 0, 0, 0, 2, 0, 0x65, ...text(hostileMark), ...pattern(500)],
    index * 33,
  ),
  ...audio([0xaf, 1, ...text(hostileMark), ...pattern(50)], index * 33),
]);
const granted = (...rest: Bytes[]) => [...opening, ...publish(mule.streamKey), ...rest.flat()];
const data = (values: Parameters<typeof encodeAmf0>[0]) => command(values, { stream: 1, type: 18 });
const nested = (depth: number, open: Bytes) => many(depth, () => open);

/** What is sent, and why the server ends it. `stays`: it is nothing to end a connection for. */
const cases: [name: string, bytes: () => Bytes, ends: RegExp | 'stays'][] = [
  // The handshake.
  ['HTTP', () => text('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), /not RTMP version 3/],
  ['a TLS hello on the plain port', () => [0x16, 3, 1, 2, 0, 1, ...pattern(500)], /not RTMP version 3/],
  ['version 6', () => [6, ...pattern(3072)], /not RTMP version 3/],
  ['noise after the handshake', () => [...handshake, ...pattern(5000)], /./],
  // Chunks.
  ['Set Chunk Size of no bytes', () => [...handshake, ...control(1, [])], /cut short/],
  ['Set Chunk Size of three bytes', () => [...handshake, ...control(1, [0, 0, 1])], /cut short/],
  ['chunk size 0', () => [...opening, ...control(1, [0, 0, 0, 0])], /chunk size was set to 0/],
  ['chunk size 2^31', () => [...opening, ...control(1, [128, 0, 0, 0])], /first bit/],
  ['chunk size 2^31 - 1', () => [...opening, ...control(1, [127, 255, 255, 255])], 'stays'],
  [
    'chunk size 1, and a command in it',
    () => [
      ...handshake,
      ...control(1, [0, 0, 0, 1]),
      ...message({ fmt: 0, csid: 3, type: 20, stream: 0 }, [...encodeAmf0(['connect', 1, { app: 'live' }])], {
        chunkSize: 1,
      }),
    ],
    'stays',
  ],
  ['Abort of no bytes', () => [...opening, ...control(2, [])], /cut short/],
  ['Abort of what never began', () => [...opening, ...control(2, [0, 0, 9, 9])], 'stays'],
  ['fmt 3 as the first chunk', () => [...opening, 0xc7, 1, 2, 3], /without a full header/],
  ['fmt 2 as the first chunk', () => [...opening, 0x87, 1, 2, 3], /without a full header/],
  [
    'a message inside another',
    () => [
      ...opening,
      ...chunk({ fmt: 0, csid: 6, length: 300 }, pattern(128)),
      ...chunk({ fmt: 0, csid: 6, length: 300 }, pattern(128)),
    ],
    /inside another/,
  ],
  [
    'a message of 16 MiB - 1',
    () => [...opening, ...chunk({ fmt: 0, csid: 6, length: 0xffffff }, pattern(128))],
    /larger than the limit/,
  ],
  [
    'a command of 16 MiB - 1',
    () => [...handshake, ...chunk({ fmt: 0, csid: 3, type: 20, stream: 0, length: 0xffffff }, pattern(128))],
    /larger than the limit/,
  ],
  [
    '500 chunk streams that promise 10 MB each',
    () => [
      ...opening,
      ...many(500, (index) => chunk({ fmt: 0, csid: index + 3, length: 10_000_000 }, pattern(128))),
    ],
    /too many chunk streams/,
  ],
  [
    '60 commands that never end',
    () => [
      ...handshake,
      ...many(60, (index) =>
        message({ fmt: 0, csid: index + 3, type: 20, stream: 0 }, pattern(60_000)).slice(0, 1500),
      ),
    ],
    /./,
  ],
  ['messages of no bytes', () => [...opening, ...many(2000, (index) => video([], index))], 'stays'],
  [
    'chunk streams 2, 64, 319, 320 and 65,599',
    () =>
      granted(
        many(5, (index) =>
          message({ fmt: 0, csid: [2, 64, 319, 320, 65_599][index], type: 9, time: index }, pattern(300)),
        ),
      ),
    /./,
  ],
  // AMF.
  ['arrays nested 3,000 deep', () => [...handshake, ...commandOf(nested(3000, [10, 0, 0, 0, 1]))], /nested/],
  ['objects nested 3,000 deep', () => [...handshake, ...commandOf(nested(3000, [3, 0, 1, 97]))], /nested/],
  [
    'an array of 2^32 - 1',
    () => [...handshake, ...commandOf([2, 0, 1, 97, 10, 255, 255, 255, 255])],
    /cut short/,
  ],
  [
    'a string of 4 GB',
    () => [...handshake, ...commandOf([12, 255, 255, 255, 255, 97])],
    /too long|cut short/,
  ],
  [
    '15,000 values',
    () => [...handshake, ...commandOf([2, 0, 1, 97, ...Array(15_000).fill(5)])],
    /too many values/,
  ],
  ['an object without an end', () => [...handshake, ...commandOf([3, 0, 1, 97, 5])], /cut short/],
  ['a command without a name', () => [...handshake, ...commandOf([5, 5, 5])], /no name/],
  ['AMF3 that is AMF3', () => [...handshake, ...commandOf([3, 1, 2, 3], 17)], /does not hold AMF0/],
  [
    '`__proto__`, `constructor` and the same name twice',
    () => [
      ...handshake,
      ...command([
        'connect',
        1,
        JSON.parse(
          '{"app":"live","__proto__":{"app":"x","polluted":1},"constructor":{"prototype":{"polluted":1}}}',
        ),
      ]),
      ...createStream,
      ...publish('__proto__'),
    ],
    /refused: unauthorized/,
  ],
  // Commands.
  ['publish before connect', () => [...handshake, ...publish(mule.streamKey)], /before connect/],
  ['connect twice', () => [...opening, ...connect], /connect came twice/],
  [
    'publish without a name',
    () => [...opening, ...command(['publish', 5, null], { stream: 1 })],
    /without a name/,
  ],
  [
    'publish with a name that is none',
    () => [...opening, ...command(['publish', 5, null, { a: 1 }, 'live'], { stream: 1 })],
    /without a name/,
  ],
  [
    'a tcUrl that is no URL, and no app',
    () => [
      ...handshake,
      ...command(['connect', 1, { tcUrl: '%%%://[::1/..' }]),
      ...createStream,
      ...publish(mule.streamKey),
    ],
    /refused: unauthorized/,
  ],
  [
    'the same query name twice',
    () => [...opening, ...publish('unknown?sign=a&sign=b')],
    /refused: unauthorized/,
  ],
  [
    'a key that is a path, with a line break and a zero',
    () => [...opening, ...publish('../../etc/passwd\n\u0000{"level":"error"}')],
    /refused: unauthorized/,
  ],
  ['a key of 15,000 letters', () => [...opening, ...publish('k'.repeat(15_000))], /refused: unauthorized/],
  ['51 commands', () => [...opening, ...many(51, () => command(['_checkbw', 9, null]))], /too many commands/],
  ['51 pings', () => [...opening, ...many(51, () => control(4, [0, 6, 1, 2, 3, 4]))], /too many commands/],
  ['9 message streams', () => [...opening, ...many(9, () => createStream)], /too many message streams/],
  // Media of those who may not publish.
  [
    'media before, with and behind a publish that is refused',
    () => [...opening, ...media, ...publish('unknown'), ...media, ...media],
    /refused: unauthorized/,
  ],
  [
    'media of a player',
    () => [...opening, ...command(['play', 5, null, mule.streamKey], { stream: 1 }), ...media],
    /plays none/,
  ],
  ['media without a publish, 2 MB of it', () => [...opening, ...many(60, () => media)], /without a publish/],
  [
    'media of other message streams than the one that publishes',
    () => granted(many(20, (index) => video([0x17, 1, 0, 0, 0, ...text(hostileMark)], index, index + 2))),
    'stays',
  ],
  [
    'media behind FCUnpublish',
    () =>
      granted(
        command(['FCUnpublish', 6, null, mule.streamKey]),
        many(60, () => media),
      ),
    /without a publish|before the publish/,
  ],
  // Media of somebody who may.
  ['two publishes on one connection', () => granted(publish(mule.streamKey), publish('unknown')), 'stays'],
  ['a video header of noise', () => granted(video([0x17, 0, 0, 0, 0, ...pattern(4000)])), 'stays'],
  ['an audio header of noise', () => granted(audio([0xaf, 0, ...pattern(4000)])), 'stays'],
  [
    'a picture of 65,535 × 65,535',
    () =>
      granted(
        video([
          0x17,
          0,
          0,
          0,
          0,
          1,
          66,
          0,
          31,
          255,
          225,
          0,
          12,
          0x67,
          66,
          0,
          31,
          ...Array(8).fill(0),
          1,
          0,
          1,
          0x68,
        ]),
      ),
    'stays',
  ],
  [
    'metadata of 900 odd values, 20 times',
    () => granted(many(20, () => data(['@setDataFrame', 'onMetaData', Array(900).fill(Number.NaN)]))),
    'stays',
  ],
  [
    'metadata nested deeply',
    () => granted(message({ fmt: 0, csid: 3, type: 18, stream: 1 }, nested(5000, [3, 0, 1, 97]))),
    'stays',
  ],
  [
    'times that jump by 2^31',
    () =>
      granted(
        many(100, (index) => video([0x27, 1, 0, 0, 0, 0, 0, 0, 1, 65], index % 2 ? 0x7fffffff : index)),
      ),
    'stays',
  ],
  [
    '60 pictures that promise 10 MB each',
    () => granted(many(60, (index) => chunk({ fmt: 0, csid: index + 3, length: 10_000_000 }, pattern(128)))),
    'stays',
  ],
];

test.each(cases)('%s', async (name, bytes, ends) => {
  const number = cases.findIndex(([one]) => one === name);
  const from = `127.1.${number >> 8}.${(number & 255) + 1}`;
  const before = await residentAfterCollection(server);
  const peer = await dial(server.rtmpPort, { from, bytes: bytes() });
  if (ends === 'stays') {
    await beside.check();
    expect(peer.isClosed).toBe(false);
    peer.destroy();
  } else {
    // One of which nothing can be used is ended after 5 s, and whoever is refused has 2 s to read why; both are looked at
    // every quarter of a second. The rest is for a busy machine.
    await peer.closed({ within: 30_000 });
    if (ends.source.includes('refused')) expect(peer.codes()).not.toContain('NetStream.Publish.Start');
    const hasReason = () => reasonsFor(from).some((reason) => ends.test(reason));
    await until(`a line of log like ${ends}`, hasReason, { within: 3000 });
    await beside.check();
  }
  await expectResident(server, { atMost: before + 8e6, what: name });
  expect(server.output).not.toMatch(/something went wrong|"level":"error"/);
});

test('an encoder that never reads what it is told', async () => {
  const before = await residentAfterCollection(server);
  const peer = await dial(server.rtmpPort, { from: '127.1.9.1' });
  peer.deafen();
  // The smallest window there is: every 16 KiB are acknowledged, and 20 MB come.
  peer.send(granted(control(5, [0, 0, 0, 1]), control(1, [0, 255, 255, 0])));
  const skipped = message({ fmt: 0, csid: 6, type: 9, stream: 7 }, pattern(100_000), { chunkSize: 0xffff00 });
  for (let sent = 0; sent < 200; sent += 1) {
    peer.send(skipped);
    if (sent % 20 === 19) await beside.check();
  }
  await expectResident(server, { atMost: before + 8e6, what: 'a deaf encoder, which is still there' });
  peer.destroy();
  await beside.check();
});

test('none of it was ever on the air, and no secret is in the log', async () => {
  const playlist = await fetch(`${server.url}/hls/${mule.playbackId}/source.m3u8`);
  expect(await playlist.text()).not.toContain('_part');
  expect(server.output).not.toContain(mule.streamKey);
  expect(server.output).not.toContain('/etc/passwd');
});

/** Why the server says that the connection from `address` ended, and before it a broadcast. */
function reasonsFor(address: string): string[] {
  return server.output
    .split('\n')
    .filter((line) => line.includes(`"${address}"`))
    .flatMap((line) => (JSON.parse(line) as { reason?: string }).reason ?? []);
}
