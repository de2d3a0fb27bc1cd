import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { OutboundAnswer, OutboundFailure } from '../../../core/ports/outbound.ts';
import { type Asking, asker, type Question } from '../../../plugins/protection/webhook.ts';
import { scriptedOutbound } from '../../kit/scripted-outbound.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

type Reply = Partial<OutboundAnswer> | OutboundFailure;
const url = 'https://example.com/may-play';
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const away: OutboundFailure = {
  ok: false,
  reason: 'timeout',
  message: 'https://example.com:443 did not answer',
};
const yes = (body: unknown = {}): Reply => ({ status: 200, body: Buffer.from(JSON.stringify(body)) });

/** Somebody's server, which answers at once, or when `release` says so. */
function given(reply: (asked: Record<string, string>) => Reply | Promise<Reply> = () => yes()) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const outbound = scriptedOutbound();
  const asked: Record<string, string>[] = [];
  let now = reply;
  outbound.answer('https://', (_, { body }) => {
    const question = JSON.parse(body as string);
    asked.push(question);
    return now(question);
  });
  const ask = asker({ clock, outbound, log: silentLog, signal: new AbortController().signal });
  const about = (
    of: Partial<Question & Asking> & { viewer?: string; ip?: string; playbackId?: string } = {},
  ) => {
    const { viewer = 'v', ip = '192.0.2.7', playbackId = 'p', ...more } = of;
    const body = { kind: 'play', playbackId, ip, token: viewer };
    const how = { url, onError: 'refuse' as const, secret: async () => secret };
    return ask({ account: 'a', key: `live ${playbackId} ${viewer}`, body, ...how, ...more });
  };
  const answers = (next: typeof reply) => {
    now = next;
  };
  return { about, asked, answers, clock, outbound };
}

/** Replies that wait until they are released. */
function held() {
  const waiting: (() => void)[] = [];
  const reply = () => new Promise<Reply>((resolve) => waiting.push(() => resolve(yes())));
  return { reply, waiting };
}

const turns = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('a webhook', () => {
  it('is asked as webhooks are, with a signature that the library of others checks', async () => {
    const { about, outbound } = given();
    expect(await about({ secret: async () => secret })).toMatchObject({ isAllowed: true });
    const { request } = outbound.sent[0] as (typeof outbound.sent)[0];
    expect(request).toMatchObject({
      method: 'POST',
      redirects: 0,
      timeout: 3000,
      maxBytes: 4096,
      owner: 'a',
    });
    const body = request.body as string;
    expect(JSON.parse(body)).toEqual({ kind: 'play', playbackId: 'p', ip: '192.0.2.7', token: 'v' });
    const headers = request.headers as Record<string, string>;
    expect(headers['webhook-timestamp']).toBe(String(Date.UTC(2026, 0, 1) / 1000));
    const signed = new Webhook(secret).sign(
      headers['webhook-id'] ?? '',
      new Date(Date.UTC(2026, 0, 1)),
      body,
    );
    expect(headers['webhook-signature']).toBe(signed);
  });

  it('is asked without a signature where there is no secret, and not at all while it cannot be read', async () => {
    const { about, outbound } = given();
    await about({ secret: async () => undefined });
    expect(outbound.sent[0]?.request.headers).not.toHaveProperty('webhook-signature');
    const broken = about({ viewer: 'w', secret: () => Promise.reject(new Error('no store')) });
    await expect(broken).rejects.toThrow('no store');
    expect(outbound.sent).toHaveLength(1);
    // It has left its slot.
    expect(await about({ viewer: 'w' })).toMatchObject({ isAllowed: true });
  });

  it.each<[string, Reply, boolean, boolean]>([
    ['200', yes(), true, true],
    ['204 without a body', { status: 204 }, true, true],
    ['200 with text', { status: 200, body: Buffer.from('ok') }, true, true],
    ['200 with null', yes(null), true, true],
    ['401', { status: 401 }, false, false],
    ['404', { status: 404 }, false, false],
    ['429', { status: 429 }, false, false],
    ['302', { status: 302, headers: { location: 'https://example.com/yes' } }, false, true],
    ['500', { status: 500 }, false, true],
    ['an answer of more than 4 KB', { status: 200, isCut: true }, false, true],
    ['nothing in time', away, false, true],
    ['a refused address', { ok: false, reason: 'refused', message: 'not allowed' }, false, true],
  ])('decides by its answer: %s', async (_name, reply, isAllowed, isAllowedOnError) => {
    expect((await given(() => reply).about()).isAllowed).toBe(isAllowed);
    expect((await given(() => reply).about({ onError: 'allow' })).isAllowed).toBe(isAllowedOnError);
  });

  it.each<[unknown, number]>([
    [{}, 60],
    [{ maxAge: 10 }, 10],
    [{ maxAge: 86_400 }, 86_400],
    [{ maxAge: 1e300 }, 86_400],
    [{ maxAge: -1 }, 60],
    [{ maxAge: '10' }, 60],
    [{ maxAge: null }, 60],
    [[], 60],
    [1, 60],
  ])('is asked again when its yes is too old: %j', async (body, age) => {
    const { about, asked, clock } = given(() => yes(body));
    await about();
    await clock.advance(age * 1000 - 1);
    await about();
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await about();
    expect(asked).toHaveLength(2);
  });

  it('is asked again at once after maxAge 0, and 5 s after a no', async () => {
    const { about, asked, answers, clock } = given(() => yes({ maxAge: 0 }));
    for (let at = 0; at < 3; at += 1) expect((await about()).isAllowed).toBe(true);
    expect(asked).toHaveLength(3);
    answers(() => ({ status: 403 }));
    for (let at = 0; at < 3; at += 1) expect((await about()).isAllowed).toBe(false);
    expect(asked).toHaveLength(4);
    answers(() => yes());
    await clock.advance(5000);
    expect((await about()).isAllowed).toBe(true);
  });

  it('is asked once by all who want to know the same, and apart by all who do not', async () => {
    const { reply, waiting } = held();
    const { about, asked } = given(reply);
    const same = Promise.all([about(), about(), about()]);
    const body = { kind: 'play', playbackId: 'p', ip: '192.0.2.7', origin: 'https://other.example' };
    const others = Promise.all([
      about({ viewer: 'w' }),
      about({ ip: '192.0.2.8' }),
      about({ account: 'b' }),
      about({ url: 'https://example.com/other' }),
      about({ body }),
      about({ isFresh: true }),
    ]);
    await turns();
    expect(asked).toHaveLength(7);
    for (const release of waiting) release();
    expect(new Set((await Promise.all([same, others])).flat().map((one) => one.isAllowed))).toEqual(
      new Set([true]),
    );
  });

  it('gets no endless texts', async () => {
    const { about, asked } = given();
    const long = 'x'.repeat(10_000);
    await about({ body: { kind: 'play', playbackId: 'p', ip: 'i', userAgent: long, token: long } });
    expect([asked[0]?.userAgent?.length, asked[0]?.token?.length]).toEqual([1024, 4096]);
  });
});

describe('strangers', () => {
  it('do not push out viewers who were let in, nor make unbounded calls', async () => {
    const { about, asked, answers, clock } = given(() => yes({ maxAge: 3600 }));
    await about({ viewer: 'ann' });
    answers(() => ({ status: 403 }));
    const rounds = 300;
    for (let round = 0; round < rounds; round += 1)
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => about({ viewer: `${round} ${at}`, ip: `10.0.0.${at}` })),
      );
    expect(asked).toHaveLength(1 + rounds * 50);
    await clock.advance(60_000);
    expect((await about({ viewer: 'ann' })).isAllowed).toBe(true);
    expect(asked).toHaveLength(1 + rounds * 50);
  });

  it('are asked about 8 at a time from one address, and 32 at a time for one video', async () => {
    const { reply, waiting } = held();
    const { about, asked, clock } = given(reply);
    const flood = Array.from({ length: 500 }, (_, at) => about({ viewer: `s${at}`, ip: '203.0.113.9' }));
    await turns();
    expect(asked).toHaveLength(8);
    const outcomes = Promise.all(flood);
    // A viewer from elsewhere, and of another video, does not wait for them.
    const [ann, other] = [
      about({ viewer: 'ann' }),
      about({ viewer: 'bob', ip: '203.0.113.9', playbackId: 'q' }),
    ];
    await turns();
    expect(asked.slice(8).map(({ token }) => token)).toEqual(['ann', 'bob']);
    for (const release of waiting.splice(0)) release();
    expect([(await ann).isAllowed, (await other).isAllowed]).toEqual([true, true]);
    await turns();
    // Those that waited have their turn: as many as have left.
    expect(asked).toHaveLength(10 + 8);
    await clock.advance(3000);
    for (const release of waiting.splice(0)) release();
    const all = await outcomes;
    expect(all.filter(({ isBusy }) => isBusy).length).toBe(500 - 16);
    expect(all.filter(({ isBusy, isAllowed }) => isBusy && isAllowed)).toEqual([]);
  });

  it('from many addresses leave room for other videos and other accounts', async () => {
    const { reply, waiting } = held();
    const { about, asked, clock } = given(reply);
    const flood = Array.from({ length: 400 }, (_, at) => about({ viewer: `s${at}`, ip: `10.0.1.${at}` }));
    await turns();
    expect(asked).toHaveLength(32);
    const more = Array.from({ length: 400 }, (_, at) =>
      about({ viewer: `t${at}`, ip: `10.0.2.${at}`, playbackId: `p${at}` }),
    );
    await turns();
    // The host of the account is full.
    expect(asked).toHaveLength(64);
    const other = about({ account: 'b', viewer: 'ann' });
    await turns();
    expect(asked).toHaveLength(65);
    waiting.pop()?.();
    expect((await other).isAllowed).toBe(true);
    await clock.advance(3000);
    for (const release of waiting.splice(0)) release();
    await Promise.all([...flood, ...more]);
  });

  it('wait no longer than 3 s, and nobody waits for one who gave up', async () => {
    const { reply, waiting } = held();
    const { about, asked, clock } = given(reply);
    const first = Array.from({ length: 8 }, (_, at) => about({ viewer: `s${at}` }));
    const late = about({ viewer: 'late' });
    await turns();
    await clock.advance(3000);
    expect(await late).toMatchObject({ isAllowed: false, isBusy: true });
    for (const release of waiting.splice(0)) release();
    await Promise.all(first);
    expect(asked).toHaveLength(8);
    expect(clock.pending()).toBe(0);
  });
});

describe('a server that is away', () => {
  it('is left alone for 5 s after five failures in a row, and then tried by one', async () => {
    const { about, asked, answers, clock } = given(() => away);
    for (let at = 0; at < 5; at += 1) await about({ viewer: `v${at}` });
    expect(asked).toHaveLength(5);
    const [refused, allowed] = [await about(), await about({ viewer: 'w', onError: 'allow' })];
    expect([refused.isAllowed, allowed.isAllowed, asked.length]).toEqual([false, true, 5]);
    expect(refused.reason).toBe('The webhook did not decide: it has failed several times in a row.');
    // Other accounts have not seen it fail.
    await about({ account: 'b' });
    expect(asked).toHaveLength(6);
    await clock.advance(5000);
    const { reply, waiting } = held();
    answers(reply);
    const tried = [about({ viewer: 'x' }), about({ viewer: 'y' })];
    await turns();
    expect(asked).toHaveLength(7);
    waiting[0]?.();
    expect((await Promise.all(tried)).map(({ isAllowed }) => isAllowed)).toEqual([true, false]);
    answers(() => yes());
    expect((await about({ viewer: 'z' })).isAllowed).toBe(true);
  });

  it('counts for nothing in the answers that were given before', async () => {
    const { about, answers } = given();
    await about({ viewer: 'ann' });
    answers(() => away);
    for (let at = 0; at < 6; at += 1) await about({ viewer: `v${at}` });
    expect((await about({ viewer: 'ann' })).isAllowed).toBe(true);
  });

  it('is no answer for anybody else: too many requests of ours are not its failure', async () => {
    const { about, answers } = given(() => ({ ok: false, reason: 'busy', message: 'too many' }));
    for (let at = 0; at < 6; at += 1)
      expect(await about({ viewer: `v${at}`, onError: 'allow' })).toMatchObject({
        isAllowed: false,
        isBusy: true,
      });
    answers(() => yes());
    expect((await about()).isAllowed).toBe(true);
  });
});
