import { askFor } from '../test/e2e/harness/http-load.ts';
import { broadcast } from '../test/kit/publisher/broadcast.ts';
import { readFlvFile } from '../test/kit/publisher/flv-file.ts';
import { root } from './harness/children.ts';
import { machine, printTable } from './harness/figures.ts';
import { type Millrace, millrace } from './harness/millrace.ts';
import { optionsOf } from './harness/options.ts';
import { usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';

/**
 * What private playback costs the server: CPU time for each playlist and each part of a live stream that is public, without and
 * with the plugin, and that is signed. Run: bun bench/playback.ts [options]
 */
const values = optionsOf(
  `  --requests 4000   of a kind in one round
  --rounds 3        of all of them; the best counts`,
  { requests: 4000, rounds: 3 },
);

interface Case {
  readonly name: string;
  readonly server: Millrace;
  readonly base: string;
  readonly query: string;
}

const clip = await readFlvFile(`${root}/demo/clip.flv`);
const stops: (() => Promise<unknown>)[] = [];
const cases: Case[] = [];
const off = await serverOf({ MILLRACE_PLUGINS__PROTECTION: 'false' });
cases.push(await live('public, plugin off', off));
const on = await serverOf({});
cases.push(await live('public', on));
cases.push(await live('signed', on, { playbackPolicy: { type: 'signed' } }));
await Bun.sleep(12_000);

/** Microseconds of CPU of one request, the best of all rounds. */
const best = new Map<string, number>();
for (let round = 0; round < values.rounds; round += 1)
  for (const one of cases)
    for (const [what, paths] of Object.entries(await pathsOf(one))) {
      const before = usageOf(one.server.child.pid).cpu;
      const repeated = Array.from({ length: values.requests }, (_, index) => paths[index % paths.length]);
      const statuses = await askFor(one.server.url, { paths: repeated, connections: 4 });
      if (statuses.get(200) !== values.requests) throw new Error(`${one.name} ${what}: ${[...statuses]}`);
      const each = ((usageOf(one.server.child.pid).cpu - before) / values.requests) * 1e6;
      const key = `${one.name} ${what}`;
      best.set(key, Math.min(each, best.get(key) ?? Number.POSITIVE_INFINITY));
    }
for (const stop of stops.reverse()) await stop();
console.log(machine());
const cost = (name: string, what: string) => best.get(`${name} ${what}`) as number;
printTable(
  ['', 'playlist, µs', 'of public', 'part, µs', 'of public'],
  cases.map(({ name }) => [
    name,
    ...['playlist', 'part'].flatMap((what) => [
      cost(name, what).toFixed(0),
      (cost('public, plugin off', what) / cost(name, what)).toFixed(2),
    ]),
  ]),
);
console.log('"of public": requests a second of a core, as a share of those without the plugin.');

async function serverOf(env: Record<string, string>): Promise<Millrace> {
  const server = await millrace({ env });
  stops.push(() => server.stop());
  return server;
}

async function live(name: string, server: Millrace, fields = {}): Promise<Case> {
  const answer = await server.call('POST', '/api/stream', { name: 'A', ...fields });
  const { playbackId, ingestUrl } = (await answer.json()) as { playbackId: string; ingestUrl: string };
  const onAir = broadcast({ url: ingestUrl, clip });
  stops.push(() => onAir.stop({ clean: true }));
  await onAir.started;
  const base = `/hls/${playbackId}`;
  const token =
    'playbackPolicy' in fields
      ? ((await (await server.call('GET', `/api/playback/${playbackId}/token`)).json()) as { token: string })
          .token
      : undefined;
  const query = token === undefined ? '' : `?token=${token}`;
  const isThere = async () => (await fetch(`${server.url}${base}/source.m3u8${query}`)).status === 200;
  await until('the playlist', isThere, { within: 20_000, every: 100 });
  return { name, server, base, query };
}

async function pathsOf({ server, base, query }: Case): Promise<Record<'playlist' | 'part', string[]>> {
  const text = await (await fetch(`${server.url}${base}/source.m3u8${query}`)).text();
  const parts = [...text.matchAll(/#EXT-X-PART:.*URI="([^"]+)"/g)].map(([, uri]) => `${base}/${uri}`);
  return { playlist: [`${base}/source.m3u8${query}`], part: parts.slice(-6) };
}
