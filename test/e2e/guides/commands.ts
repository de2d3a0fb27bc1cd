import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import type { PageRun } from './page-run.ts';
import { broadcasts } from './steps.ts';

interface Encoder {
  readonly id: string;
  readonly command?: (ingest: { url: string; key: string }) => string;
}

const encodersOfPage = '../../../plugins/dashboard/page/lib/encoders.js';
const { encoders } = (await import(encodersOfPage)) as { encoders: readonly Encoder[] };

/** Encoders for which the page *Go live* shows a command. */
export const commandsOfGoLive = encoders.filter(({ command }) => command);

const hasX264 = spawnSync('gst-inspect-1.0', ['--exists', 'x264enc']).status === 0;
/** In CI everything is there, or the test says so. */
export const canRun = ({ id }: Encoder) => id !== 'gstreamer' || hasX264 || Boolean(process.env.CI);

/** Runs the command until its stream is on the air, with codecs that every browser plays. */
export async function runCommand(run: PageRun, { id, command }: Encoder): Promise<void> {
  const [, url = '', key = ''] = /^(.*)\/([^/]+)$/.exec(run.variable('INGEST_URL')) ?? [];
  const text = command?.({ url, key }) ?? '';
  const step = broadcasts(async () => {
    const playlist = await fetch(run.world.server.playlistUrl(run.variable('PLAYBACK_ID')));
    // H.264 Baseline, Main or High, which have 4:2:0.
    expect(await playlist.text()).toMatch(/CODECS="avc1\.(42|4d|64)\w{4},mp4a\.40\.2"/);
  });
  await step.run(run, { page: id, line: 1, language: 'sh', text });
}
