import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import events from '../../plugins/events/index.ts';
import health from '../../plugins/health/index.ts';
import streams from '../../plugins/streams/index.ts';
import webhooks from '../../plugins/webhooks/index.ts';
import { emitter } from '../kit/emitter.ts';
import { world } from '../kit/world.ts';
import { heldEndpoint, hookWorld } from './kit.ts';

/** Accounts of strangers, each with webhooks at addresses of its choice. */
async function strangers(config: Record<string, unknown>) {
  const { plugin, emit } = emitter();
  const plugins = [accounts, streams, health, events, webhooks, plugin] as Plugin[];
  const w = await world({ plugins, config: { webhooks: config } });
  w.outbound.answer('https://', async () => ({ status: 200 }));
  const sentTo = (prefix: string) => w.outbound.sent.filter(({ url }) => url.startsWith(prefix)).length;
  return {
    w,
    sentTo,
    async account() {
      const { id } = (await w.request('POST', '/api/account', { body: { name: 'Stranger' } })).body;
      const { key } = (await w.request('POST', '/api/api-token', { body: { accountId: id } })).body;
      return {
        async hook(url: string) {
          const body = { name: 'W', url, events: ['stream.started'] };
          const made = await w.request('POST', '/api/webhook', { key, body });
          expect(made.status).toBe(201);
          return made.body.id as string;
        },
        async emit(stream: string) {
          await emit({ type: 'stream.started', account: id, stream });
          await w.settle();
        },
        log: async (id: string) => (await w.request('GET', `/api/webhook/${id}/log`, { key })).body,
      };
    },
  };
}

describe('many webhooks at one host', () => {
  it('get so many attempts of one account in a minute, and the rest later', async () => {
    const { w, account, sentTo } = await strangers({ attemptsPerHost: 60 });
    await using _ = w;
    const attacker = await account();
    for (let n = 0; n < 49; n += 1) await attacker.hook(`https://victim.example.com:${8000 + n}/${n}`);
    await attacker.hook('https://own.example.com/');
    for (let n = 0; n < 3; n += 1) await attacker.emit(`stream-${n}`);
    await w.advance('40s');
    expect(sentTo('https://victim.example.com')).toBe(60);
    // What it sends elsewhere is not held up.
    expect(sentTo('https://own.example.com')).toBe(3);
    await w.advance('70s');
    expect(sentTo('https://victim.example.com')).toBe(120);
    await w.advance('70s');
    // Delayed, and not lost.
    expect(sentTo('https://victim.example.com')).toBe(3 * 49);
  });

  it('of several accounts have a bound together', async () => {
    const { w, account, sentTo } = await strangers({ attemptsPerHost: 10, attemptsPerHostInAll: 25 });
    await using _ = w;
    for (let n = 0; n < 4; n += 1) {
      const one = await account();
      await one.hook(`https://victim.example.com/${n}`);
      for (let stream = 0; stream < 10; stream += 1) await one.emit(`s${stream}`);
    }
    expect(sentTo('https://victim.example.com')).toBe(25);
    await w.advance('70s');
    expect(sentTo('https://victim.example.com')).toBe(40);
  });

  it('of the admin account have none', async () => {
    await using w = await hookWorld({ config: { attemptsPerHost: 2, attemptsPerHostInAll: 2 } });
    w.outbound.answer('https://', async () => ({ status: 200 }));
    await w.webhook();
    for (let n = 0; n < 9; n += 1) await w.emit('stream.started', `s${n}`);
    expect(w.sent()).toHaveLength(9);
  });

  it('wait for each other where the host is slow, and hold up no other host', async () => {
    const { w, account, sentTo } = await strangers({ perHost: 4 });
    await using _ = w;
    const slow = heldEndpoint(w, 'https://slow.example.com');
    for (let n = 0; n < 3; n += 1) {
      const one = await account();
      await one.hook(`https://slow.example.com/${n}`);
      for (let stream = 0; stream < 3; stream += 1) await one.emit(`s${stream}`);
    }
    expect(slow.waiting).toBe(4);
    const other = await account();
    await other.hook('https://quick.example.com/');
    await other.emit('s');
    expect(sentTo('https://quick.example.com')).toBe(1);
    for (let n = 0; n < 9; n += 1) await slow.answer();
    expect([slow.waiting, sentTo('https://slow.example.com')]).toEqual([0, 9]);
  });
});

describe('a host that must agree', () => {
  it('gets nothing before it has sent the challenge back', async () => {
    const { w, account } = await strangers({ verify: true });
    await using _ = w;
    const asked: unknown[] = [];
    const delivered: string[] = [];
    let agrees = false;
    w.outbound.answer('https://victim.example.com', async (_url, { body }) => {
      const sent = JSON.parse(String(body));
      if (sent.type !== 'webhook.challenge') delivered.push(sent.event);
      else asked.push(sent.challenge);
      const text = agrees ? JSON.stringify({ challenge: sent.challenge }) : 'thanks';
      return { status: 200, body: Buffer.from(text) };
    });
    const one = await account();
    const id = await one.hook('https://victim.example.com/a');
    await one.emit('s1');
    await one.emit('s2');
    expect([asked.length, delivered]).toEqual([1, []]);
    const [entry] = await one.log(id);
    expect(entry).toMatchObject({ success: false, error: expect.stringContaining('has not confirmed') });
    // A host that does not agree is not asked for each retry.
    await w.advance('50s');
    expect([asked.length, delivered]).toEqual([1, []]);
    agrees = true;
    await w.advance('5m');
    expect(new Set(delivered)).toEqual(new Set(['stream.started']));
    expect(delivered).toHaveLength(2);
    const before = asked.length;
    await one.hook('https://victim.example.com/b');
    await one.emit('s3');
    expect([asked.length, delivered.length]).toEqual([before, 4]);
    // What one account was allowed is no leave for another.
    const other = await account();
    await other.hook('https://victim.example.com/c');
    await other.emit('s4');
    expect(asked.length).toBe(before + 1);
    expect(new Set(asked).size).toBe(asked.length);
  });
});
