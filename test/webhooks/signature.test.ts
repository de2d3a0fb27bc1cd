import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rotated, validSecrets } from '../../plugins/webhooks/secrets.ts';
import { base, hookWorld, url } from './kit.ts';

const one = `whsec_${Buffer.from('the first secret, 24 by').toString('base64')}`;
const two = `whsec_${Buffer.from('the other secret, 24 by').toString('base64')}`;

/** The public library reads the system's clock: it gets that of the world. */
async function signing(sharedSecret?: string) {
  const w = await hookWorld();
  vi.setSystemTime(w.now());
  w.outbound.answer(url, () => ({}));
  const webhook = await w.webhook(sharedSecret === undefined ? {} : { sharedSecret });
  return { w, webhook };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const isValid = (secret: string, sent: { text: string; headers: Readonly<Record<string, string>> }) => {
  try {
    new Webhook(secret, secret.startsWith('whsec_') ? {} : { format: 'raw' }).verify(sent.text, {
      ...sent.headers,
    });
    return true;
  } catch {
    return false;
  }
};

describe('secrets', () => {
  it('sign for 24 h after another took their place, at most four at once', () => {
    const first = rotated([], one, 0);
    const both = rotated(first, two, 1000);
    expect(both).toEqual([
      { value: two, until: null },
      { value: one, until: 86_401_000 },
    ]);
    expect(validSecrets(both, 86_400_999)).toHaveLength(2);
    expect(validSecrets(both, 86_401_000)).toEqual([{ value: two, until: null }]);
    expect(rotated(both, two, 2000)).toBe(both);
    expect(rotated(both, one, 2000)).toEqual([
      { value: one, until: null },
      { value: two, until: 86_402_000 },
    ]);
    expect(rotated(both, null, 2000)).toEqual([]);
    const many = ['c', 'd', 'e', 'f'].reduce((secrets, value) => rotated(secrets, value, 3000), both);
    expect(many.map(({ value }) => value)).toEqual(['f', 'e', 'd', 'c']);
  });
});

describe('the public Standard Webhooks library', () => {
  it.each([one, 'a plain secret of text'])('verifies a delivery signed with %s', async (secret) => {
    const { w } = await signing(secret);
    await using _ = w;
    await w.emit('stream.started');
    const [sent] = w.sent();
    if (!sent) throw new Error('nothing was sent');
    expect(isValid(secret, sent)).toBe(true);
    expect(isValid(two, sent)).toBe(false);
    expect(isValid(secret, { ...sent, text: `${sent.text} ` })).toBe(false);
    expect(isValid(secret, { ...sent, headers: { ...sent.headers, 'webhook-id': 'other' } })).toBe(false);
    const old = String(Number(sent.headers['webhook-timestamp']) - 301);
    expect(isValid(secret, { ...sent, headers: { ...sent.headers, 'webhook-timestamp': old } })).toBe(false);
  });

  it('refuses it when it is replayed later than five minutes', async () => {
    const { w } = await signing(one);
    await using _ = w;
    await w.emit('stream.started');
    const [sent] = w.sent();
    if (!sent) throw new Error('nothing was sent');
    vi.setSystemTime(w.now() + 5 * 60_000);
    expect(isValid(one, sent)).toBe(true);
    vi.setSystemTime(w.now() + 5 * 60_000 + 1000);
    expect(isValid(one, sent)).toBe(false);
  });

  it('verifies with either secret while they rotate', async () => {
    const { w, webhook } = await signing(one);
    await using _ = w;
    await w.request('PUT', `${base}/${webhook.id}`, {
      body: { name: 'W', url, events: ['stream.started'], sharedSecret: two },
    });
    await w.emit('stream.started');
    const [sent] = w.sent();
    if (!sent) throw new Error('nothing was sent');
    expect([isValid(one, sent), isValid(two, sent)]).toEqual([true, true]);
    expect(sent.headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
  });

  it('has nothing to verify where no secret was given', async () => {
    const { w, webhook } = await signing();
    await using _ = w;
    await w.emit('stream.started');
    expect(w.sent()[0]?.headers).not.toHaveProperty('webhook-signature');
    const body = { name: 'W', url, events: ['stream.started'] };
    const path = `${base}/${webhook.id}`;
    for (const [given, count] of [
      [one, 1],
      [undefined, 1],
      [null, 0],
    ] as const) {
      await w.request('PUT', path, {
        body: { ...body, ...(given !== undefined && { sharedSecret: given }) },
      });
      await w.emit('stream.started');
      const signatures = w.sent().at(-1)?.headers['webhook-signature']?.split(' ') ?? [];
      expect(signatures).toHaveLength(count);
    }
  });
});
