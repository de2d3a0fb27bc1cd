import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { NewStream } from '../e2e/harness/api.ts';
import { root, type Server, startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { fakeFfmpeg } from '../ffmpeg/fake.ts';
import { AVC_360P, frame, videoHeader } from '../hls/feed.ts';
import { broadcast } from '../kit/publisher/broadcast.ts';
import { type Clip, readFlvFile } from '../kit/publisher/flv-file.ts';
import { giantAvc } from './giant-avc.ts';

/** Processes that make renditions: none is ever left, none hangs for ever, and none is given what no decoder should get. */
const profiles = [{ name: '240p', width: 426, height: 240, bitrate: 300_000, fps: 0 }];
let clip: Clip;
beforeAll(async () => {
  clip = await readFlvFile(`${root}/demo/clip.flv`);
});

/** Processes that are of this server, by the mark that each carries; those of others are not looked at. */
function marked(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => {
      try {
        const isGone = /\) Z /.test(readFileSync(`/proc/${one}/stat`, 'latin1'));
        const mark = new RegExp(`(?:^|\\0)MILLRACE_FFMPEG_OF=\\w+-${pid}-`);
        return !isGone && mark.test(readFileSync(`/proc/${one}/environ`, 'latin1'));
      } catch {
        return false;
      }
    });
}

const gone = (pids: () => readonly number[]) =>
  until('no process', () => pids().length === 0, { within: 20_000 });

/** Broadcasts until it is disposed of. */
async function onAir(server: Server, of: Clip = clip) {
  const stream = await server.api.createStream({ name: 'x', profiles });
  const encoder = broadcast({ url: server.ingestUrl(stream.streamKey), clip: of });
  await encoder.started;
  return { stream, encoder, [Symbol.asyncDispose]: () => encoder.stop({ clean: true }) };
}

const offered = async (server: Server, { playbackId }: NewStream) =>
  (await (await fetch(server.playlistUrl(playbackId))).text()).match(/^\w+\.m3u8$/gm) ?? [];
const offers = (server: Server, stream: NewStream, names: string) =>
  until(names, async () => (await offered(server, stream)).join(' ') === names, { within: 30_000 });
const issueOf = (server: Server, { id }: NewStream, words: RegExp) =>
  until(
    `${words}`,
    async () => ((await server.api.getStream(id)).issues ?? []).find((one: string) => words.test(one)),
    { within: 30_000 },
  );
/** Its source goes on: another part is listed. */
async function goesOn(server: Server, { playbackId }: NewStream): Promise<void> {
  const url = server.playlistUrl(playbackId).replace('index', 'source');
  const last = async () => (await (await fetch(url)).text()).match(/_part\d+\.\d+\.mp4/g)?.at(-1);
  const before = await last();
  expect(before).toBeDefined();
  await until('another part', async () => (await last()) !== before, { within: 10_000 });
}

describe.skipIf(process.platform !== 'linux')('processes that make renditions', () => {
  it('are gone after 50 broadcasts that came and went', async () => {
    await using server = await startServer({ env: { MILLRACE_PLUGINS__STREAMS__HOLD: '1s' } });
    let most = 0;
    for (let round = 0; round < 10; round += 1) {
      const five = await Promise.all(Array.from({ length: 5 }, () => onAir(server)));
      await until('processes', () => marked(server.pid).length > 0, { within: 20_000 });
      // Some are cut off before anything came of them, others later; half of them without a goodbye.
      await lasting(round * 200);
      most = Math.max(most, marked(server.pid).length);
      await Promise.all(five.map(({ encoder }, index) => encoder.stop({ clean: index % 2 === 0 })));
    }
    expect(most).toBeGreaterThan(0);
    await gone(() => marked(server.pid));
    await until(
      'none that counts',
      async () =>
        /^millrace_renditions_broadcasts 0$/m.test(await (await fetch(`${server.url}/metrics`)).text()),
      { within: 10_000 },
    );
    await until(
      'all of the capacity',
      async () =>
        /^millrace_renditions_pixels_per_second 0$/m.test(
          await (await fetch(`${server.url}/metrics`)).text(),
        ),
      { within: 20_000 },
    );
  });

  it('are gone after kill -9 of the server, and come again when it does', async () => {
    await using server = await startServer();
    const { pid } = server;
    {
      await using live = await onAir(server);
      await offers(server, live.stream, 'source.m3u8 r1.m3u8');
      const pids = marked(pid);
      expect(pids).toHaveLength(1);
      // Even one that does nothing any more.
      process.kill(pids[0], 'SIGSTOP');
      await server.kill('SIGKILL');
    }
    await server.restart();
    await gone(() => marked(pid));
    await using live = await onAir(server);
    await offers(server, live.stream, 'source.m3u8 r1.m3u8');
    expect(marked(server.pid)).toHaveLength(1);
  });

  it('that hang are killed, and the source plays on', async () => {
    await using fake = await fakeFfmpeg("trap '' TERM HUP PIPE; while :; do sleep 1; done");
    await using server = await startServer({
      env: { MILLRACE_FFMPEG__PATH: fake.path, MILLRACE_RENDITIONS__STALL: '2s' },
    });
    await using live = await onAir(server);
    const [first] = await until('a process', () => nonEmpty(marked(server.pid)), { within: 20_000 });
    await until('its end', () => !marked(server.pid).includes(first), { within: 20_000 });
    expect(await issueOf(server, live.stream, /gave no picture for 2 s/)).toBeDefined();
    await goesOn(server, live.stream);
    expect(await offered(server, live.stream)).toEqual(['source.m3u8']);
  });

  it('get no source whose picture is beyond all bounds, which plays on', async () => {
    await using server = await startServer();
    await using live = await onAir(server, { ...clip, videoHeader: videoHeader(giantAvc) });
    await issueOf(server, live.stream, /16384 × 16384/);
    await goesOn(server, live.stream);
    expect(marked(server.pid)).toEqual([]);
  });

  it('lose a source with a thousand pictures a second, as many as RTMP has times for; it plays on', async () => {
    await using server = await startServer();
    await using live = await onAir(server, fast(1));
    expect(await issueOf(server, live.stream, /pictures a second; at most 150/)).toBeDefined();
    await goesOn(server, live.stream);
    await gone(() => marked(server.pid));
  });

  it('never see a source with 10,000: the broadcast itself is refused', async () => {
    await using server = await startServer();
    await using live = await onAir(server, fast(10));
    await live.encoder.ended;
    expect(server.output).toContain('The encoder sends too many frames in too little time');
    await gone(() => marked(server.pid));
  });
});

/** Two seconds with so many pictures a millisecond, of nothing. */
function fast(perMs: number): Clip {
  const tags = Array.from({ length: 2000 * perMs }, (_, n) => ({
    ...{ type: 'video' as const, timestamp: Math.floor(n / perMs), isKey: n === 0, frame: n },
    body: frame({ isKey: n === 0, size: 20 }),
  }));
  return { tags, duration: 2000, frames: tags.length, videoHeader: videoHeader(AVC_360P) };
}

function nonEmpty(pids: number[]): number[] | undefined {
  return pids.length > 0 ? pids : undefined;
}
