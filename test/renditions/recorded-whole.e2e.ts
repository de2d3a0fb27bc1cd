import { expect, test } from 'vitest';
import { readSession } from '../e2e/harness/recorded.ts';
import { root, startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import { readFlvFile } from '../kit/publisher/flv-file.ts';
import { onAir } from './on-air.ts';

test('a broadcast that ends cleanly, goes on in time and is terminated has all of its own pictures in each', async () => {
  const env = {
    MILLRACE_PLUGINS__STREAMS__HOLD: '2s',
    MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '8s',
  };
  await using server = await startServer({ env });
  const clip = await readFlvFile(`${root}/demo/clip.flv`);
  await using live = await onAir(server, { name: 'whole', clip, record: true });
  await lasting(1300);
  await live.encoder.stop({ clean: true });
  // Its playlist is gone, and it is the same session all the same.
  await until('the end', async () => (await fetch(live.url)).status === 404, { within: 10_000 });
  await live.reconnect();
  await until('its playlist', async () => (await fetch(live.url)).status === 200, { within: 20_000 });
  await lasting(5300);
  await server.api.terminate(live.stream.id);
  const [session, ...others] = await server.api.listSessions(live.stream.id);
  expect(others).toEqual([]);
  const url = await until(
    'the recording',
    async () => {
      const { recordingStatus, recordingUrl } = await readSession(server, session.id);
      return recordingStatus === 'ready' ? recordingUrl : undefined;
    },
    { within: 40_000 },
  );
  const read = async (name: string) => (await fetch(url.replace('index', name))).text();
  const source = parseSegmentPlaylist(await read('source'));
  expect(source.segments.at(-1)?.discontinuities).toBe(1);
  for (const name of ['r1', 'r2'])
    expect(
      parseSegmentPlaylist(await read(name), { borrows: true }).segments.map(({ uri, duration }) => [
        uri,
        duration,
      ]),
    ).toEqual(source.segments.map(({ uri, duration }) => [`${name}${uri}`, duration]));
  const codecs = [...(await read('index')).matchAll(/CODECS="([^"]*)"/g)].map(([, list]) => list.split(','));
  expect(codecs.map((list) => list.filter((codec) => codec.startsWith('avc1.')).length)).toEqual([1, 1, 1]);
}, 120_000);
