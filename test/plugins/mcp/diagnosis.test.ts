import { describe, expect, it } from 'vitest';
import { causesOf } from '../../../plugins/mcp/causes.ts';
import type { Facts, Point } from '../../../plugins/mcp/facts.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { tool } from './kit.ts';

const plugins = await allPlugins();
const hook = 'https://hooks.example.com/in';

describe('a diagnosis', () => {
  it('tells of lost encoders, failed webhooks and what happened when', async () => {
    await using w = await world({ plugins });
    w.outbound.answer(hook, () => ({ status: 500 }));
    const body = { name: 'W', url: hook, events: ['stream.started'] };
    const { body: webhook } = await w.request('POST', '/api/webhook', { body });
    const stream = await w.given.stream({ name: 'Friday' });
    const publish = await w.given.broadcast(stream);
    await w.advance('30s');
    publish.end({ clean: false });
    await w.advance('20s');
    const { text, isError } = await tool(w, 'diagnose', { input: { stream: stream.id } });
    expect(isError).toBe(false);
    expect(text).toMatch(
      /^Stream "Friday" \([\w-]+\), session [\w-]+: began 2026-01-01T00:00:00\.000Z, on the air for 50 s\./,
    );
    expect(text).toMatch(/The connection of the encoder was lost once \(00:00:\d\d\)/);
    expect(text).toMatch(
      new RegExp(`a delivery to the webhook ${webhook.id} failed; the last time it answered 500`),
    );
    expect(text).toMatch(/00:00:00 the encoder connected; the session began\n00:00:\d\d .*on the air/);
    // The same by its name, by its session and by a moment.
    const [session] = (await w.request('GET', `/api/stream/${stream.id}/sessions`)).body;
    for (const input of [
      { stream: 'Friday' },
      { stream: session.id },
      { stream: stream.id, at: '2026-01-01T00:00:10Z' },
    ])
      expect((await tool(w, 'diagnose', { input })).text).toBe(text);
  });

  it('tells of encoders that were refused, also before there is a session', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { suspended: true } });
    await w.media.publish(stream.streamKey).catch(() => {});
    await w.settle();
    const { text } = await tool(w, 'diagnose', { input: { stream: stream.id } });
    expect(text).toMatch(/has not been broadcast yet\. It is suspended: encoders are refused\./);
    expect(text).toMatch(/1\. A publish was refused .*This stream is suspended\./);
  });

  it('says what the key may not see, and what there is not', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    const access = { rules: [{ resources: ['stream/:id', 'stream/:id/sessions'], methods: ['get'] }] };
    const { key } = (await w.request('POST', '/api/api-token', { body: { name: 'K', access } })).body;
    const { text } = await tool(w, 'diagnose', { key, input: { stream: stream.id } });
    expect(text).toMatch(
      /Could not be seen:\n- refused publishes: .*may not[\s\S]*- the time line of the session: .*may not/,
    );
    const none = await tool(w, 'diagnose', { input: { stream: 'no such stream' } });
    expect(none.text).toMatch(/^There is no stream of this id or name/);
    const when = await tool(w, 'diagnose', { input: { stream: stream.id, at: 'yesterday' } });
    expect(when).toEqual({ isError: true, text: expect.stringContaining('at: expected a moment') });
    const nothing = await keyed(w);
    expect(await tool(w, 'diagnose', { key: nothing, input: { stream: stream.id } })).toMatchObject({
      isError: true,
    });
    await w.given.stream({ name: 'Twin' });
    await w.given.stream({ name: 'Twin' });
    expect((await tool(w, 'diagnose', { input: { stream: 'Twin' } })).text).toMatch(
      /^Several streams have this/,
    );
  });
});

async function keyed(w: Awaited<ReturnType<typeof world>>): Promise<string> {
  const access = { rules: [{ resources: ['asset'], methods: ['get'] }] };
  return (await w.request('POST', '/api/api-token', { body: { name: 'K', access } })).body.key;
}

describe('causes', () => {
  const began = Date.UTC(2026, 0, 1);
  const facts = (more: Partial<Facts>): Facts => ({
    stream: { id: 's', name: 'S' },
    session: { id: 'x', createdAtMs: began },
    ...{ points: [], timeline: [], refused: [], now: began + 60_000 },
    ...more,
  });
  const point = (index: number, more: Partial<Point> = {}): Point => ({
    ...{ time: began + index * 5000, ingestRate: 4_000_000, keyFrameInterval: 2, dropped: 0, issues: [] },
    ...more,
  });
  const told = (more: Partial<Facts>) => causesOf(facts(more)).map(({ text }) => text);

  it('are none of a broadcast that was fine', () => {
    expect(told({ points: Array.from({ length: 20 }, (_, index) => point(index)) })).toEqual([]);
  });

  it('name a key-frame interval that is too long, with its length', () => {
    expect(told({ points: [point(0), point(1, { keyFrameInterval: 10.04 })] })[0]).toMatch(
      /^The key-frame interval is too long: up to 10 s/,
    );
  });

  it('name a bitrate that swings, and not one that drops once', () => {
    const rates = (low: (index: number) => boolean) =>
      Array.from({ length: 30 }, (_, index) =>
        point(index, { ingestRate: low(index) ? 500_000 : 4_000_000 }),
      );
    expect(told({ points: rates((index) => index % 3 === 0) })[0]).toMatch(
      /^The bitrate swings between 500 kbit\/s and 4 Mbit\/s/,
    );
    expect(told({ points: rates((index) => index === 9) })).toEqual([]);
  });

  it('name two encoders with one key, pushes that failed, and a broadcast that came back', () => {
    const message = 'Another broadcast uses this stream key.';
    const refused = [1, 2, 3].map((second) => ({
      at: began + second * 1000,
      reason: 'busy',
      message,
      encoder: 'OBS',
    }));
    const target = { id: 't', name: 'Elsewhere' };
    const push = {
      at: began,
      kind: 'event' as const,
      event: 'multistream.error',
      payload: { target, error: 'refused' },
    };
    const state = (second: number, name: string) => ({
      at: began + second * 1000,
      kind: 'state' as const,
      state: name,
    });
    const timeline = [push, state(1, 'live'), state(2, 'idle'), state(9, 'live')];
    expect(told({ refused, timeline })).toEqual([
      expect.stringMatching(
        /^Two encoders use this stream key: one of them was turned away 3 times \(00:00:01, 00:00:02, 00:00:03, from OBS\)/,
      ),
      expect.stringMatching(/^The broadcast went off the air and came back once \(off at 00:00:02\)/),
      'The push to the target "Elsewhere" failed once (00:00:00): refused',
    ]);
  });

  it('adds up how long an issue lasted', () => {
    const issues = ['The sound is missing. Check it.'];
    expect(
      told({ points: [point(0, { issues }), point(1, { issues }), point(2), point(3, { issues })] }),
    ).toEqual(['The sound is missing. Check it. (from 00:00:00, 15 s in all)']);
  });
});
