import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import webhooks from '../../../plugins/webhooks/index.ts';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { aDayLater, issuesOf, listOf, parkedIssue, reacting } from './kit.ts';

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
