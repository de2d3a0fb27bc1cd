import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { IpfsSettings } from '../../../plugins/tasks/contract.ts';
import { answer, cidOf, type PinningTrouble, pinningService } from '../../kit/pinning-service.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { cidTable, tableBytes } from '../cid-table.ts';
import { apiSecret, bytes, common, faultOf, jwt, never, opened, pinningAt, progressOf } from './kit.ts';

describe('a pinning service', () => {
  it.each(['jwt', 'a key and its secret'])('gets the file and the document, let in by %s', async (how) => {
    const credentials = how === 'jwt' ? { jwt } : { apiKey: 'key', apiSecret };
    await using service = await pinningService(credentials);
    using d = opened(pinningAt(service.url, credentials));
    const file = await d.add(bytes);
    expect([file.cid, file.told.at(-1)]).toEqual([await cidOf(bytes), 1]);
    expect(file.told.toSorted((a, b) => a - b)).toEqual(file.told);
    const document = { name: 'Ein Film “ü” \u{1f3ac}', properties: { video: `ipfs://${file.cid}` } };
    const { cid } = await d.driver.addJson(document, { name: 'A film.json', signal: never });
    expect(service.pins).toEqual([
      { cid: file.cid, name: 'A film.mp4', filename: 'A film.mp4', bytes: Buffer.from(bytes) },
      { cid, name: 'A film.json', bytes: Buffer.from(JSON.stringify(document)) },
    ]);
  });

  it.each(cidTable.slice(0, 5))('takes a file of $size bytes as it is', async ({ size, cids }) => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    expect((await d.add(tableBytes(size))).cid).toBe(cids['unixfs-v1-2025']);
    expect(service.pins[0].bytes.equals(tableBytes(size))).toBe(true);
  });

  it('is the one of the credentials that a caller brings, whatever is configured', async () => {
    await using service = await pinningService({ jwt: 'of-the-caller' });
    const credentials = { jwt: 'of-the-caller' };
    const others: IpfsSettings[] = [
      { ...common, pinningEndpoint: service.url, driver: 'local' },
      { ...common, pinningEndpoint: service.url, driver: 'kubo', endpoint: 'http://127.0.0.1:1' },
      pinningAt(service.url, { jwt: 'of-the-deployment' }),
    ];
    for (const settings of others) {
      using d = opened(settings, { credentials });
      await d.add(bytes);
      expect(d.driver.gatewayUrl('bafy')).toBe('https://ipfs.io/ipfs/bafy');
    }
    expect(service.pins).toHaveLength(3);
  });

  it.each([
    ['quotes " and \\ and /../ and %0d%0a', 'quotes _ and _ and _.._ and _0d_0a'],
    ['lines\r\n\r\n--x\r\nof a head', 'lines____--x__of a head'],
    ['..', 'file'],
    ['Ünïcödé 映画.mp4', 'Ünïcödé 映画.mp4'],
    [`lone ${'\ud83c'} half`, 'lone _ half'],
  ])('gets the name %j as one that is no path and breaks no line', async (name, filename) => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    await d.add(bytes, { name });
    expect(service.pins[0].filename).toBe(filename);
    expect(service.pins[0].name).toBe(name);
  });

  it('gets a name that is as long as it may be', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    await d.add(bytes, { name: 'n'.repeat(5000) });
    expect(service.pins[0].name).toHaveLength(200);
    expect(service.pins[0].filename).toHaveLength(200);
  });

  it('that does not know the credentials ends it, and they are not repeated', async () => {
    await using service = await pinningService({ jwt: 'another' });
    for (const credentials of [{ jwt }, { apiKey: 'key', apiSecret }]) {
      using d = opened(pinningAt(service.url, credentials));
      const fault = await faultOf(d.add(bytes));
      expect(fault).toMatchObject({ code: 'ipfs.refused', retry: false });
      expect(fault.message).toBe(
        `The pinning service at ${service.url} does not accept the credentials (401: INVALID_CREDENTIALS).`,
      );
    }
  });

  it('that does not know the credentials is sent nothing of a large file', async () => {
    await using service = await pinningService({ jwt: 'another' });
    using d = opened(pinningAt(service.url));
    const { told, fault } = await progressOf(d, tableBytes(20e6));
    expect([fault.code, fault.retry, told]).toEqual(['ipfs.refused', false, []]);
  });

  it.each<[what: string, trouble: PinningTrouble, fault: object, message: RegExp]>([
    ['400', (to) => answer(to, 400, {}), { code: 'ipfs.refused', retry: false }, /wrong one \(400\)/],
    ['402', (to) => answer(to, 402, {}), { code: 'ipfs.refused', retry: false }, /paid/],
    ['403', (to) => answer(to, 403, {}), { code: 'ipfs.refused', retry: false }, /does not allow/],
    ['404', (to) => answer(to, 404, {}), { code: 'ipfs.refused', retry: false }, /address the right one/],
    ['413', (to) => answer(to, 413, {}), { code: 'ipfs.refused', retry: false }, /large/],
    ['422', (to) => answer(to, 422, {}), { code: 'ipfs.refused', retry: false }, /does not take it \(422\)/],
    [
      'a redirect',
      (to) => answer(to, 307, {}, { location: 'http://127.0.0.1:1/' }),
      { code: 'ipfs.refused', retry: false },
      /redirect \(307\)/,
    ],
    ['408', (to) => answer(to, 408, {}), { code: 'ipfs.trouble', retry: true }, /408/],
    ['429', (to) => answer(to, 429, {}), { code: 'ipfs.trouble', retry: true, retryAfter: undefined }, /429/],
    [
      '429 with a time',
      (to) => answer(to, 429, {}, { 'retry-after': '30' }),
      { code: 'ipfs.trouble', retry: true, retryAfter: 30 },
      /429/,
    ],
    [
      '429 with a date',
      (to) => answer(to, 429, {}, { 'retry-after': 'Thu, 01 Jan 1970 00:01:10 GMT' }),
      { code: 'ipfs.trouble', retryAfter: 70 },
      /429/,
    ],
    [
      '429 with a year',
      (to) => answer(to, 429, {}, { 'retry-after': '31536000' }),
      { code: 'ipfs.trouble', retryAfter: 900 },
      /429/,
    ],
    ['500', (to) => answer(to, 500, {}), { code: 'ipfs.trouble', retry: true }, /500/],
    ['503', (to) => answer(to, 503, {}), { code: 'ipfs.trouble', retry: true }, /503/],
    ['a connection that breaks', (to) => void to.destroy(), { code: 'ipfs.trouble', retry: true }, /closed/],
    ['HTML', (to) => void to.end('<html>'), { code: 'ipfs.answer', retry: false }, /without the CID/],
    ['no body', (to) => void to.end(), { code: 'ipfs.answer', retry: false }, /without the CID/],
    ['no IpfsHash', (to) => answer(to, 200, { cid: 'x' }), { code: 'ipfs.answer', retry: false }, /IpfsHash/],
    ['a list', (to) => answer(to, 200, [{ IpfsHash: 'x' }]), { code: 'ipfs.answer' }, /IpfsHash/],
    [
      'no CID',
      (to) => answer(to, 200, { IpfsHash: 'Qmnothing' }),
      { code: 'ipfs.answer', retry: false },
      /IpfsHash/,
    ],
    ['a number', (to) => answer(to, 200, { IpfsHash: 7 }), { code: 'ipfs.answer' }, /IpfsHash/],
    [
      'a CID without end',
      (to) => answer(to, 200, { IpfsHash: `b${'a'.repeat(10_000)}` }),
      { code: 'ipfs.answer' },
      /IpfsHash/,
    ],
    [
      'the CID of no file',
      // dag-cbor.
      (to) => answer(to, 200, { IpfsHash: 'bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku' }),
      { code: 'ipfs.answer' },
      /IpfsHash/,
    ],
    [
      'a huge answer',
      (to) => answer(to, 200, { IpfsHash: 'x', more: 'y'.repeat(1e6) }),
      { code: 'ipfs.answer', retry: false },
      /more than 65536 bytes/,
    ],
    [
      'words that repeat the secret',
      (to) => answer(to, 403, { error: { reason: jwt, details: jwt }, Message: jwt, Type: 'error' }),
      { code: 'ipfs.refused' },
      /\(403\)/,
    ],
  ])('answers %s', async (_, trouble, fault, message) => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    const add = { file: () => d.add(bytes), json: () => d.driver.addJson({}, { name: 'a', signal: never }) };
    for (const how of ['file', 'json'] as const) {
      service.trouble(async (response, { request, body }) => {
        await body();
        await trouble(response, { request, body });
      });
      const found = await faultOf(add[how]());
      expect(found, how).toMatchObject(fault);
      expect(found.message, how).toMatch(message);
      expect(found.message).toContain(`The pinning service at ${service.url}`);
      expect(found.message).not.toContain(jwt);
    }
    // It was asked no more than that: another try is for the task to make.
    expect([service.asked.length, service.pins]).toEqual([2, []]);
    expect((await d.add(bytes)).cid).toBe(await cidOf(bytes));
  });

  it('that answers before it has all is heard at once', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    service.trouble((response) => answer(response, 403, {}, { connection: 'close' }));
    const { told, fault } = await progressOf(d, tableBytes(30e6));
    expect(fault).toMatchObject({ code: 'ipfs.refused', retry: false });
    expect(told.at(-1) ?? 0).toBeLessThan(1);
  });

  it('that goes away in the midst is tried again', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    service.trouble((_response, { request }) => {
      let come = 0;
      request.on('data', (piece: Buffer) => {
        come += piece.length;
        if (come > 1e6) request.destroy();
      });
    });
    const large = tableBytes(30e6);
    const { fault } = await progressOf(d, large);
    expect(fault).toMatchObject({ code: 'ipfs.trouble', retry: true });
    expect((await d.add(large)).cid).toBe(await cidOf(large));
  });

  it('that is slow gets it all the same, and no faster than it reads', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    const large = tableBytes(20e6);
    service.trouble(async (response, { request }) => {
      let come = 0;
      for await (const piece of request) {
        come += (piece as Buffer).length;
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(come).toBe(Number(request.headers['content-length']));
      answer(response, 200, { IpfsHash: cidTable[0].cids['unixfs-v0-2015'] });
    });
    expect((await d.add(large)).cid).toBe(cidTable[0].cids['unixfs-v0-2015']);
  });

  it('that says nothing for 5 min is given up', async () => {
    await using service = await pinningService({ jwt });
    const clock = virtualClock({ start: 0, idle: async () => {} });
    using d = opened(pinningAt(service.url), { clock });
    const all = Promise.withResolvers<void>();
    service.trouble(async (_response, { body }) => {
      await body();
      all.resolve();
    });
    const running = faultOf(d.add(bytes));
    await all.promise;
    await clock.advance(299_000);
    await clock.advance(300_000);
    expect(await running).toMatchObject({ code: 'ipfs.trouble', retry: true });
  });

  it('is left when nobody wants it any more, for the reason that was given', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    const ending = new AbortController();
    const reason = new Error('the task was cancelled');
    service.trouble(async (_response, { body }) => {
      await body();
      ending.abort(reason);
    });
    await expect(d.add(bytes, { signal: ending.signal })).rejects.toBe(reason);
  });

  it.each([
    ['gone', { isGone: true, size: bytes.length }],
    ['of another size', { isGone: false, size: 99 }],
  ])('gets nothing of a file that is %s', async (_, { isGone, size }) => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    if (isGone) d.blobs.get = async () => ({ outcome: 'absent' });
    expect(await faultOf(d.add(bytes, { size }))).toMatchObject({ code: 'ipfs.changed', retry: true });
    expect(service.pins).toEqual([]);
  });

  it('is told what the blob store says, not that a body could not be read', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url));
    const away = new Fault('blobs.unavailable', { status: 503, message: 'the store is away' });
    d.blobs.get = () => Promise.reject(away);
    expect(await faultOf(d.add(bytes))).toBe(away);
  });

  it('at an address that is not open is not called, and the key is named that would open it', async () => {
    await using service = await pinningService({ jwt });
    using d = opened(pinningAt(service.url), { allow: [] });
    const fault = await faultOf(d.add(bytes));
    expect(fault).toMatchObject({ code: 'ipfs.not_allowed', retry: false });
    expect(fault.message).toContain('outbound.allow');
    expect(service.asked).toEqual([]);
  });

  it('that does not listen is tried again', async () => {
    const service = await pinningService({ jwt });
    await service[Symbol.asyncDispose]();
    using d = opened(pinningAt(service.url));
    expect(await faultOf(d.add(bytes))).toMatchObject({ code: 'ipfs.trouble', retry: true });
  });
});
