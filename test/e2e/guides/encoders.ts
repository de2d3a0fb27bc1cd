import { expect } from 'vitest';
import { findFreePort } from '../../kit/free-ports.ts';
import { ffmpeg, librtmp } from '../harness/encoders.ts';
import { broadcast } from '../harness/ffmpeg.ts';
import type { PageRun } from './page-run.ts';
import { api, broadcasts, onAir, type Step, sh, soon } from './steps.ts';

const stream = (run: PageRun) => run.world.server.api.getStream(run.variable('STREAM_ID'));

/** ffmpeg waits for SRT, and another sends that. */
const convertsSrt: Step = {
  languages: ['sh'],
  async run(run, block) {
    run.replace('0.0.0.0:9000', `127.0.0.1:${await findFreePort()}`);
    const input = ['-re', '-stream_loop', '-1', '-i', run.world.film, '-c', 'copy'];
    const send = () => ffmpeg(...input, '-f', 'mpegts', run.here('srt://0.0.0.0:9000'));
    let [converter, sender] = [run.start(block), send()];
    await soon('the stream on the air', async () => {
      // One of them may have come too early, and the other ended with it.
      if (!converter.isRunning) converter = run.start(block);
      if (!sender.isRunning) sender = send();
      return (await stream(run)).isActive;
    });
    await sender[Symbol.asyncDispose]();
    await converter.interrupt();
  },
};

/** Steps of the pages about encoders: what runs each block, in the order of the page. */
export const encoderPages: Record<string, readonly Step[]> = {
  'obs.md': [
    sh({
      check: (run, printed) => {
        const [, key] = /^(.*)\/([^/]+)$/.exec(run.variable('INGEST_URL'))?.slice(1) ?? [];
        expect(printed).toMatch(new RegExp(`^Server: +rtmp://[^/]+/live\nKey: +${key}$`, 'm'));
      },
    }),
    sh({
      // The library that OBS sends with, as OBS uses it.
      before: (run) => run.own(librtmp(run.variable('INGEST_URL'), run.world.clip)),
      during: (_, commands) =>
        soon('its state', () => /^Watch: http.*\n[\s\S]*on the air, healthy/m.test(commands.printed)),
    }),
  ],
  'ffmpeg.md': [
    broadcasts(),
    broadcasts(),
    broadcasts(),
    broadcasts(async (run) => {
      // The server ends the connection, and ffmpeg comes back.
      const { server } = run.world;
      await server.api.terminate(run.variable('STREAM_ID'));
      await soon('the end of it', async () => !(await stream(run)).isActive);
      await onAir(run);
    }),
    sh({
      check: (_, printed) =>
        expect(Object.keys(JSON.parse(printed))).toEqual(['isActive', 'isHealthy', 'ingestRate', 'issues']),
    }),
  ],
  'gstreamer.md': [
    broadcasts(),
    broadcasts(),
    sh({ check: (_, printed) => expect(printed).toMatch(/^State: +(on|off) the air/m) }),
  ],
  'larix.md': [
    sh({
      check: (run, printed) => {
        const { searchParams, protocol } = new URL(printed.trim());
        expect([protocol, ...searchParams]).toEqual([
          'larix:',
          ['conn[][url]', run.variable('INGEST_URL')],
          ['conn[][name]', 'Millrace'],
          ['conn[][mode]', 'av'],
          ['enc[vid][keyframe]', '2'],
        ]);
      },
    }),
    sh({ check: async (run) => expect(await stream(run)).toMatchObject({ holdSeconds: 120 }) }),
    sh({ check: (_, printed) => expect(printed).toMatch(/^State: +off the air/m) }),
  ],
  'other-encoders.md': [
    sh({ check: (run, printed) => expect(printed).toContain(`URL:     ${run.variable('INGEST_URL')}`) }),
    broadcasts(),
    sh({
      before: async (run) => {
        const key = `wrong-${run.variable('PLAYBACK_ID')}`;
        await using _ = broadcast(run.world.server.ingestUrl(key), { clip: run.world.clip });
        const refused = async () => (await api(run, '/api/ingest/refused')) as { key?: string }[];
        await soon('the refusal', async () =>
          (await refused()).some((one) => one.key?.endsWith(key.slice(-4))),
        );
      },
      check: (_, printed) =>
        expect(JSON.parse(printed)).toEqual({
          ...{ address: '127.0.0.1', reason: 'unknown_key', message: expect.any(String) },
          key: expect.stringMatching(/^••••/),
        }),
    }),
    convertsSrt,
  ],
};
