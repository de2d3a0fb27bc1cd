import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { S3BlobsOptions } from '../../../runtime/drivers/blobs/s3/connection.ts';
import { s3Blobs } from '../../../runtime/drivers/blobs/s3/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { lasting, until } from '../../e2e/harness/wait.ts';
import type { S3 } from '../../kit/engines/s3.ts';
import { engineFor } from '../../kit/engines.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { killWhileWriting } from './crash.ts';
import { type CuttingProxy, cuttingProxy } from './cutting-proxy.ts';
import { bytesOf, hashOf, inPieces, mebibyte, put, read, testFolder, unfinishedBelow } from './fixtures.ts';

const server = await engineFor('s3');

describe.skipIf(server.isMissing)('blobs in S3, when something is wrong', () => {
  const opened: Blobs[] = [];
  afterAll(async () => {
    for (const one of opened) await one.close();
  });
  /** Short waits: what is tested is what happens at their end. */
  const quick = { firstWait: 20, longestWait: 100, connectTimeout: 1000, smallTimeout: 1500, silence: 1000 };
  const driver = (engine: S3, options: Partial<S3BlobsOptions> = {}): Blobs => {
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = engine;
    const own = { endpoint, bucket, region, accessKeyId, secretAccessKey };
    const blobs = s3Blobs({ ...own, clock: systemClock(), limits: quick, ...options });
    opened.push(blobs);
    return blobs;
  };
  const through = (engine: S3, proxy: CuttingProxy): Blobs =>
    driver(engine, { endpoint: `http://127.0.0.1:${proxy.port}` });

  describe('at the start', () => {
    const fails = async (options: Partial<S3BlobsOptions>, fault: { code: string; names: string[] }) => {
      const blobs = driver(await server.shared(), options);
      const error = await blobs.open().then(
        () => ({ code: 'none', message: '' }),
        (thrown) => thrown,
      );
      expect([error.code, error.message]).toEqual([fault.code, expect.any(String)]);
      for (const name of fault.names) expect(error.message).toContain(name);
      expect(error.message).not.toContain('secretAccessKey=');
      return error;
    };

    test('a port where nobody listens', async () => {
      const [port] = await findFreePorts(1);
      const endpoint = `http://127.0.0.1:${port}`;
      await fails({ endpoint }, { code: 'blobs.unreachable', names: ['s3.endpoint', endpoint, 'refused'] });
    });

    test('a name that is none', async () => {
      const endpoint = 'http://millrace.invalid:9000';
      await fails({ endpoint }, { code: 'blobs.unreachable', names: ['s3.endpoint', endpoint] });
    });

    test('TLS where there is none', async () => {
      const { port } = await server.shared();
      const endpoint = `https://127.0.0.1:${port}`;
      await fails({ endpoint }, { code: 'blobs.unreachable', names: ['s3.endpoint', endpoint] });
    });

    test.each([
      [404, '<html>not found</html>', 'blobs.endpoint'],
      [200, '<html>hello</html>', 'blobs.endpoint'],
      [200, 'hello', 'blobs.endpoint'],
      [200, '', 'blobs.endpoint'],
      [500, 'oops', 'blobs.unreachable'],
      [403, errorXml('AccessDenied'), 'blobs.forbidden'],
      [403, errorXml('RequestTimeTooSkewed'), 'blobs.clock'],
      [400, errorXml('AuthorizationHeaderMalformed'), 'blobs.region'],
      [301, errorXml('PermanentRedirect'), 'blobs.region'],
      [400, errorXml('InvalidBucketName'), 'blobs.bucket'],
    ])('a server that answers %i %s', async (status, body, code) => {
      await using web = await webServer((_, respond) => respond(status, body));
      const endpoint = `http://127.0.0.1:${web.port}`;
      await fails({ endpoint }, { code, names: [endpoint] });
    });

    test('a bucket that may be listed and not written to', async () => {
      const list = `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>millrace</Name></ListBucketResult>`;
      await using web = await webServer((method, respond) =>
        method === 'GET' ? respond(200, list) : respond(403, errorXml('AccessDenied')),
      );
      const endpoint = `http://127.0.0.1:${web.port}`;
      await fails(
        { endpoint },
        { code: 'blobs.forbidden', names: ['s3.accessKeyId', 'write to the bucket millrace'] },
      );
    });

    test('a bucket that is missing and may not be created', async () => {
      await using web = await webServer((method, respond) =>
        method === 'GET' ? respond(404, errorXml('NoSuchBucket')) : respond(403, errorXml('AccessDenied')),
      );
      const endpoint = `http://127.0.0.1:${web.port}`;
      await fails({ endpoint }, { code: 'blobs.bucket', names: ['s3.bucket', 'missing', 'AccessDenied'] });
    });

    test('an unknown key', async () => {
      const error = await fails(
        { accessKeyId: 'nobody' },
        { code: 'blobs.credentials', names: ['s3.accessKeyId', 'nobody'] },
      );
      expect(error.message).not.toContain((await server.shared()).secretAccessKey);
    });

    test('a wrong secret', async () => {
      await fails(
        { secretAccessKey: 'wrong-secret' },
        { code: 'blobs.credentials', names: ['s3.secretAccessKey'] },
      ).then((error) => expect(error.message).not.toContain('wrong-secret'));
    });

    test('a bucket that is missing is created, also by two at once, and what they put is there', async () => {
      const engine = await server.shared();
      const both = [driver(engine, { bucket: 'new-one' }), driver(engine, { bucket: 'new-one' })];
      await Promise.all(both.map((blobs) => blobs.open()));
      await put(both[0], 'a/b.txt', 'x');
      expect(await both[1].head('a/b.txt')).toMatchObject({ size: 1 });
      expect((await both[0].list('', { limit: 10 })).blobs).toHaveLength(1);
    });
  });

  test('a body that is cut is gone on with where it was, as often as it takes', async () => {
    const engine = await server.shared();
    await using proxy = await cuttingProxy(engine.port);
    const blobs = through(engine, proxy);
    const key = `${testFolder()}a.bin`;
    const bytes = bytesOf(16 * mebibyte);
    await put(blobs, key, bytes);
    const before = proxy.cuts;
    proxy.cutAnswers(1.5 * mebibyte, { times: 9 });
    expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(bytes));
    expect(proxy.cuts - before).toBe(9);
    proxy.cutAnswers(1.5 * mebibyte, { times: 3 });
    const range = { from: 1_000_001, to: 9_000_001 };
    const part = (await read(blobs, key, { range })) as Uint8Array;
    expect(hashOf(part)).toBe(hashOf(bytes.subarray(range.from, range.to)));
  });

  test('a body that cannot be had to its end is a Fault, never a short body', async () => {
    const engine = await server.shared();
    await using proxy = await cuttingProxy(engine.port);
    const blobs = through(engine, proxy);
    const key = `${testFolder()}a.bin`;
    // More than fits the buffers of all sockets on the way.
    await put(blobs, key, bytesOf(64 * mebibyte));
    const got = await blobs.get(key);
    if (got.outcome !== 'ok') throw new Error(got.outcome);
    const reader = got.body.getReader();
    await reader.read();
    proxy.down();
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    await expect(rest()).rejects.toMatchObject({ code: 'blobs.unavailable', retry: true });
    // Replaced meanwhile, it cannot be gone on with either.
    proxy.up();
    const second = await blobs.get(key);
    if (second.outcome !== 'ok') throw new Error(second.outcome);
    const other = second.body.getReader();
    await other.read();
    await put(driver(engine), key, bytesOf(64 * mebibyte, 2));
    proxy.down();
    proxy.up();
    const end = async () => {
      for (;;) if ((await other.read()).done) return;
    };
    await expect(end()).rejects.toMatchObject({ message: expect.stringContaining('replaced or deleted') });
  });

  test('requests that are cut are sent again: the blob is whole', async () => {
    const engine = await server.shared();
    await using proxy = await cuttingProxy(engine.port);
    const blobs = through(engine, proxy);
    const folder = testFolder();
    for (const length of [mebibyte, 20 * mebibyte]) {
      const bytes = bytesOf(length);
      proxy.cutRequests(600_000, { times: 4 });
      expect(await blobs.put(`${folder}${length}.bin`, inPieces(bytes))).toMatchObject({
        outcome: 'ok',
        size: length,
      });
      expect(hashOf((await read(blobs, `${folder}${length}.bin`)) as Uint8Array)).toBe(hashOf(bytes));
    }
    expect(proxy.cuts).toBe(8);
    expect(await unfinishedBelow(blobs, folder)).toEqual([]);
  });

  test('what had arrived of a request that broke off is nothing', async () => {
    const engine = await server.shared();
    await using proxy = await cuttingProxy(engine.port);
    const once = { endpoint: `http://127.0.0.1:${proxy.port}`, limits: { ...quick, attempts: 1 } };
    const blobs = driver(engine, once);
    const direct = driver(engine);
    const fault = { code: 'blobs.unavailable' };
    for (const after of [500_000, 2_000_000, 5_000_000]) {
      const key = `${testFolder()}a.bin`;
      proxy.cutRequests(after, { times: 1 });
      await expect(blobs.put(key, bytesOf(5 * mebibyte))).rejects.toMatchObject(fault);
      const upload = await direct.uploads.begin(key, { partSize: 5 * mebibyte });
      proxy.cutRequests(after, { times: 1 });
      const part = { number: 1, bytes: bytesOf(5 * mebibyte) };
      await expect(blobs.uploads.part(upload, part)).rejects.toMatchObject(fault);
      // The server may still be about to notice.
      await lasting(300);
      expect(await direct.uploads.parts(upload)).toEqual([]);
      expect(await direct.head(key)).toBeUndefined();
      await direct.uploads.abort(upload);
    }
  });

  test('a condition that was met by the attempt whose answer was lost is met', async () => {
    const engine = await server.shared();
    await using proxy = await cuttingProxy(engine.port);
    const blobs = through(engine, proxy);
    const folder = testFolder();
    proxy.cutAnswers(0, { times: 1 });
    expect(await blobs.put(`${folder}a.txt`, Buffer.from('x'), { ifAbsent: true })).toMatchObject({
      outcome: 'ok',
    });
    expect(proxy.cuts).toBe(1);
    proxy.cutAnswers(0, { times: 1 });
    const lost = await blobs.put(`${folder}a.txt`, Buffer.from('z'), { ifAbsent: true });
    expect(lost).toEqual({ outcome: 'conflict' });

    const upload = await blobs.uploads.begin(`${folder}b.bin`, { partSize: 5 * mebibyte });
    await blobs.uploads.part(upload, { number: 1, bytes: bytesOf(1000) });
    proxy.loseAnswerTo(/^POST .*uploadId=/);
    const completed = await blobs.uploads.complete(upload, { size: 1000, ifAbsent: true });
    expect(completed).toMatchObject({ outcome: 'ok', size: 1000 });
    expect(proxy.cuts).toBe(3);
    expect((await blobs.head(`${folder}b.bin`))?.size).toBe(1000);
    proxy.loseAnswerTo(/^POST .*uploadId=/);
    const long = await blobs.put(`${folder}c.bin`, inPieces(bytesOf(20 * mebibyte)), { ifAbsent: true });
    expect(long).toMatchObject({ outcome: 'ok', size: 20 * mebibyte });
    expect(proxy.cuts).toBe(4);
  });

  test('a server that is killed in the midst of it and comes back: puts and reads go on', async () => {
    const engine = await server.start();
    const blobs = driver(engine, { limits: { ...quick, attempts: 8, longestWait: 3000, firstWait: 500 } });
    await blobs.open();
    const bytes = bytesOf(40 * mebibyte);
    await put(blobs, 'a/read.bin', bytes);
    const reached = Promise.withResolvers<void>();
    const source = async function* () {
      let pieces = 0;
      for await (const piece of inPieces(bytes, mebibyte)) {
        yield piece;
        pieces += 1;
        if (pieces === 20) reached.resolve();
      }
    };
    const got = await blobs.get('a/read.bin');
    if (got.outcome !== 'ok') throw new Error(got.outcome);
    const reader = got.body.getReader();
    const pieces = [(await reader.read()).value as Uint8Array];
    const putting = blobs.put('a/put.bin', source());
    await reached.promise;
    await engine.kill();
    const reading = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value);
    })();
    await engine.restart();
    expect(await putting).toMatchObject({ outcome: 'ok', size: bytes.length });
    await reading;
    expect(hashOf(Buffer.concat(pieces))).toBe(hashOf(bytes));
    expect(hashOf((await read(blobs, 'a/put.bin')) as Uint8Array)).toBe(hashOf(bytes));
    expect(await unfinishedBelow(blobs, 'a/')).toEqual([]);
  });

  test('a server that hangs is given up within the limits, and used again when it goes on', async () => {
    const engine = await server.start();
    const blobs = driver(engine, { limits: { ...quick, attempts: 2 } });
    await blobs.open();
    await put(blobs, 'a/a.bin', bytesOf(16 * mebibyte));
    const got = await blobs.get('a/a.bin');
    if (got.outcome !== 'ok') throw new Error(got.outcome);
    const reader = got.body.getReader();
    await reader.read();
    await engine.freeze();
    const fault = { code: 'blobs.unavailable', status: 503 };
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    await Promise.all([
      expect(rest()).rejects.toMatchObject(fault),
      expect(blobs.head('a/a.bin')).rejects.toMatchObject(fault),
      expect(blobs.put('a/b.bin', bytesOf(20 * mebibyte))).rejects.toMatchObject(fault),
      expect(blobs.list('', { limit: 1 })).rejects.toMatchObject(fault),
    ]);
    engine.thaw();
    const isBack = async () => (await blobs.head('a/a.bin')) !== undefined;
    await until('the server', isBack, { within: 20_000 });
    const bytes = (await read(blobs, 'a/a.bin')) as Uint8Array;
    expect(hashOf(bytes)).toBe(hashOf(bytesOf(16 * mebibyte)));
  });

  test('connections are closed when a read is given up, and kept when it is not', async () => {
    const engine = await server.shared();
    await using proxy = await cuttingProxy(engine.port);
    const blobs = through(engine, proxy);
    const key = `${testFolder()}a.bin`;
    await put(blobs, key, bytesOf(16 * mebibyte));
    const abort = new AbortController();
    const all = await Promise.all(Array.from({ length: 20 }, () => blobs.get(key, { signal: abort.signal })));
    for (const [index, got] of all.entries()) {
      if (got.outcome !== 'ok') throw new Error(got.outcome);
      if (index % 2 === 0) await got.body.cancel();
    }
    expect(proxy.open).toBeGreaterThan(5);
    abort.abort();
    await until('closed connections', () => proxy.open <= 2, { within: 5000 });
    for (let round = 0; round < 20; round++) await blobs.head(key);
    expect(proxy.open).toBeLessThanOrEqual(2);
  });

  test('a kill loses nothing that was acknowledged and shows nothing half', async () => {
    const engine = await server.shared();
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = engine;
    const options = { endpoint, bucket, region, accessKeyId, secretAccessKey };
    for (let round = 0; round < 3; round++) {
      const open = async () => driver(engine);
      await killWhileWriting(open, { folder: testFolder(), options, after: 300 + Math.random() * 1500 });
    }
  });
});

function errorXml(code: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
}

/** A server that is none of S3. */
async function webServer(
  answer: (method: string, respond: (status: number, body: string) => void) => void,
): Promise<{ port: number } & AsyncDisposable> {
  const web: Server = createServer((request, response) => {
    request.resume();
    request.on('end', () =>
      answer(request.method ?? '', (status, body) => {
        response.writeHead(status, { 'content-type': 'application/xml' });
        response.end(body);
      }),
    );
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  return {
    port: (web.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      web.closeAllConnections();
      web.close();
    },
  };
}
