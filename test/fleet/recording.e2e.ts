import { expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { openEvents } from '../e2e/harness/events.ts';
import { numbered, watch } from '../e2e/harness/numbered.ts';
import { decode, download, expectEnd, listAssets, readSession } from '../e2e/harness/recorded.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { startFleet } from '../kit/engines/fleet/fleet.ts';
import { playByFfmpeg } from '../vod/players.ts';
import { lacksEngines } from './three-nodes.ts';

const isMissing = await lacksEngines();
/** Of the demo clip. */
const fps = 30;

test.skipIf(isMissing)(
  'a broadcast whose node is killed goes on at another: its recording is one file of what both have, in order',
  async () => {
    await using fleet = await startFleet({
      nodes: [
        { id: 'a', roles: ['api', 'actors', 'worker'] },
        { id: 'm1', roles: ['media'] },
        { id: 'm2', roles: ['media'] },
      ],
      env: {
        MILLRACE_PLUGINS__STREAMS__HOLD: '4s',
        MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '4s',
      },
    });
    const { url } = fleet.node('a');
    const server = { api: apiClient(url, { key: fleet.key }) };
    const events = await openEvents(url, { key: fleet.key });
    const { id, streamKey, playbackId } = await server.api.createStream({ name: 'two nodes', record: true });
    let ingest = 'm1';
    await using encoder = numbered(() => `rtmp://127.0.0.1:${fleet.node(ingest).rtmpPort}/live/${streamKey}`);
    await using viewer = await watch(`${url}/hls/${playbackId}/index.m3u8`);
    await viewer.moves({ within: 20_000 });
    await lasting(5000);
    const [{ id: session }] = await server.api.listSessions(id);

    ingest = 'm2';
    // What was packaged less than a second ago may not be written yet.
    const seen = viewer.seen({ ago: 1000 });
    await fleet.node('m1').kill();
    const began = await until('the encoder to be on the other', () => encoder.firsts[1], { within: 20_000 });
    await until('a viewer of the other', () => viewer.seen() > began + fps, { within: 30_000 });
    await lasting(5000);
    // It comes back, and has its part.
    await fleet.node('m1').restart();
    await lasting(3000);
    await viewer[Symbol.asyncDispose]();
    const [waiting, ready] = ['recording.waiting', 'recording.ready'].map((name) =>
      events.expect(name, { within: 120_000, streamId: id }),
    );
    await encoder.stop();
    await waiting;
    // The asset has its file some commits before the session says so.
    await ready;
    const [asset, ...others] = await listAssets(server);
    expect(others).toEqual([]);
    const made = await download(server, { id: session, asset });
    expect((await server.api.listSessions(id)).map((one) => one.id)).toEqual([session]);

    // All that was seen of the first node, then all of the second; between them what the death took.
    const [[first, last], [again, end], ...more] = made.runs;
    expect([first, again, more]).toEqual([0, began, []]);
    expect(last).toBeGreaterThanOrEqual(seen);
    expect(began - last).toBeLessThan(3 * fps);
    expectEnd(end, encoder);
    const { recordingUrl, mp4Url, issues } = await readSession(server, session);
    expect(issues).toEqual([]);
    expect(await decode(mp4Url)).toEqual({ pictures: made.pictures, complaints: '' });
    // Also over the seam of two nodes times go forward, so that ffmpeg leaves nothing out.
    expect(await playByFfmpeg(recordingUrl ?? '')).toEqual({ pictures: made.pictures, complaints: '' });
    expect(Math.abs((asset.videoSpec?.duration ?? 0) - made.pictures / fps)).toBeLessThan(0.3);
    console.log(`first node 0 to ${last}, lost ${began - last - 1}, second node ${began} to ${end}`);
    events.close();
  },
  180_000,
);
