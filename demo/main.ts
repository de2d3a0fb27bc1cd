import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { broadcast } from './broadcast.ts';
import { readFlvFile } from './flv-file.ts';

/**
 * `npm run demo`: a first picture without anything else. Finds a server by the same variables that the server
 * itself reads, or starts one; makes a stream; broadcasts the clip in a loop until Ctrl-C.
 */
async function main(): Promise<void> {
  const { base, rtmp, dataDir } = settings(process.env);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());

  const server = (await isReady(base)) ? undefined : await startServer(base, { signal: stopping.signal });
  const key = process.env.MILLRACE_BOOTSTRAP_KEY || (await bootstrapKey(dataDir));
  const stream = await demoStream({ base, key, dataDir });
  const clip = await readFlvFile(join(import.meta.dirname, 'clip.flv'));
  const onAir = broadcast({ url: `${rtmp}/${stream.streamKey}`, clip, retry: true, log: say });
  const playlist = `${base}/hls/${stream.playbackId}/index.m3u8`;
  void announce({ playlist, watch: `${base}/watch/${stream.playbackId}`, signal: stopping.signal });

  const isStopped = new Promise<void>((resolve) => {
    if (stopping.signal.aborted) resolve();
    stopping.signal.addEventListener('abort', () => resolve());
  });
  const end = await Promise.race([onAir.ended, isStopped]);
  stopping.abort();
  await onAir.stop({ clean: true });
  if (server) {
    server.kill('SIGTERM');
    await server.exited;
  }
  if (end) fail(end.message);
  say('Stopped.');
  process.exit(0);
}

/** Longest a server that we start may take, in milliseconds. */
const STARTUP = 20_000;

interface DemoStream {
  id: string;
  streamKey: string;
  playbackId: string;
}

/** Where the server is. What stands in a config file only is not seen here. */
function settings(env: NodeJS.ProcessEnv): { base: string; rtmp: string; dataDir: string } {
  const base = (env.MILLRACE_PUBLIC_URL || `http://127.0.0.1:${env.MILLRACE_HTTP__PORT || 8080}`).replace(
    /\/$/,
    '',
  );
  const rtmp = `rtmp://${new URL(base).hostname}:${env.MILLRACE_RTMP__PORT || 1935}/live`;
  return { base, rtmp, dataDir: env.MILLRACE_DATA_DIR || './data' };
}

async function startServer(base: string, { signal }: { signal: AbortSignal }): Promise<Bun.Subprocess> {
  say(`No server at ${base}, so this starts one.`);
  const server = Bun.spawn({
    cmd: [process.execPath, join(import.meta.dirname, '../runtime/main.ts')],
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  // Whatever ends the demo, its server does not stay behind.
  process.once('exit', () => server.kill());
  const began = performance.now();
  while (!(await isReady(base))) {
    if (server.exitCode !== null) fail(`the server ended with code ${server.exitCode}`);
    if (performance.now() - began > STARTUP) fail(`the server was not ready after ${STARTUP / 1000} s`);
    if (signal.aborted) process.exit(0);
    await sleep(50);
  }
  return server;
}

async function isReady(base: string): Promise<boolean> {
  try {
    return (await fetch(`${base}/health/ready`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

async function bootstrapKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'bootstrap-key');
  const key = await readFile(path, 'utf8').catch(() => '');
  if (key.trim() === '')
    fail(`no API key: set MILLRACE_BOOTSTRAP_KEY, or MILLRACE_DATA_DIR to the folder that has it (${path})`);
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
async function announce(options: { playlist: string; watch: string; signal: AbortSignal }): Promise<void> {
  const { playlist, watch, signal } = options;
  while (!signal.aborted) {
    const answer = await fetch(playlist, { signal }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) {
      say(`\n  Watch  ${watch}\n  HLS    ${playlist}\n\nCtrl-C ends it.`);
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

await main().catch((error: Error) => fail(error.message));
