import { describe, expect, it } from 'vitest';
import { fleet } from '../../kit/fleet.ts';
import {
  begun,
  create,
  film,
  get,
  type Host,
  halted,
  head,
  offsetOf,
  patch,
  phaseOf,
  send,
  shipped,
  statusOf,
  studio,
} from './kit.ts';

describe('a task of a tus upload', () => {
  it('runs while pieces come one behind the other, and waits after a pause', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    for (const at of [0, 1, 2, 3]) {
      await patch(w, url, at, { body: film[at] });
      await w.advance('9s');
      expect(await phaseOf(w, given)).toBe('running');
    }
    await w.advance('1s');
    expect(await phaseOf(w, given)).toBe('waiting');
    expect((await patch(w, url, 4)).status).toBe(204);
    expect(await phaseOf(w, given)).toBe('completed');
    const phases = (await w.events()).flatMap(({ payload }) => payload.task?.status.phase ?? []);
    expect(phases).toEqual(['pending', 'running', 'waiting', 'running', 'completed']);
  });

  it('waits at once when the client is cut off; progress does not go back', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: film.slice(0, 10) });
    await w.advance('3s');
    const cut = halted(film.slice(10, 15));
    const lost = patch(w, url, 10, { body: cut.body });
    await cut.isRead;
    // It is stored beside what is received.
    await w.advance('1ms');
    const before = (await get(w, `/api/task/${given.task.id}`)).status.progress;
    expect(before).toBeGreaterThan(0.5);
    cut.breakOff();
    expect((await lost).body.code).toBe('intake.broken');
    expect(await phaseOf(w, given)).toBe('waiting');
    expect(await offsetOf(w, url)).toEqual([200, '15']);
    await w.advance('3s');
    await patch(w, url, 15, { body: film[15] });
    expect((await get(w, `/api/task/${given.task.id}`)).status.progress).toBeGreaterThanOrEqual(before);
  });

  it('that is cancelled ends the upload', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    await w.request('POST', `/api/task/${given.task.id}/cancel`);
    await w.advance('11s');
    expect((await patch(w, url, 6)).body.code).toBe('upload.cancelled');
    expect((await head(w, url)).status).toBe(404);
    expect((await create(w, given.tusEndpoint)).body.code).toBe('upload.cancelled');
    const { params } = (await w.request('POST', `/api/task/${given.task.id}/retry`)).body;
    const again = await begun(w, params.upload.tusEndpoint);
    expect((await patch(w, again, 0)).status).toBe(204);
  });

  it('that is cancelled and retried while the upload pauses goes on with it', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    for (const what of ['cancel', 'retry']) await w.request('POST', `/api/task/${given.task.id}/${what}`);
    // What it knew of the task is not so any more: it is told to ask again, and does.
    expect((await patch(w, url, 6)).status).toBe(423);
    expect(await offsetOf(w, url)).toEqual([200, '23']);
    expect(await statusOf(w, given)).toBe('ready');
  });

  it('is completed by whichever upload is first, by PUT too; the others are gone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const [one, two] = [await begun(w, given.tusEndpoint), await begun(w, given.tusEndpoint)];
    await patch(w, one, 0, { body: 'a film' });
    await patch(w, two, 0, { body: 'a' });
    expect((await w.app.handle(new Request(given.url, { method: 'PUT', body: film }))).status).toBe(200);
    expect((await patch(w, one, 6)).body.code).toBe('upload.accepted');
    expect((await head(w, one)).status).toBe(404);
    await w.advance('5m');
    expect((await patch(w, two, 1)).body.code).toBe('upload.not_found');
  });

  it('a deleted asset is 404, and its uploads are gone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await w.request('DELETE', `/api/asset/${given.asset.id}`);
    expect((await patch(w, url, 0)).body.code).toBe('asset.not_found');
    expect((await head(w, url)).status).toBe(404);
    expect((await create(w, given.tusEndpoint)).body.code).toBe('asset.not_found');
  });
});

describe('side by side', () => {
  it('a newer request ends the one before, whose connection may be dead', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint } = await asked();
    const url = await begun(w, tusEndpoint);
    const dead = halted('a film');
    const first = patch(w, url, 0, { body: dead.body });
    await dead.isRead;
    // HEAD too: what it tells must not grow behind its back.
    expect(await offsetOf(w, url)).toEqual([200, '6']);
    expect([(await first).status, (await first).body.code]).toEqual([400, 'upload.interrupted']);
    const second = halted(' of');
    const running = patch(w, url, 6, { body: second.body });
    await second.isRead;
    expect((await patch(w, url, 9)).status).toBe(204);
    expect((await running).body.code).toBe('upload.interrupted');
  });

  it('DELETE ends what comes', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const url = await begun(w, (await asked()).tusEndpoint);
    const slow = halted('a film');
    const first = patch(w, url, 0, { body: slow.body });
    await slow.isRead;
    expect((await send(w, 'DELETE', url)).status).toBe(204);
    expect((await first).body.code).toBe('upload.interrupted');
    expect((await head(w, url)).status).toBe(404);
  });

  it('a PUT and tus take the same places', async () => {
    const { w, asked } = await studio({ config: { assets: { uploadsPerAccount: 1 } } });
    await using _ = w;
    const [one, two] = [await asked(), await asked()];
    const slow = halted('a film');
    const first = patch(w, await begun(w, one.tusEndpoint), 0, { body: slow.body });
    await slow.isRead;
    const put = await w.app.handle(new Request(two.url, { method: 'PUT', body: film }));
    expect((await put.json()).code).toBe('upload.too_many');
    const url = await begun(w, two.tusEndpoint);
    expect((await patch(w, url, 0)).body.code).toBe('upload.too_many');
    expect(await phaseOf(w, two)).toBe('waiting');
    slow.close();
    expect((await first).status).toBe(204);
    expect((await patch(w, url, 0)).status).toBe(204);
  });

  it('an asset has four: the next one ends the first that nobody writes to', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint } = await asked();
    const urls: string[] = [];
    for (let n = 0; n < 4; n += 1) urls.push(await begun(w, tusEndpoint));
    const all = urls.map(() => halted('a film'));
    const first = patch(w, urls[0], 0, { body: all[0].body });
    await all[0].isRead;
    urls.push(await begun(w, tusEndpoint));
    expect(await Promise.all(urls.slice(1).map(async (url) => (await head(w, url)).status))).toEqual([
      404, 200, 200, 200,
    ]);
    const running = [2, 3, 4].map((n, at) => patch(w, urls[n], 0, { body: all[at + 1].body }));
    await Promise.all(all.map(({ isRead }) => isRead));
    expect((await create(w, tusEndpoint)).body.code).toBe('upload.busy');
    for (const { close } of all) close();
    expect((await Promise.all([first, ...running])).map(({ status }) => status)).toEqual([
      204, 204, 204, 204,
    ]);
  });

  it('an asset has four, also of those that are created at the same moment', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint: endpoint } = await asked();
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(film.length) };
    const created = await Promise.all(
      Array.from({ length: 40 }, async () =>
        w.app.handle(new Request(endpoint, { method: 'POST', headers })),
      ),
    );
    const urls = created.flatMap((answer) => answer.headers.get('location') ?? []);
    const there = await Promise.all(urls.map(async (url) => (await head(w, url)).status === 200));
    expect(there.filter(Boolean)).toHaveLength(4);
  });

  it('an account has a hundred on a node', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    for (let n = 0; n < 25; n += 1) {
      const { tusEndpoint } = await asked();
      await Promise.all([1, 2, 3, 4].map(() => begun(w, tusEndpoint)));
    }
    const { tusEndpoint } = await asked();
    expect((await create(w, tusEndpoint)).body.code).toBe('upload.too_many');
  });
});

describe('a process that dies', () => {
  it('leaves an upload that goes on, and a task that waits', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    await w.crash({ downFor: '5s' });
    expect(await phaseOf(w, given)).toBe('waiting');
    expect(await offsetOf(w, url)).toEqual([200, '6']);
    expect((await patch(w, url, 6)).status).toBe(204);
    expect([await statusOf(w, given), await phaseOf(w, given)]).toEqual(['ready', 'completed']);
  });

  it('after the last byte: the next one makes the asset of it, without the client', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    // It dies when all is there and nobody has looked into it: the store is gone in the middle.
    const slow = halted(film);
    const lost = patch(w, url, 0, { body: slow.body }).catch(() => {});
    await slow.isRead;
    await w.crash({ downFor: '5s' });
    slow.breakOff();
    await lost;
    // Beyond the check that is due after 5 min, so that what it begins is also done.
    await w.advance('6m');
    expect([await statusOf(w, given), await phaseOf(w, given)]).toEqual(['ready', 'completed']);
    expect(await offsetOf(w, url)).toEqual([200, '23']);
  });
});

describe('several nodes', () => {
  async function nodes() {
    const f = await fleet({ plugins: shipped });
    const [a, b] = [await f.start('a'), await f.start('b')];
    const host = (node: typeof a): Host => ({ app: node.booted.app, settle: f.settle });
    const { body } = await a.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
    const { tusEndpoint, asset } = body as { tusEndpoint: string; asset: { id: string } };
    const statusOf = async () => (await a.request('GET', `/api/asset/${asset.id}`)).body.status;
    return { f, a, b, onA: host(a), onB: host(b), tusEndpoint, statusOf };
  }

  it('hand requests on to the one that has the upload', async () => {
    const { f, onA, onB, tusEndpoint, statusOf } = await nodes();
    await using _ = f;
    const url = await begun(onB, tusEndpoint, { headers: { 'upload-metadata': 'a Zm9v' } });
    expect(url).toContain('node=b');
    const first = await patch(onA, url, 0, { body: 'a film' });
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '6']);
    const state = await head(onA, url);
    expect([state.status, state.headers.get('upload-length'), state.headers.get('upload-metadata')]).toEqual([
      ...[200, '23', 'a Zm9v'],
    ]);
    expect((await patch(onA, url, 0)).body.code).toBe('upload.wrong_offset');
    const slow = halted(' of');
    const running = patch(onA, url, 6, { body: slow.body, headers: { 'content-length': '5' } });
    await slow.isRead;
    slow.breakOff();
    expect((await running).status).toBeGreaterThanOrEqual(400);
    expect(await offsetOf(onB, url)).toEqual([200, '9']);
    expect((await patch(onA, url, 9, { body: halted('').body })).body.code).toBe('upload.length_required');
    expect((await patch(onA, url, 9)).status).toBe(204);
    expect(await statusOf()).toBe('ready');
    expect(await offsetOf(onA, url)).toEqual([200, '23']);
    const other = await create(onB, tusEndpoint);
    expect(other.body.code).toBe('upload.accepted');
  });

  it('hand on bodies larger than those of other routes may be', async () => {
    const { f, onA, onB, tusEndpoint } = await nodes();
    await using _ = f;
    const url = await begun(onB, tusEndpoint, { headers: { 'upload-length': '40000000' } });
    const slow = halted('a film');
    const headers = { 'content-length': '30000000' };
    const running = patch(onA, url, 0, { body: slow.body, headers });
    await slow.isRead;
    slow.breakOff();
    expect((await running).body.code).not.toBe('body.too_large');
    expect(await offsetOf(onA, url)).toEqual([200, '6']);
  });

  it('one that is gone is waited for, then clients begin anew', async () => {
    const { f, a, b, onA, tusEndpoint, statusOf } = await nodes();
    await using _ = f;
    const url = await begun({ app: b.booted.app, settle: f.settle }, tusEndpoint);
    await patch(onA, url, 0, { body: 'a film' });
    b.cut();
    const away = await patch(onA, url, 6);
    expect([away.status, away.body.code]).toEqual([503, 'node.unreachable']);
    expect((await head(onA, url)).status).toBe(423);
    await f.advance('30s');
    expect((await head(onA, url)).status).toBe(423);
    await f.advance('10m');
    expect((await head(onA, url)).status).toBe(404);
    expect((await patch(onA, url, 6)).body.code).toBe('upload.not_found');
    const again = await begun(onA, tusEndpoint);
    expect((await patch(onA, again, 0)).status).toBe(204);
    expect(await statusOf()).toBe('ready');
    expect(a.ended).toBe(undefined);
  });
});
