import { describe, expect, it } from 'vitest';
import { issuesOf, listOf, metricsOf, parkedIssue, reacting } from './kit.ts';

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
