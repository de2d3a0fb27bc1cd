import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../core/base/fault.ts';
import { broadcast } from './broadcast.ts';
import { readClip } from './clip.ts';
import { findServer } from './server.ts';

/**
 * `npm run demo`: a first picture without anything else. Finds the server by the config that the server itself reads,
 * or starts one; makes a stream; broadcasts the clip in a loop until Ctrl-C.
 */
async function main(): Promise<void> {
  const stopping = new AbortController();
  // More than once: Ctrl-C under npm comes from the terminal and from npm.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

  const server = await findServer({ environment: process.env, signal: stopping.signal, say });
  const { base, publicUrl, dataDir } = server;
  const key = server.bootstrapKey ?? (await bootstrapKey(dataDir));
  const stream = await demoStream({ base, key, dataDir });
  const clip = await readClip(join(import.meta.dirname, 'clip.flv'));
  const { signal } = stopping;
  void announce({ base, publicUrl, playbackId: stream.playbackId, signal });
  // A refusal is told after the server that this has started was stopped.
  await broadcast(`${server.rtmp}/${stream.streamKey}`, { clip, signal, say }).finally(() => server.stop());
  say('Stopped.');
  process.exit(0);
}

interface DemoStream {
  id: string;
  streamKey: string;
  playbackId: string;
}

async function bootstrapKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'bootstrap-key');
  const key = await readFile(path, 'utf8').catch(() => '');
  if (key.trim() === '')
    fail(`no API key: set bootstrapKey, or dataDir to the folder that has it (${path}), in the config`);
  return key.trim();
}

/** The stream of an earlier demo if it is still there; its id is kept in the data folder. */
async function demoStream(options: { base: string; key: string; dataDir: string }): Promise<DemoStream> {
  const { base, key, dataDir } = options;
  const note = join(dataDir, 'demo-stream');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const id = (await readFile(note, 'utf8').catch(() => '')).trim();
  if (/^[\w-]{8,64}$/.test(id)) {
    const answer = await fetch(`${base}/api/stream/${id}`, { headers });
    if (answer.ok) return (await answer.json()) as DemoStream;
    await answer.body?.cancel();
  }
  const body = JSON.stringify({ name: 'Demo' });
  const answer = await fetch(`${base}/api/stream`, { method: 'POST', headers, body });
  if (!answer.ok)
    fail(`the server refused to make a stream: ${answer.status} ${(await answer.text()).slice(0, 300)}`);
  const stream = (await answer.json()) as DemoStream;
  await mkdir(dataDir, { recursive: true });
  await writeFile(note, `${stream.id}\n`);
  return stream;
}

/** Says where to look, once there is something to see. */
async function announce(options: {
  base: string;
  publicUrl: string;
  playbackId: string;
  signal: AbortSignal;
}): Promise<void> {
  const { base, publicUrl, playbackId, signal } = options;
  const playlist = `/hls/${playbackId}/index.m3u8`;
  while (!signal.aborted) {
    const answer = await fetch(`${base}${playlist}`, { signal }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) {
      say(`\n  Watch  ${publicUrl}/watch/${playbackId}\n  HLS    ${publicUrl}${playlist}\n\nCtrl-C ends it.`);
      return;
    }
    await sleep(100);
  }
}

function say(line: string): void {
  console.log(line);
}

function fail(reason: string): never {
  console.error(`The demo cannot go on: ${reason}`);
  process.exit(1);
}

await main().catch((error: Error) =>
  fail(error instanceof Fault ? error.problems.join('\n  ') : error.message),
);
