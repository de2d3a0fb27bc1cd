import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { command, connect, createStream, handshake } from '../rtmp/kit.ts';
import { askFor } from './harness/http-load.ts';
import { expectResident, memoryEnv, residentAfterCollection } from './harness/memory.ts';
import { dial, type RtmpPeer } from './harness/rtmp-peer.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';
import { witness } from './harness/witness.ts';

/** An address of its own for each of a crowd. */
const addressOf = (index: number) => `127.${2 + (index >> 16)}.${(index >> 8) & 255}.${index & 255 || 1}`;

async function broadcastOn(server: Server, name: string) {
  const stream = await server.api.createStream({ name });
  return witness({
    ingestUrl: server.ingestUrl(stream.streamKey),
    playlistUrl: server.playlistUrl(stream.playbackId),
  });
}

test.concurrent('500 that never finish: broadcasts start and run beside them, and all are closed in time', async () => {
  await using server = await startServer({ env: memoryEnv });
  await using beside = await broadcastOn(server, 'beside');
  // As many broadcasts before as after.
  await using other = await broadcastOn(server, 'beside, too');
  const handles = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const before = { memory: await residentAfterCollection(server), handles: handles() };

  // Cut anywhere from the first byte to just before the publish; half of them go on, a byte a second.
  const whole = [...handshake, ...connect, ...createStream];
  const peers: { peer: RtmpPeer; since: number; said: number }[] = [];
  for (let index = 0; index < 500; index += 1) {
    const said = index % 50 === 0 ? 0 : Math.floor((index * whole.length) / 500);
    const since = performance.now();
    const peer = await dial(server.rtmpPort, { from: addressOf(index), bytes: whole.slice(0, said) });
    peers.push({ peer, since, said });
  }
  const drip = setInterval(() => {
    for (const [index, one] of peers.entries())
      if (index % 2 === 0 && !one.peer.isClosed && one.said < whole.length)
        one.peer.send([whole[one.said++]]);
  }, 1000);
  expect(peers.filter(({ peer }) => peer.isClosed)).toEqual([]);
  await using late = await broadcastOn(server, 'started in the crowd');
  await beside.check();
  await until('all to be closed', () => peers.every(({ peer }) => peer.isClosed), { within: 30_000 });
  clearInterval(drip);
  // Ten seconds to publish, a quarter until somebody looks; the rest is for a machine that is busy.
  const lived = peers.map(({ peer, since }) => (peer.closedAt ?? Number.POSITIVE_INFINITY) - since);
  expect(Math.max(...lived)).toBeLessThan(13_000);
  expect(Math.min(...lived)).toBeGreaterThan(9000);
  await beside.check();
  await late.check();
  await other[Symbol.asyncDispose]();
  await expectResident(server, { atMost: before.memory + 8e6, what: 'the crowd has gone' });
  // The broadcast that started meanwhile has its connection, and its viewer one.
  await until('all sockets to be let go', () => handles() <= before.handles + 3, { within: 5000 });
  expect(server.output).toContain('no publish came in time');
});

test.concurrent('100,000 unknown playback ids and 2,000 unknown keys leave nothing behind', async () => {
  await using server = await startServer({ env: memoryEnv });
  const ids = function* (from: number, to: number) {
    for (let index = from; index < to; index += 1) {
      const id = (index * 7919 + 1e12).toString(36).padStart(16, '0');
      const file = index % 10;
      if (file < 3) yield `/hls/${id}/index.m3u8`;
      else if (file < 5) yield `/hls/${id}/source.m3u8?_HLS_msn=${index}&_HLS_part=${file}`;
      else if (file === 5) yield `/hls/${id}/0123456789ab_part${index}.0.mp4`;
      else if (file === 6) yield `/hls/${id}/0123456789ab_seg${index}.mp4`;
      else if (file === 7) yield `/hls/unknown-${index}/${id}/x/y.m3u8`;
      else yield `/api/playback/${id}`;
    }
  };
  const keys = async (from: number, to: number) => {
    let next = from;
    const lane = async () => {
      while (next < to) {
        const index = next++;
        const bytes = [
          ...handshake,
          ...connect,
          ...createStream,
          ...command(['publish', 5, null, `unknown-${index}`, 'live'], { stream: 1 }),
        ];
        const peer = await dial(server.rtmpPort, { from: addressOf(index), bytes });
        await peer.told('NetStream.Publish.Unauthorized');
        peer.destroy();
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
  };
  const ask = async (from: number, to: number) =>
    [...(await askFor(server.url, { paths: ids(from, to) }))].map(([status, count]) => ({ status, count }));

  expect(await ask(0, 10_000)).toEqual([{ status: 404, count: 10_000 }]);
  await keys(0, 200);
  const tenth = await residentAfterCollection(server);
  expect(await ask(10_000, 100_000)).toEqual([{ status: 404, count: 90_000 }]);
  await keys(200, 2000);
  // Names that are no aliases are remembered for some seconds, and reading for them leaves the heap a little larger.
  await expectResident(server, { atMost: tenth + 16e6, what: 'all that was asked for in vain' });
});
