import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type FleetNode, fleet } from '../../kit/fleet.ts';
import type { World } from '../../kit/world.ts';
import { halted } from '../tus/kit.ts';
import { film, get, shipped, studio } from './kit.ts';

type Host = Pick<World, 'app' | 'settle'>;

async function send(w: Host, url: string, range: string, { body = null, headers = {} }: Sent = {}) {
  const length = typeof body === 'string' ? { 'content-length': String(body.length) } : {};
  const sent = { 'content-range': range, ...length, ...headers };
  const answer = await w.app.handle(
    new Request(url, { method: 'PUT', body, headers: sent, duplex: 'half' } as RequestInit),
  );
  const text = await answer.text();
  await w.settle();
  const { status } = answer;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
  const read = (text === '' ? {} : JSON.parse(text)) as any;
  return { status, range: answer.headers.get('range'), headers: answer.headers, body: read };
}
interface Sent {
  readonly body?: BodyInit | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends bytes `from` to `to` (exclusive) of the film. */
const piece = (w: Host, url: string, [from, to]: readonly [number, number], text = film) =>
  send(w, url, `bytes ${from}-${to - 1}/${text.length}`, { body: text.slice(from, to) });
const ask = (w: Host, url: string, total: number | string = film.length) =>
  send(w, url, `bytes */${total}`, { headers: { 'content-length': '0' } });
const outcome = ({ status, range, body }: Awaited<ReturnType<typeof send>>) => [
  status,
  body.code ?? body.status,
  range,
];
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hashIn = (asset: { hash: { algorithm: string; hash: string }[] }) =>
  asset.hash.find(({ algorithm }) => algorithm === 'sha256')?.hash;

describe('PUT with Content-Range', () => {
  it('takes a film in pieces: 308 with what has arrived, then 200 with the asset', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    expect(outcome(await ask(w, url))).toEqual([308, undefined, null]);
    const first = await piece(w, url, [0, 10]);
    expect(outcome(first)).toEqual([308, undefined, 'bytes=0-9']);
    const exposed = first.headers.get('access-control-expose-headers');
    expect([first.headers.get('access-control-allow-origin'), exposed]).toEqual(['*', 'Range, Retry-After']);
    expect(await get(w, `/api/task/${task.id}`)).toMatchObject({ status: { phase: 'running' } });
    expect(outcome(await piece(w, url, [10, 20]))).toEqual([308, undefined, 'bytes=0-19']);
    expect(outcome(await ask(w, url))).toEqual([308, undefined, 'bytes=0-19']);
    expect(outcome(await ask(w, url, '*'))).toEqual([308, undefined, 'bytes=0-19']);
    const last = await piece(w, url, [20, film.length]);
    expect(outcome(last)).toEqual([200, 'ready', null]);
    expect(last.body).toEqual(await get(w, `/api/asset/${asset.id}`));
    expect([last.body.size, hashIn(last.body)]).toEqual([film.length, sha256(film)]);
    expect((await get(w, `/api/task/${task.id}`)).status).toMatchObject({ phase: 'completed' });
    // The answer to the last piece may have been lost.
    expect(outcome(await piece(w, url, [20, film.length]))).toEqual([200, 'ready', null]);
    expect(outcome(await ask(w, url))).toEqual([200, 'ready', null]);
    expect(outcome(await piece(w, url, [0, 10]))).toEqual([409, 'upload.accepted', null]);
  });

  it('takes a film that is one piece, also when it is sent again', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    for (const _round of [1, 2])
      expect(outcome(await piece(w, url, [0, film.length]))).toEqual([200, 'ready', null]);
  });

  it('drops what has arrived already of a piece that is sent again', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    await piece(w, url, [0, 8]);
    await piece(w, url, [8, 12]);
    expect(outcome(await piece(w, url, [4, 12]))).toEqual([308, undefined, 'bytes=0-11']);
    expect(outcome(await piece(w, url, [2, 9]))).toEqual([308, undefined, 'bytes=0-11']);
    expect(outcome(await piece(w, url, [8, 16]))).toEqual([308, undefined, 'bytes=0-15']);
    const { body } = await piece(w, url, [16, film.length]);
    expect(hashIn(body)).toBe(sha256(film));
  });

  it('begins anew with the first piece, so bytes of two files are never mixed', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    const other = film.toUpperCase();
    const longer = `${other} and more`;
    await piece(w, url, [0, 10]);
    expect(outcome(await ask(w, url, longer.length))).toEqual([308, undefined, null]);
    const wrong = await piece(w, url, [10, 12], longer);
    expect(outcome(wrong)).toEqual([409, 'upload.other_file', 'bytes=0-9']);
    expect(outcome(await piece(w, url, [0, 4], longer))).toEqual([308, undefined, 'bytes=0-3']);
    expect(outcome(await piece(w, url, [0, 6], other))).toEqual([308, undefined, 'bytes=0-5']);
    const { body } = await piece(w, url, [6, other.length], other);
    expect(hashIn(body)).toBe(sha256(other));
  });

  it.each([
    ['bytes 0-3', 400, 'upload.invalid'],
    ['items 0-3/23', 400, 'upload.invalid'],
    ['bytes 0-3/*', 400, 'upload.invalid'],
    ['bytes -3/23', 400, 'upload.invalid'],
    ['bytes 0-9999999999999999/23', 400, 'upload.invalid'],
    // The body has 4 bytes.
    ['bytes 0-4/23', 400, 'upload.invalid'],
    ['bytes 3-0/23', 416, 'upload.wrong_range'],
    ['bytes 20-23/23', 416, 'upload.wrong_range'],
    ['bytes 30-33/23', 416, 'upload.wrong_range'],
    ['bytes 4-7/23', 409, 'upload.wrong_offset'],
    ['bytes 0-3/99999999999', 413, 'intake.too_large'],
  ])('%s with 4 bytes is %i %s, and readable by every page', async (range, status, code) => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const answer = await send(w, url, range, { body: 'film' });
    expect(outcome(answer)).toEqual([status, code, null]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect(w.intake.partial.list()).toEqual([]);
  });

  it('refuses a piece without a length, one that leaves a gap, and one at a URL that is not ours', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    const body = new ReadableStream({ pull: (controller) => controller.close() });
    expect(outcome(await send(w, url, 'bytes 0-3/23', { body }))).toEqual([
      ...[411, 'upload.length_required', null],
    ]);
    await piece(w, url, [0, 4]);
    const gap = await piece(w, url, [5, 9]);
    expect(outcome(gap)).toEqual([409, 'upload.wrong_offset', 'bytes=0-3']);
    expect(gap.body.errors[0]).toContain('bytes from 4 or less');
    const altered = url.replace(/.{4}$/, 'AAAA');
    expect(outcome(await piece(w, altered, [4, 8])).slice(0, 2)).toEqual([403, 'upload.altered']);
    expect(outcome(await ask(w, altered)).slice(0, 2)).toEqual([403, 'upload.altered']);
  });

  it('keeps what has arrived of a piece that broke off, for the next one to go on from', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    await piece(w, url, [0, 4]);
    const slow = halted(film.slice(4, 9));
    const running = send(w, url, `bytes 4-13/${film.length}`, {
      body: slow.body,
      headers: { 'content-length': '10' },
    });
    await slow.isRead;
    slow.breakOff();
    expect(outcome(await running)).toEqual([400, 'intake.broken', 'bytes=0-8']);
    expect(outcome(await ask(w, url))).toEqual([308, undefined, 'bytes=0-8']);
    expect(outcome(await piece(w, url, [9, 14]))).toEqual([308, undefined, 'bytes=0-13']);
    expect(hashIn((await piece(w, url, [4, film.length])).body)).toBe(sha256(film));
  });

  it('of two requests at the same time the newer one wins', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    for (const begin of [0, 4]) {
      const slow = halted(film.slice(begin, begin + 2));
      const running = send(w, url, `bytes ${begin}-13/${film.length}`, {
        body: slow.body,
        headers: { 'content-length': String(14 - begin) },
      });
      await slow.isRead;
      expect(outcome(await piece(w, url, [begin, begin + 4]))).toEqual([
        ...[308, undefined, `bytes=0-${begin + 3}`],
      ]);
      slow.close();
      expect(outcome(await running).slice(0, 2)).toEqual([400, 'upload.interrupted']);
    }
    const both = await Promise.all([piece(w, url, [0, 6]), piece(w, url, [0, 6])]);
    expect(both.map(({ status }) => status).sort()).toEqual([308, 400]);
    expect(hashIn((await piece(w, url, [6, film.length])).body)).toBe(sha256(film));
  });

  it('shows why a film was refused, and takes another one', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const bad = 'refuse: it is a song';
    await piece(w, url, [0, 8], bad);
    const refused = await piece(w, url, [8, bad.length], bad);
    expect(outcome(refused)).toEqual([422, 'upload.refused', null]);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('failed');
    await piece(w, url, [0, 8]);
    expect(outcome(await piece(w, url, [8, film.length]))).toEqual([200, 'ready', null]);
  });

  it('ends with the upload URL, and leaves nothing of an asset that is ready or was deleted', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const [late, ready, deleted] = [await asked(), await asked(), await asked()];
    for (const { url } of [late, ready, deleted]) await piece(w, url, [0, 8]);
    expect(w.intake.partial.list()).toHaveLength(3);
    const whole = await w.app.handle(new Request(ready.url, { method: 'PUT', body: film }));
    expect(whole.status).toBe(200);
    expect(outcome(await ask(w, ready.url)).slice(0, 2)).toEqual([409, 'upload.accepted']);
    await w.request('DELETE', `/api/asset/${deleted.asset.id}`);
    await w.advance('5m');
    expect(w.intake.partial.list()).toHaveLength(1);
    expect(await w.store.resources.count('upload-holder', {})).toBe(1);
    await w.advance('12h');
    expect(outcome(await piece(w, late.url, [8, 12]))).toEqual([403, 'upload.expired', null]);
    expect(w.intake.partial.list()).toEqual([]);
  });
});

describe('several nodes', () => {
  async function nodes() {
    const f = await fleet({ plugins: shipped });
    const [a, b] = [await f.start('a'), await f.start('b')];
    const host = (node: FleetNode): Host => ({ app: node.booted.app, settle: f.settle });
    const { body } = await a.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
    const { url } = body as { url: string };
    return { f, b, onA: host(a), onB: host(b), url };
  }

  it('put the pieces together that different ones receive', async () => {
    const { f, onA, onB, url } = await nodes();
    await using _ = f;
    expect(outcome(await ask(onA, url))).toEqual([308, undefined, null]);
    expect(outcome(await piece(onB, url, [0, 6]))).toEqual([308, undefined, 'bytes=0-5']);
    expect(outcome(await piece(onA, url, [6, 12]))).toEqual([308, undefined, 'bytes=0-11']);
    expect(outcome(await ask(onA, url))).toEqual([308, undefined, 'bytes=0-11']);
    expect(outcome(await piece(onA, url, [14, 16]))).toEqual([409, 'upload.wrong_offset', 'bytes=0-11']);
    const last = await piece(onA, url, [12, film.length]);
    expect([...outcome(last), hashIn(last.body)]).toEqual([200, 'ready', null, sha256(film)]);
    expect(outcome(await piece(onB, url, [12, film.length]))).toEqual([200, 'ready', null]);
  });

  it('begin anew when the one with the pieces is gone for good, and wait for it before', async () => {
    const { f, b, onA, onB, url } = await nodes();
    await using _ = f;
    await piece(onB, url, [0, 6]);
    b.cut();
    await f.advance('30s');
    expect(outcome(await piece(onA, url, [0, 6]))).toEqual([503, 'node.unreachable', null]);
    await f.advance('10m');
    expect(outcome(await piece(onA, url, [6, 12]))).toEqual([409, 'upload.wrong_offset', null]);
    expect(outcome(await piece(onA, url, [0, 6]))).toEqual([308, undefined, 'bytes=0-5']);
    expect(outcome(await piece(onA, url, [6, film.length]))).toEqual([200, 'ready', null]);
  });
});
