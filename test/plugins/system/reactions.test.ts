import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../../core/plugin/plugin.ts';
import type { LoggedEvent } from '../../../core/ports/store.ts';
import accounts from '../../../plugins/accounts/index.ts';
import streams from '../../../plugins/streams/index.ts';
import system from '../../../plugins/system/index.ts';
import webhooks from '../../../plugins/webhooks/index.ts';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { emitter } from '../../kit/emitter.ts';
import { type World, world } from '../../kit/world.ts';

/** A world with a plugin that reacts to `thing.happened`, and fails at what `isBroken` says. */
async function reacting(options: { plugins?: readonly Plugin[] } = {}) {
  const { plugin: source, emit } = emitter();
  const seen: string[] = [];
  const tries: string[] = [];
  const state = { isBroken: (_: LoggedEvent) => true as boolean, error: 'a bug' };
  const plugin = definePlugin({
    id: 'reacting',
    summary: 'reacts',
    emits: { 'thing.happened': 'A thing.' },
    reactions: {
      'thing.happened': async (event) => {
        const { name } = JSON.parse(event.body).payload;
        tries.push(name);
        if (state.isBroken(event)) throw new TypeError(state.error);
        seen.push(name);
      },
    },
  });
  const plugins = [accounts, streams, system, source, plugin, ...(options.plugins ?? [])] as Plugin[];
  const w = await world({ plugins, durable: true });
  const account = (await w.request('POST', '/api/account', { body: { name: 'Theirs' } })).body.id;
  const happens = async (name: string, stream = 's') => {
    await emit({ type: 'thing.happened', account, stream, payload: { name } });
    await w.settle();
  };
  return { w, state, seen, tries, happens, account };
}

/** A day later: what failed by now is parked. The days go by while no process runs, as there is no try then. */
async function aDayLater(w: World): Promise<void> {
  await w.advance('2m');
  await w.crash({ downFor: '24h' });
  await w.advance('10s');
}

const listOf = async (w: World) => (await w.request('GET', '/api/system/reactions')).body;
const issuesOf = async (w: World) => (await w.request('GET', '/health/ready')).body.issues ?? [];
const metricsOf = async (w: World) =>
  (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
const parkedIssue = (count: number) =>
  `Reactions of the plugin reacting failed for a day and are parked (${count}). GET /api/system/reactions lists them; resume or delete each.`;

describe('a reaction that fails for ever', () => {
  it('is parked after a day: its stream goes on, an event and an issue tell of it, and it can be resumed', async () => {
    const { w, state, seen, happens, account } = await reacting();
    await using _ = w;
    state.isBroken = ({ body }) => JSON.parse(body).payload.name === 'first';
    const began = w.now();
    await happens('first');
    await happens('second');
    await happens('other', 'another stream');
    expect(seen).toEqual(['other']);
    expect(await listOf(w)).toEqual([]);
    await w.advance('2m');
    const [failing] = await listOf(w);
    expect(failing).toMatchObject({ plugin: 'reacting', status: 'failing', failedAt: began });
    await w.crash({ downFor: '23h' });
    await w.advance('1m');
    // At least once: its place in the log is still before the one that fails.
    expect(seen).toEqual(['other', 'other']);
    expect((await listOf(w))[0].status).toBe('failing');
    expect((await w.events()).filter(({ event }) => event.startsWith('plugin.'))).toEqual([]);

    seen.length = 0;
    await w.advance('1h');
    expect(seen).toEqual(['second']);
    const event = { id: 'emitted/1/thing.happened', type: 'thing.happened' };
    const tries = expect.any(Number);
    const parked = {
      ...{ id: failing.id, plugin: 'reacting', status: 'parked' },
      event: { ...event, account, stream: 's' },
      ...{ failedAt: began, parkedAt: expect.any(Number), tries, error: 'TypeError: a bug' },
    };
    expect(await listOf(w)).toEqual([parked]);
    expect((await w.request('GET', `/api/system/reactions/${failing.id}`)).body).toEqual(parked);
    expect(await issuesOf(w)).toEqual([parkedIssue(1)]);
    expect(await metricsOf(w)).toContain('millrace_reactions_parked{plugin="reacting"} 1');
    expect(await metricsOf(w)).toContain('millrace_reaction_streams_held{plugin="reacting"} 0');
    const told = (await w.events()).filter((one) => one.event === 'plugin.reaction_parked');
    expect(told).toEqual([
      {
        ...{ id: `${failing.id}/plugin.reaction_parked`, event: 'plugin.reaction_parked' },
        ...{ createdAt: expect.any(Number), timestamp: expect.any(Number) },
        payload: {
          reaction: {
            id: failing.id,
            plugin: 'reacting',
            event,
            failedAt: began,
            tries,
            error: 'TypeError: a bug',
          },
        },
      },
    ]);

    // The log has forgotten the event by now, and the row has it.
    await w.advance('2h');
    expect(await w.store.events.position(event.id)).toBeUndefined();
    state.isBroken = () => false;
    expect((await w.request('POST', `/api/system/reactions/${failing.id}/resume`)).status).toBe(204);
    expect(seen).toEqual(['second', 'first']);
    expect(await listOf(w)).toEqual([]);
    expect(await issuesOf(w)).toEqual([]);
    expect(await metricsOf(w)).toContain('millrace_reactions_parked{plugin="reacting"} 0');
    const again = await w.request('POST', `/api/system/reactions/${failing.id}/resume`);
    expect([again.status, again.body.code]).toEqual([404, 'reaction.not_found']);
  });

  it('is parked after a day in all, whichever processes tried it; and stays parked in the next one', async () => {
    const { w, state, seen, tries, happens } = await reacting();
    await using _ = w;
    await happens('first');
    for (const downFor of ['10h', '10h', '3h']) {
      await w.advance('2m');
      await w.crash({ downFor });
    }
    await w.advance('30m');
    expect((await listOf(w))[0].status).toBe('failing');
    await w.advance('30m');
    expect((await listOf(w))[0].status).toBe('parked');

    await w.crash({ downFor: '1s' });
    tries.length = 0;
    expect(await issuesOf(w)).toEqual([parkedIssue(1)]);
    await happens('second');
    await w.advance('1m');
    expect(tries).not.toContain('first');
    state.isBroken = () => false;
    await w.advance('2m');
    expect(seen).toEqual(['second']);
    const [{ id }] = await listOf(w);
    await w.request('POST', `/api/system/reactions/${id}/resume`);
    expect(seen).toEqual(['second', 'first']);
  });

  it('is tried by the next process also when the log has forgotten its event', async () => {
    const { w, state, seen, happens } = await reacting();
    await using _ = w;
    await happens('first');
    await w.advance('5m');
    await w.crash({ downFor: '25h' });
    await w.advance('1h');
    expect(await w.store.events.position('emitted/1/thing.happened')).toBeUndefined();
    // More than a day has gone by since it failed first.
    const [{ id, status }] = await listOf(w);
    expect(status).toBe('parked');
    state.isBroken = () => false;
    await w.request('POST', `/api/system/reactions/${id}/resume`);
    expect(seen).toEqual(['first']);
  });

  it('that was noted and succeeds is not listed any more', async () => {
    const { w, state, seen, happens } = await reacting();
    await using _ = w;
    await happens('first');
    await w.advance('2m');
    expect(await listOf(w)).toHaveLength(1);
    const [{ id }] = await listOf(w);
    const early = await w.request('POST', `/api/system/reactions/${id}/resume`);
    expect([early.status, early.body.code]).toEqual([409, 'reaction.not_parked']);
    state.isBroken = () => false;
    await w.advance('1s');
    expect(seen).toEqual(['first']);
    expect(await listOf(w)).toEqual([]);
  });

  it('and those that waited behind it are parked soon after, before the log forgets them', async () => {
    const { w, state, seen, happens } = await reacting();
    await using _ = w;
    await happens('first');
    await w.advance('1h');
    for (const name of ['second', 'third']) await happens(name);
    await w.crash({ downFor: '23h' });
    await w.advance('5m');
    expect((await listOf(w)).map(({ status }: { status: string }) => status)).toEqual([
      'parked',
      'parked',
      'parked',
    ]);
    // The stream has caught up: what fails from now on has its day again.
    await happens('fourth');
    await w.advance('10m');
    expect((await listOf(w)).map(({ status }: { status: string }) => status).toSorted()).toEqual([
      ...['failing', 'parked', 'parked', 'parked'],
    ]);
    state.isBroken = () => false;
    await w.advance('1m');
    expect(seen).toEqual(['fourth']);
    for (const { id } of await listOf(w)) await w.request('POST', `/api/system/reactions/${id}/resume`);
    expect(seen.toSorted()).toEqual(['first', 'fourth', 'second', 'third']);
    expect(await issuesOf(w)).toEqual([]);
  });
});

describe('a parked reaction', () => {
  it('that fails again stays parked, with the new error', async () => {
    const { w, state, happens } = await reacting();
    await using _ = w;
    await happens('first');
    await aDayLater(w);
    const [before] = await listOf(w);
    state.error = 'another bug of rtmp://live.example.com/app/secret';
    expect((await w.request('POST', `/api/system/reactions/${before.id}/resume`)).status).toBe(204);
    expect(await listOf(w)).toEqual([
      { ...before, tries: before.tries + 1, error: 'TypeError: another bug of rtmp://***' },
    ]);
    expect(await issuesOf(w)).toEqual([parkedIssue(1)]);
  });

  it('can be given up, also while the process that hears of it dies', async () => {
    const { w, state, tries, happens } = await reacting();
    await using _ = w;
    await happens('first');
    await happens('other', 'another stream');
    await aDayLater(w);
    const [one, two] = await listOf(w);
    expect((await w.request('DELETE', `/api/system/reactions/${one.id}`)).status).toBe(204);
    expect(await listOf(w)).toEqual([two]);
    expect(await issuesOf(w)).toEqual([parkedIssue(1)]);
    expect((await w.request('DELETE', `/api/system/reactions/${one.id}`)).status).toBe(404);
    await w.request('DELETE', `/api/system/reactions/${two.id}`);
    await w.crash({ downFor: '1s' });
    tries.length = 0;
    state.isBroken = () => false;
    await w.advance('2m');
    expect([await listOf(w), await issuesOf(w), tries]).toEqual([[], [], []]);
  });

  it('is shown and changed with keys of the admin account alone', async () => {
    const { w, happens } = await reacting();
    await using _ = w;
    await happens('first');
    await w.advance('2m');
    const [{ id }] = await listOf(w);
    const { key } = await anotherAccount(w);
    for (const [method, path] of [
      ['GET', '/api/system/reactions'],
      ['GET', `/api/system/reactions/${id}`],
      ['POST', `/api/system/reactions/${id}/resume`],
      ['DELETE', `/api/system/reactions/${id}`],
    ] as const) {
      const answer = await w.request(method, path, { key });
      expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'auth.not_allowed']);
    }
  });

  it('is told to webhooks of the admin account', async () => {
    const { w, happens } = await reacting({ plugins: [webhooks as unknown as Plugin] });
    await using _ = w;
    const body = { name: 'Ops', url: 'https://ops.example.com/hook', events: ['plugin.reaction_parked'] };
    expect((await w.request('POST', '/api/webhook', { body })).status).toBe(201);
    await happens('first');
    await aDayLater(w);
    const sent = w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)));
    // Once, or again while the receiver does not take it.
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(sent.slice(0, 1)).toEqual([
      expect.objectContaining({
        event: 'plugin.reaction_parked',
        payload: { reaction: expect.objectContaining({ plugin: 'reacting', error: 'TypeError: a bug' }) },
      }),
    ]);
  });
});
