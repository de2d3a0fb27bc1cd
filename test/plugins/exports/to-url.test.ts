import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { longestRetryAfter } from '../../../core/ports/outbound.ts';
import type { AssetReference } from '../../../plugins/assets/contract.ts';
import { film, key, type Received, receiver, run } from './run-kit.ts';

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const said =
  (status: number, { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {}) =>
  (_: Received, response: ServerResponse) =>
    response.writeHead(status, headers).end(body);

const isTrouble = (ended: unknown) =>
  ended instanceof Fault && ended.code === 'export.trouble' && ended.retry;
const done = (status: number, more = {}) => ({ outcome: 'done', output: { custom: { status, ...more } } });

describe('an export to a URL', () => {
  it('sends the whole file with its length and type, and tells how far it is', async () => {
    await using server = await receiver(said(200, { headers: { etag: '"abc"' } }));
    const { ended, progress } = await run({ url: `${server.url}/a%20b.mp4?sig=1` });
    expect(ended).toEqual(done(200, { etag: '"abc"' }));
    const [{ method, url, headers, body }] = server.requests;
    expect([method, url, hashOf(body)]).toEqual(['PUT', '/a%20b.mp4?sig=1', hashOf(film)]);
    expect(headers).toMatchObject({ 'content-type': 'video/mp4', 'content-length': String(film.length) });
    expect(headers).not.toHaveProperty('transfer-encoding');
    expect(progress.at(-1)).toBe(1);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
  });

  it.each(['PUT', 'POST', 'PATCH'])('%s with the headers that were given', async (method) => {
    await using server = await receiver(said(204));
    const headers = {
      'Content-Type': 'application/octet-stream',
      Authorization: 'Bearer a',
      'x-amz-acl': 'b',
    };
    const { ended } = await run({ url: server.url, method, headers });
    expect(ended).toEqual(done(204));
    expect(server.requests[0]).toMatchObject({
      method,
      headers: { 'content-type': 'application/octet-stream', authorization: 'Bearer a', 'x-amz-acl': 'b' },
    });
  });

  it.each([
    ['', {}],
    ['"x"y', { etag: '"x"y' }],
    ['a b', {}],
    [`"${'a'.repeat(300)}"`, {}],
  ])('keeps of a tag what can be one: %j', async (etag, kept) => {
    await using server = await receiver(said(201, { headers: { etag } }));
    expect((await run({ url: server.url })).ended).toEqual(done(201, kept));
  });

  it.each([400, 401, 403, 404, 405, 409, 411, 413, 501, 505])('fails at %i', async (status) => {
    await using server = await receiver(said(status, { body: 'sig=secret from inside' }));
    const { ended } = await run({ url: `${server.url}/?sig=secret` });
    const message = `The export was refused: ${server.host} answered ${status}.`;
    expect(ended).toEqual({ outcome: 'failed', message });
    expect(server.requests).toHaveLength(1);
  });

  it('names the error code of S3, and nothing else that it says', async () => {
    const body =
      '<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>no</Message><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>';
    await using server = await receiver(said(403, { body }));
    expect((await run({ url: server.url })).ended).toEqual({
      outcome: 'failed',
      message: `The export was refused: ${server.host} answered 403 (SignatureDoesNotMatch).`,
    });
    await using hostile = await receiver(said(403, { body: '<Code>a <b>\n</Code><Code>' }));
    expect((await run({ url: hostile.url })).ended).toMatchObject({
      message: `The export was refused: ${hostile.host} answered 403.`,
    });
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 507])('is tried again after %i', async (status) => {
    let answers = 0;
    await using server = await receiver((request, response) => {
      answers += 1;
      said(answers === 1 ? status : 200)(request, response);
    });
    const { ended } = await run({ url: server.url });
    expect(isTrouble(ended)).toBe(true);
    expect((ended as Fault).message).toBe(`${server.host} answered ${status}.`);
    expect((await run({ url: server.url })).ended).toEqual(done(200));
    expect(server.requests.map(({ body }) => hashOf(body))).toEqual([hashOf(film), hashOf(film)]);
  });

  it.each([
    ['120', 120],
    ['0', 0],
    ['86400', longestRetryAfter / 1000],
    ['99999999999999', longestRetryAfter / 1000],
    ['soon', undefined],
    ['-5', undefined],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Fri, 01 Jan 2100 00:00:00 GMT', longestRetryAfter / 1000],
  ])('says when that may be: Retry-After %s', async (text, seconds) => {
    await using server = await receiver(said(429, { headers: { 'retry-after': text } }));
    expect((await run({ url: server.url })).ended).toMatchObject({ retryAfter: seconds });
  });

  it('is tried again when the connection breaks in the midst', async () => {
    let tries = 0;
    await using server = await receiver(said(200), {
      first(request) {
        tries += 1;
        if (tries > 1) return false;
        request.once('data', () => request.socket.destroy());
        return true;
      },
    });
    const { ended } = await run({ url: `${server.url}/?sig=secret`, method: 'POST' });
    expect(isTrouble(ended)).toBe(true);
    expect((ended as Fault).message).toMatch(new RegExp(`^The file could not be sent: ${server.url}.*\\.$`));
    expect((ended as Fault).message).not.toContain('secret');
    expect((await run({ url: server.url })).ended).toEqual(done(200));
  });

  it('is not done when somebody says so before they had the file', async () => {
    await using server = await receiver(said(200), {
      first(_, response) {
        response.writeHead(200, { connection: 'close' }).end('thanks');
        return true;
      },
    });
    const large = Buffer.alloc(64 * 1024 * 1024);
    const { ended } = await run(
      { url: server.url },
      { asset: fileOf(large.length), blobs: blobsOf(large.length, piecesOf(large)) },
    );
    expect(isTrouble(ended)).toBe(true);
  });

  it('fails at a no that comes before they had the file', async () => {
    await using server = await receiver(said(200), {
      first(_, response) {
        response.writeHead(403).end('<Code>AccessDenied</Code>');
        return true;
      },
    });
    const large = Buffer.alloc(64 * 1024 * 1024);
    const { ended, progress } = await run(
      { url: server.url },
      { asset: fileOf(large.length), blobs: blobsOf(large.length, piecesOf(large)) },
    );
    const message = `The export was refused: ${server.host} answered 403 (AccessDenied).`;
    expect(ended).toEqual({ outcome: 'failed', message });
    expect(progress.at(-1) ?? 0).toBeLessThan(1);
  });

  it('is tried again when nobody listens, or says nothing', async () => {
    const closed = await receiver(said(200));
    await closed[Symbol.asyncDispose]();
    expect(isTrouble((await run({ url: closed.url })).ended)).toBe(true);
    await using silent = await receiver(() => undefined);
    expect(isTrouble((await run({ url: silent.url }, { config: { idleTimeout: '50ms' } })).ended)).toBe(true);
    await using nonsense = await receiver(said(200), {
      first: (request) => {
        request.socket.end('220 mail.example ESMTP\r\n');
        return true;
      },
    });
    expect(isTrouble((await run({ url: nonsense.url })).ended)).toBe(true);
  });

  it('waits for a reader that is slow, and holds no more than it takes', async () => {
    const pieces = 256;
    let given = 0;
    let most = 0;
    let taken = 0;
    const piece = Buffer.alloc(65_536, 'a');
    const hash = createHash('sha256');
    await using server = await receiver(said(200), {
      first(request, response) {
        request.on('data', (bytes: Buffer) => {
          hash.update(bytes);
          taken += bytes.length;
          most = Math.max(most, given - taken);
          request.pause();
          setImmediate(() => setImmediate(() => request.resume()));
        });
        request.on('end', () => response.end());
        return true;
      },
    });
    const { ended } = await run(
      { url: server.url },
      {
        asset: fileOf(pieces * piece.length),
        blobs: blobsOf(pieces * piece.length, function* () {
          for (let n = 0; n < pieces; n += 1) {
            given += piece.length;
            yield piece;
          }
        }),
      },
    );
    expect(ended).toEqual(done(200));
    expect(hash.digest('hex')).toBe(hashOf(Buffer.alloc(pieces * piece.length, 'a')));
    // What lies in the sockets between them; the file is 16 MiB.
    expect(most).toBeLessThan(12 * 1024 * 1024);
  });

  it.each([307, 308])('follows %i with the whole file, and leaves its headers behind', async (status) => {
    await using target = await receiver(said(200));
    await using server = await receiver(said(status, { headers: { location: `${target.url}/there?sig=2` } }));
    const { ended } = await run({
      url: server.url,
      headers: { Authorization: 'Bearer a', 'Content-Type': 'b/c' },
    });
    expect(ended).toEqual(done(200));
    const [{ method, url, headers, body }] = target.requests;
    expect([method, url, hashOf(body), headers['content-type']]).toEqual([
      ...['PUT', '/there?sig=2', hashOf(film), 'b/c'],
    ]);
    expect(headers).not.toHaveProperty('authorization');
  });

  it.each([301, 302, 303])('takes %i for a no, wherever it leads', async (status) => {
    for (const method of ['PUT', 'POST']) {
      await using page = await receiver(said(200, { body: 'please log in' }));
      await using server = await receiver(said(status, { headers: { location: page.url } }));
      expect((await run({ url: server.url, method })).ended).toEqual({
        outcome: 'failed',
        message: `${server.host} answered ${status}, which sends to another place than the file can follow to. Give the final URL.`,
      });
      expect(page.requests).toEqual([]);
    }
  });

  it('follows nobody to an address that is not allowed, nor for ever', async () => {
    await using inside = await receiver(said(200), { host: '127.0.0.2' });
    await using server = await receiver(said(307, { headers: { location: inside.url } }));
    const refused = await run({ url: server.url });
    expect(refused.ended).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining('127.0.0.2'),
    });
    expect(inside.requests).toEqual([]);
    await using round = await receiver((_, response) =>
      response.writeHead(308, { location: '/again' }).end(),
    );
    expect((await run({ url: round.url })).ended).toMatchObject({ outcome: 'failed' });
    expect(round.requests).toHaveLength(4);
  });

  it('fails where the name stands for an address that is not allowed', async () => {
    await using server = await receiver(said(200));
    const { ended } = await run({ url: `http://a.example:${server.port}/` }, { allow: ['10.0.0.0/8'] });
    expect(ended).toMatchObject({ outcome: 'failed', message: expect.stringContaining('a.example') });
    expect(server.requests).toEqual([]);
  });

  it('ends when it is given up, with that reason, and closes the connection', async () => {
    const giveUp = new AbortController();
    const closed = Promise.withResolvers<void>();
    await using server = await receiver(said(200), {
      first(request) {
        request.once('data', () => giveUp.abort(new Fault('job.cancelled', { status: 503, message: 'no' })));
        request.once('close', closed.resolve);
        return true;
      },
    });
    const { ended } = await run({ url: server.url }, { signal: giveUp.signal });
    expect(ended).toMatchObject({ code: 'job.cancelled' });
    await closed.promise;
  });

  it('tells why the file could not be read, not that it could not be sent', async () => {
    await using server = await receiver(said(200));
    const unavailable = new Fault('blobs.unavailable', { status: 503, message: 'no answer' });
    const broken = { get: () => Promise.reject(unavailable) };
    expect((await run({ url: server.url }, { blobs: broken })).ended).toBe(unavailable);
    const short = blobsOf(film.length - 1, piecesOf(film.subarray(1)));
    const changed = { code: 'ipfs.changed', retry: true };
    expect((await run({ url: server.url }, { blobs: short })).ended).toMatchObject(changed);
    const gone = { get: async () => ({ outcome: 'absent' as const }) };
    expect((await run({ url: server.url }, { blobs: gone })).ended).toMatchObject(changed);
    expect(server.requests).toEqual([]);
  });

  it('fails when the asset is gone, and calls nobody', async () => {
    await using server = await receiver(said(200));
    const message = 'The asset of this export was deleted.';
    const { ended } = await run({ url: server.url }, { asset: null });
    expect(ended).toEqual({ outcome: 'failed', message });
    expect(server.requests).toEqual([]);
  });

  it('leaves no connection open', async () => {
    await using server = await receiver(said(200));
    await run({ url: server.url });
    const socket = connect(server.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
  });
});

function fileOf(size: number): Partial<AssetReference> {
  return { file: { video: { key, size, md5: '', sha256: '' } } as never };
}

/** A blob of the size that the asset has, made of these pieces. */
function blobsOf(size: number, pieces: () => Iterable<Uint8Array>): Partial<Blobs> {
  return {
    async get() {
      const blob = { key, size, etag: 'e', modified: 0, type: 'video/mp4' };
      const all = pieces()[Symbol.iterator]();
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            const { done, value } = all.next();
            if (done) controller.close();
            else controller.enqueue(value);
          },
        },
        { highWaterMark: 0 },
      );
      return { outcome: 'ok', blob, from: 0, to: size, body };
    },
  };
}

function piecesOf(bytes: Buffer) {
  return function* () {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  };
}
