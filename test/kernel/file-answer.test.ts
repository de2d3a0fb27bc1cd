import { describe, expect, it } from 'vitest';
import { fileAnswer } from '../../core/http/file-answer.ts';
import type { Blobs, GetOptions } from '../../core/ports/blobs.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';

const modified = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const date = 'Fri, 02 Jan 2026 03:04:05 GMT';
const earlier = 'Fri, 02 Jan 2026 03:04:04 GMT';
const tag = '"v1"';

/** 26 letters in two blobs: the first piece is `abcdefghij`, the second `klmnopqrstuvwxyz` in the midst of its blob. */
async function letters() {
  const blobs = modelBlobs();
  await blobs.put('f/head.mp4', Buffer.from('abcdefghij'));
  await blobs.put('f/video.mp4', Buffer.from('###klmnopqrstuvwxyz###'));
  const file = {
    pieces: [
      { key: 'f/head.mp4', from: 0, to: 10 },
      { key: 'f/video.mp4', from: 3, to: 19 },
    ],
    ...{ etag: 'v1', modified, type: 'video/mp4', name: 'A film', ending: 'mp4' },
  };
  return { blobs, file };
}

async function ask(headers: Record<string, string>, method = 'GET') {
  const { blobs, file } = await letters();
  const reads: { key: string; range: GetOptions['range'] }[] = [];
  const counted: Pick<Blobs, 'get'> = {
    get(key, options) {
      reads.push({ key, range: options?.range });
      return blobs.get(key, options);
    },
  };
  const request = new Request('http://x/', { method, headers });
  const answer = await fileAnswer(request, { file, blobs: counted });
  if (!answer) throw new Error('no answer');
  const isFile = answer.status < 300;
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    text: isFile ? text : '',
    code: text !== '' && !isFile ? JSON.parse(text).code : undefined,
    reads,
  };
}

describe('a file', () => {
  it('is answered whole, with all that a client may ask by later', async () => {
    const { status, headers, text } = await ask({});
    expect([status, text]).toEqual([200, 'abcdefghijklmnopqrstuvwxyz']);
    expect(Object.fromEntries(headers)).toEqual({
      'accept-ranges': 'bytes',
      'cache-control': 'public, max-age=3600',
      'content-disposition': 'inline; filename="A film.mp4"',
      'content-length': '26',
      'content-type': 'video/mp4',
      etag: tag,
      'last-modified': date,
      'x-content-type-options': 'nosniff',
    });
  });

  it('is told of by HEAD, without a read and whatever the range', async () => {
    const { status, headers, text, reads } = await ask({ range: 'bytes=1-2' }, 'HEAD');
    expect([status, text, headers.get('content-length'), headers.get('content-range')]).toEqual([
      200,
      '',
      '26',
      null,
    ]);
    expect(reads).toEqual([]);
  });

  it('is none when a blob of it is gone', async () => {
    const { blobs, file } = await letters();
    await blobs.delete(['f/head.mp4']);
    expect(await fileAnswer(new Request('http://x/'), { file, blobs })).toBeUndefined();
  });

  it('fails, and is not cut, when it turns out shorter than it was', async () => {
    const { blobs, file } = await letters();
    await blobs.put('f/head.mp4', Buffer.from('abc'));
    const answer = fileAnswer(new Request('http://x/'), { file, blobs });
    await expect(answer).rejects.toMatchObject({ code: 'blobs.unavailable', status: 503 });
  });

  it('that is empty has no range', async () => {
    const { blobs, file } = await letters();
    const empty = { ...file, pieces: [] };
    const plain = await fileAnswer(new Request('http://x/'), { file: empty, blobs });
    expect([plain?.status, plain?.headers.get('content-length')]).toEqual([200, '0']);
    const headers = { range: 'bytes=0-' };
    const ranged = await fileAnswer(new Request('http://x/', { headers }), { file: empty, blobs });
    expect([ranged?.status, ranged?.headers.get('content-range')]).toEqual([416, 'bytes */0']);
  });
});

describe('Range', () => {
  it.each([
    ['bytes=0-0', 'a', '0-0'],
    ['bytes=0-', 'abcdefghijklmnopqrstuvwxyz', '0-25'],
    ['bytes=8-11', 'ijkl', '8-11'],
    ['bytes=10-', 'klmnopqrstuvwxyz', '10-25'],
    ['bytes=9-10', 'jk', '9-10'],
    ['bytes=25-', 'z', '25-25'],
    ['bytes=24-999', 'yz', '24-25'],
    ['bytes=-3', 'xyz', '23-25'],
    ['bytes=-17', 'jklmnopqrstuvwxyz', '9-25'],
    ['bytes=-999', 'abcdefghijklmnopqrstuvwxyz', '0-25'],
    [`bytes=5-${'9'.repeat(400)}`, 'fghijklmnopqrstuvwxyz', '5-25'],
    ['Bytes= 1-2 ', 'bc', '1-2'],
  ])('%s is %s', async (range, text, shown) => {
    const answer = await ask({ range });
    expect([answer.status, answer.text]).toEqual([206, text]);
    expect(answer.headers.get('content-range')).toBe(`bytes ${shown}/26`);
    expect(answer.headers.get('content-length')).toBe(String(text.length));
    expect(answer.headers.get('etag')).toBe(tag);
  });

  it.each(['bytes=26-', 'bytes=26-30', 'bytes=-0', `bytes=${'9'.repeat(400)}-`])(
    '%s is 416',
    async (range) => {
      const answer = await ask({ range });
      expect([answer.status, answer.code, answer.reads]).toEqual([416, 'file.beyond', []]);
      expect(answer.headers.get('content-range')).toBe('bytes */26');
      expect(answer.headers.get('cache-control')).toBe('no-store');
    },
  );

  it.each([
    ...[
      'bytes=5-4',
      'bytes=a-b',
      'bytes=-',
      'bytes=',
      'bytes',
      'lines=1-2',
      'bytes=1',
      'bytes=--1',
      'bytes=1-2-3',
    ],
    ...['bytes=0-1,3-4', 'bytes=0-1, -1', 'bytes=1.5-2', 'bytes=0x1-2', 'bytes=+1-2'],
  ])('%s is passed over: the whole', async (range) => {
    const answer = await ask({ range });
    expect([answer.status, answer.text.length, answer.headers.get('content-range')]).toEqual([200, 26, null]);
  });

  it('reads only the blobs and bytes that are asked for', async () => {
    expect((await ask({ range: 'bytes=12-13' })).reads).toEqual([
      { key: 'f/video.mp4', range: { from: 5, to: 7 } },
    ]);
    expect((await ask({ range: 'bytes=2-3' })).reads).toEqual([
      { key: 'f/head.mp4', range: { from: 2, to: 4 } },
    ]);
  });

  it.each([
    [tag, 206],
    [date, 206],
    [`W/${tag}`, 200],
    ['"v2"', 200],
    [earlier, 200],
    ['v1', 200],
    ['', 200],
  ])('counts with If-Range %s: %i', async (ifRange, status) => {
    expect((await ask({ range: 'bytes=0-1', 'if-range': ifRange })).status).toBe(status);
  });
});

describe('a precondition', () => {
  it.each([
    [{ 'if-none-match': tag }, 304],
    [{ 'if-none-match': `W/${tag}` }, 304],
    [{ 'if-none-match': `"a,b", ${tag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"v2"' }, 200],
    [{ 'if-none-match': 'v1' }, 200],
    [{ 'if-none-match': '"v2"', 'if-modified-since': date }, 200],
    [{ 'if-modified-since': date }, 304],
    [{ 'if-modified-since': 'Friday, 02-Jan-26 03:04:05 GMT' }, 304],
    [{ 'if-modified-since': 'Fri Jan  2 03:04:05 2026' }, 304],
    [{ 'if-modified-since': earlier }, 200],
    [{ 'if-modified-since': 'yesterday' }, 200],
    [{ 'if-modified-since': '2026-01-02T03:04:05Z' }, 200],
    [{ 'if-match': tag }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': `"v2", ${tag}` }, 200],
    [{ 'if-match': '"v2"' }, 412],
    [{ 'if-match': `W/${tag}` }, 412],
    [{ 'if-match': '"v2"', 'if-none-match': tag }, 412],
    [{ 'if-match': tag, 'if-unmodified-since': earlier }, 200],
    [{ 'if-unmodified-since': date }, 200],
    [{ 'if-unmodified-since': earlier }, 412],
    [{ 'if-none-match': tag, range: 'bytes=99-' }, 304],
    [{ 'if-match': '"v2"', range: 'bytes=99-' }, 412],
  ])('%j is answered %i, by GET and by HEAD', async (headers, status) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(headers as unknown as Record<string, string>, method);
      expect([method, answer.status]).toEqual([method, status]);
      if (status === 304) expect([answer.text, answer.headers.get('etag')]).toEqual(['', tag]);
      const has = status === 304 && method === 'GET' ? null : status === 412 ? null : '26';
      expect(answer.headers.get('content-length')).toBe(has);
      if (status !== 200) expect(answer.reads).toEqual([]);
    }
  });
});

describe('a long file', () => {
  /** Blobs whose bodies count what is read of them, and how they end. */
  function endless(size: number) {
    const seen = { pulled: 0, isCancelled: false, opened: 0 };
    const get = (async (key: string, { range }: GetOptions = {}) => {
      const { from = 0, to = size } = range as { from: number; to: number };
      let at = from;
      seen.opened += 1;
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            const piece = Math.min(65_536, to - at);
            at += piece;
            seen.pulled += piece;
            controller.enqueue(new Uint8Array(piece));
            if (at === to) controller.close();
          },
          cancel() {
            seen.isCancelled = true;
          },
        },
        { highWaterMark: 0 },
      );
      return { outcome: 'ok', blob: { key, size }, from, to, body };
    }) as unknown as Blobs['get'];
    return { get, seen };
  }
  const mb = 1_048_576;
  const pieces = [
    { key: 'f/a.mp4', from: 0, to: mb },
    { key: 'f/b.mp4', from: 0, to: 100 * mb },
  ];
  const file = { pieces, etag: 'v', modified, type: 'video/mp4', name: 'A', ending: 'mp4' };

  it('is read no further than it is taken, and no more when the client goes', async () => {
    const { get, seen } = endless(100 * mb);
    const answer = await fileAnswer(new Request('http://x/'), { file, blobs: { get } });
    const reader = (answer as Response).body?.getReader();
    let taken = 0;
    while (taken < 2 * mb) taken += (await reader?.read())?.value?.length ?? 0;
    expect(seen.pulled - taken).toBeLessThanOrEqual(65_536);
    expect(seen.opened).toBe(2);
    await reader?.cancel();
    expect(seen.isCancelled).toBe(true);
  });

  it('breaks off when its second blob is gone', async () => {
    const { get } = endless(mb);
    const missing: Blobs['get'] = async (key, options) =>
      key === 'f/b.mp4' ? { outcome: 'absent' } : get(key, options);
    const answer = await fileAnswer(new Request('http://x/'), { file, blobs: { get: missing } });
    await expect((answer as Response).bytes()).rejects.toMatchObject({ code: 'blobs.unavailable' });
  });
});
