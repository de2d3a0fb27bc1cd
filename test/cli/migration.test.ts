import { expect, it } from 'vitest';
import { livepeer } from '../../cli/migration/livepeer.ts';
import { mux } from '../../cli/migration/mux.ts';
import { pacedFetch, secondsOf } from '../../cli/migration/paced-fetch.ts';
import { type Here, nameOf, planAsset, planStream, planWebhook } from '../../cli/migration/plan.ts';
import { reportOf, textOfReport } from '../../cli/migration/report.ts';
import type { OldAsset, OldStream, OldWebhook } from '../../cli/migration/source.ts';

const tag = 'mux/old';
const nothing: Here = { assets: new Map(), streams: new Map(), webhooks: new Set(), aliases: new Map() };
const film: OldAsset = {
  ...{ id: 'old', names: ['old', 'play'], name: 'Film', audience: { type: 'public' }, notes: [] },
};
const show: OldStream = { ...film, record: false, suspended: false, streamKey: 'a-key' };
const hook: OldWebhook = {
  id: 'w',
  name: 'Hook',
  url: 'https://x.example',
  events: ['asset.ready'],
  notes: [],
};
const both = new Map([
  ['old', 'p1'],
  ['play', 'p1'],
]);
const assetHere = (status: 'waiting' | 'ready' | 'failed', aliases = new Map<string, string>()): Here => ({
  ...nothing,
  assets: new Map([[tag, { id: 'new', playbackId: 'p1', status }]]),
  aliases,
});
const noSleep = new AbortController().signal;

it('plans what is missing of an asset, and nothing else', () => {
  const plan = (here: Here, old = film) => planAsset(old, { tag, here });
  expect(plan(nothing)).toEqual({ step: 'make', aliases: ['old', 'play'] });
  expect(plan(assetHere('ready', both))).toMatchObject({ step: 'nothing', aliases: [] });
  expect(plan(assetHere('waiting', both))).toMatchObject({ step: 'finish', aliases: [] });
  expect(plan(assetHere('ready', new Map([['old', 'p1']])))).toMatchObject({
    step: 'finish',
    aliases: ['play'],
  });
  // An alias of something else is asked for: the server says why not.
  expect(plan(assetHere('ready', new Map([...both, ['play', 'p2']])))).toMatchObject({ aliases: ['play'] });
  expect(plan(assetHere('failed', both))).toMatchObject({ step: 'replace', aliases: ['old', 'play'] });
  const gone = { ...film, problem: 'it is errored' };
  expect(plan(nothing, gone)).toEqual({ step: 'none', reason: 'it is errored' });
  expect(plan(assetHere('ready', both), gone)).toMatchObject({ step: 'nothing' });
  expect(plan(assetHere('failed'), gone)).toMatchObject({ step: 'none' });
});

it('plans the key of a stream once: one that was rotated since stays', () => {
  const plan = (here: Here, old = show) => planStream(old, { tag, here });
  const here = (hasKey: boolean): Here => ({
    ...{ ...nothing, aliases: both, streams: new Map([[tag, { id: 'new', playbackId: 'p1', hasKey }]]) },
  });
  expect(plan(nothing)).toEqual({ step: 'make', aliases: ['old', 'play'], key: 'a-key' });
  expect(plan(here(false))).toMatchObject({ step: 'finish', key: 'a-key' });
  expect(plan(here(true))).toEqual({ step: 'nothing', stream: here(true).streams.get(tag), aliases: [] });
  const { streamKey: _, ...hidden } = show;
  expect(plan(nothing, hidden).key).toBeUndefined();
});

it('plans a webhook by its name, with the events that there are', () => {
  const plan = (old: OldWebhook, here = nothing) => planWebhook(old, { tag: 'livepeer/w', here });
  const name = 'Hook (livepeer/w)';
  const events = ['playback.user.new', 'stream.idle', 'asset.ready'];
  expect(plan({ ...hook, events })).toEqual({
    ...{ step: 'make', name, events: ['stream.idle', 'asset.ready'] },
    notes: ['there is no event playback.user.new'],
  });
  expect(plan(hook, { ...nothing, webhooks: new Set([name]) })).toMatchObject({ step: 'nothing' });
  expect(plan({ ...hook, events: ['playback.user.new'] })).toMatchObject({ step: 'none' });
  expect(plan({ ...hook, problem: 'it is off' })).toEqual({ step: 'none', reason: 'it is off' });
  const long = plan({ ...hook, name: 'x'.repeat(900) });
  expect('name' in long && [long.name.length, long.name.endsWith(' (livepeer/w)')]).toEqual([500, true]);
  expect([nameOf(''), nameOf('\u0000'), nameOf(`${'x'.repeat(499)}😀`).isWellFormed()]).toEqual([
    ...['without a name', 'without a name', true],
  ]);
});

it('waits for all after 429, and sends again what may be sent again', async () => {
  const sent: number[] = [];
  const answers = [
    () => new Response(null, { status: 429, headers: { 'retry-after': '0' } }),
    () => new Response(null, { status: 503, headers: { 'retry-after': '0' } }),
    () => new Response('fine'),
  ];
  const waits: number[] = [];
  const send = pacedFetch(
    async () => {
      sent.push(performance.now());
      return (answers.shift() ?? (() => new Response('fine')))();
    },
    { signal: noSleep, onWait: (seconds) => waits.push(seconds) },
  );
  expect(await (await send(new Request('http://x.invalid/a', { method: 'POST', body: 'b' }))).text()).toBe(
    'fine',
  );
  expect([sent.length, waits]).toEqual([3, [0, 0]]);

  let tries = 0;
  const broken = pacedFetch(
    async () => {
      tries += 1;
      throw new Error('the connection was lost');
    },
    { signal: noSleep },
  );
  await expect(broken(new Request('http://x.invalid/', { method: 'POST' }))).rejects.toThrow('was lost');
  expect(tries).toBe(1);
  // A server that wants to rest for a day is not waited for.
  const resting = pacedFetch(
    async () => new Response(null, { status: 429, headers: { 'retry-after': '86400' } }),
    {
      signal: noSleep,
    },
  );
  expect((await resting(new Request('http://x.invalid/'))).status).toBe(429);
});

it('reads Retry-After as seconds and as a date', () => {
  const of = (value?: string) =>
    secondsOf(new Response(null, { headers: value ? { 'retry-after': value } : {} }), 1000);
  expect(of('7')).toBe(7);
  expect(of(new Date(11_000).toUTCString())).toBe(10);
  expect(of(new Date(0).toUTCString())).toBe(0);
  expect([of(), of('soon')]).toEqual([undefined, undefined]);
});

/** A platform whose answers are these, by path. */
const platformOf = (answers: Record<string, unknown>) => ({
  ...{ name: 'Old', base: 'http://old.invalid', authorization: 'Bearer x' },
  send: async ({ url }: Request) => {
    const { pathname, searchParams } = new URL(url);
    const isFirst = (searchParams.get('page') ?? '1') === '1';
    return Response.json((isFirst ? answers[pathname] : undefined) ?? { data: [] });
  },
});

async function all<T>(things: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const thing of things) list.push(thing);
  return list;
}

it('never opens what was not open: of Mux what has no public id, of Livepeer what has a policy', async () => {
  const ids = (...policies: string[]) => policies.map((policy, n) => ({ id: `p${n}`, policy }));
  const data = [
    { id: 'a', status: 'ready', playback_ids: ids('public') },
    { id: 'b', status: 'ready', playback_ids: ids('signed', 'public') },
    { id: 'c', status: 'ready', playback_ids: ids('signed') },
    { id: 'd', status: 'ready', playback_ids: ids('drm') },
    { id: 'e', status: 'ready' },
  ];
  const options = { streamUrl: 'http://stream.invalid', masterTime: 0, signal: noSleep };
  const films = await all(
    mux({ ...options, platform: platformOf({ '/video/v1/assets': { data } }) }).assets(),
  );
  const types = films.map(({ id, audience }) => [id, audience.type]);
  expect(types).toEqual([
    ...[
      ['a', 'public'],
      ['b', 'public'],
      ['c', 'closed'],
      ['d', 'closed'],
      ['e', 'closed'],
    ],
  ]);

  const policies = [
    undefined,
    null,
    { type: 'public' },
    { type: 'jwt' },
    { type: 'webhook' },
    { type: 'new one' },
  ];
  const assets = policies.map((playbackPolicy, n) => ({ id: `l${n}`, playbackPolicy }));
  const ofStudio = await all(livepeer({ platform: platformOf({ '/asset': assets }) }).assets());
  expect(ofStudio.map(({ audience }) => audience.type)).toEqual([
    ...['public', 'public', 'public', 'closed', 'closed', 'closed'],
  ]);
});

it('survives answers of any shape', async () => {
  for (const strange of [null, 7, 'x', [], [null], { data: 5 }, { data: [null, 7, {}] }]) {
    const platform = platformOf({ '/asset': strange, '/video/v1/assets': strange });
    const options = { streamUrl: '', masterTime: 0, signal: noSleep };
    for (const origin of [livepeer({ platform }), mux({ ...options, platform })])
      for (const { problem } of await all(origin.assets())) expect(problem).toBeDefined();
  }
});

it('reports in words what was not moved, and what is different', () => {
  const item = { kind: 'asset', from: 'old', name: 'Film' } as const;
  const report = reportOf(
    [
      { ...item, outcome: 'moved', notes: ['text tracks are not moved'] },
      { ...item, from: 'bad', outcome: 'impossible', reason: 'it is errored', notes: [] },
    ],
    { from: 'mux', dryRun: true },
  );
  const text = textOfReport(report);
  expect(text).toContain('Assets:    1 moved, 1 cannot be moved');
  expect(text).toMatch(/asset +bad +Film +it is errored/);
  expect(text).toMatch(/asset +old +Film +text tracks are not moved/);
  expect(text).toContain('dry run');
});
