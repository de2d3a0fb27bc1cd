import { askFor } from '../test/e2e/harness/http-load.ts';
import { broadcast } from '../test/kit/publisher/broadcast.ts';
import { readFlvFile } from '../test/kit/publisher/flv-file.ts';
import { root } from './harness/children.ts';
import { machine, median, printTable } from './harness/figures.ts';
import { millrace } from './harness/millrace.ts';
import { optionsOf } from './harness/options.ts';
import { usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';

/**
 * What private playback costs the server: CPU time for each playlist and each part of a live stream, public and signed by turns. Both
 * are measured with the same parts, because the bytes of a part cost more than everything else. Run: bun bench/playback.ts [options]
 */
const values = optionsOf(
  `  --requests 6000   of a kind in one round
  --rounds 12       of both`,
  { requests: 6000, rounds: 12 },
);
/** Until a changed policy holds, ms. */
const noticed = 2300;

const server = await millrace();
const clip = await readFlvFile(`${root}/demo/clip.flv`);
const made = await (await server.call('POST', '/api/stream', { name: 'A' })).json();
const { id, playbackId, ingestUrl } = made as Record<string, string>;
const onAir = broadcast({ url: ingestUrl, clip });
await onAir.started;
const base = `/hls/${playbackId}`;
const playlist = async (query = '') => (await fetch(`${server.url}${base}/source.m3u8${query}`)).text();
await until('the playlist', async () => (await playlist()).includes('#EXT-X-PART:'), {
  within: 20_000,
  every: 100,
});
await Bun.sleep(5000);

const kinds = ['playlist', 'part'] as const;
const costs = kinds.map(() => ({ open: [] as number[], signed: [] as number[] }));
for (let round = 0; round < values.rounds; round += 1) {
  const parts = [...(await playlist()).matchAll(/#EXT-X-PART:.*URI="([^"]+)"/g)].slice(-6);
  const paths = (query: string) => [
    [`${base}/source.m3u8${query}`],
    parts.map(([, uri]) => `${base}/${uri}${query}`),
  ];
  for (const [index, list] of paths('').entries()) costs[index]?.open.push(await costOf(list));
  await policy({ type: 'signed' });
  const { token } = (await (await server.call('GET', `/api/playback/${playbackId}/token`)).json()) as {
    token: string;
  };
  for (const [index, list] of paths(`?token=${token}`).entries())
    costs[index]?.signed.push(await costOf(list));
  await policy(null);
}
await onAir.stop({ clean: true });
await server.stop();
console.log(machine());
printTable(
  ['', 'public, µs', 'signed, µs', 'signed requests a second of a core, of public'],
  costs.map(({ open, signed }, index) => [
    kinds[index] ?? '',
    median(open).toFixed(1),
    median(signed).toFixed(1),
    median(open.map((each, round) => each / (signed[round] ?? 1))).toFixed(2),
  ]),
);

async function policy(playbackPolicy: object | null): Promise<void> {
  const answer = await server.call('PATCH', `/api/stream/${id}`, { playbackPolicy });
  if (!answer.ok) throw new Error(`PATCH: ${answer.status} ${await answer.text()}`);
  await Bun.sleep(noticed);
}

/** Microseconds of CPU of one request. */
async function costOf(list: readonly string[]): Promise<number> {
  const used = () => [...usageOf(server.child.pid).threads.values()].reduce((sum, each) => sum + each, 0);
  const before = used();
  const repeated = Array.from({ length: values.requests }, (_, index) => list[index % list.length] ?? '');
  const statuses = await askFor(server.url, { paths: repeated, connections: 4 });
  if (statuses.get(200) !== values.requests) throw new Error(`${list[0]}: ${[...statuses]}`);
  return ((used() - before) / values.requests) * 1e6;
}
