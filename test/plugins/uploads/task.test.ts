import { describe, expect, it } from 'vitest';
import { anotherAccount } from '../../kit/all-plugins.ts';
import type { World } from '../../kit/world.ts';
import { blobsOf, get, halted, put, studio } from './kit.ts';

describe('the URL', () => {
  it('is for one object, as it was given', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const [{ url, asset }, other] = [await asked(), await asked()];
    const expires = Number(new URL(url).searchParams.get('expires'));
    for (const wrong of [
      url.replace(asset.id, other.asset.id),
      url.replace(`expires=${expires}`, `expires=${expires + 1}`),
      url.replace(/signature=./, (text) => (text.endsWith('A') ? 'signature=B' : 'signature=A')),
      url.replace(/&signature=.*/, ''),
      url.replace(/\?.*/, ''),
      `${url.replace(/signature=.*/, 'signature=')}`,
      url.replace(asset.id, '..%2f..%2fetc%2fpasswd'),
    ]) {
      expect((await put(w, wrong)).body.code, wrong).toBe('upload.altered');
    }
    expect((await put(w, url)).status).toBe(200);
  });

  it('expires after 12 h; then task and asset fail', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    await w.advance('11h');
    expect((await put(w, url, { body: 'busy' })).status).toBe(503);
    await w.advance('1h');
    expect((await put(w, url)).body.code).toBe('upload.expired');
    const message = 'No file came before the upload URL expired.';
    expect((await get(w, `/api/task/${task.id}`)).status).toMatchObject({
      phase: 'failed',
      errorMessage: message,
    });
    expect(await get(w, `/api/asset/${asset.id}`)).toMatchObject({
      status: 'failed',
      statusMessage: message,
    });
  });

  it('may be used by pages of every origin', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    const answer = await w.app.handle(
      new Request(url, {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
      }),
    );
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(answer.headers.get('access-control-allow-methods')).toContain('PUT');
  });

  it('works after a restart', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const { url } = await asked();
    await w.crash({ downFor: '1m' });
    expect((await put(w, url)).status).toBe(200);
  });
});

describe('a process that dies', () => {
  it('in the middle of an upload leaves a task that waits', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const { url, asset, task } = await asked();
    const slow = halted();
    const lost = put(w, url, { body: slow.body }).catch(() => {});
    await slow.isRead;
    await w.crash({ downFor: '5s' });
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('waiting');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    slow.breakOff();
    await lost;
    expect((await put(w, url)).status).toBe(200);
  });
});

describe('a task of an upload', () => {
  const post = (w: World, id: string, what: string) => w.request('POST', `/api/task/${id}/${what}`);

  it('is cancelled: the asset fails, and nothing is taken until it is retried', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    expect((await post(w, task.id, 'cancel')).body.status.phase).toBe('cancelled');
    expect(await get(w, `/api/asset/${asset.id}`)).toMatchObject({
      ...{ status: 'failed', statusMessage: 'The upload was cancelled.' },
    });
    expect((await put(w, url)).body.code).toBe('upload.cancelled');
    const again = await post(w, task.id, 'cancel');
    expect([again.status, again.body.code]).toEqual([409, 'task.not_possible']);
    const retried = (await post(w, task.id, 'retry')).body;
    expect(retried.status).toMatchObject({ phase: 'pending', progress: 0, retries: 1 });
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect((await put(w, retried.params.upload.url)).status).toBe(200);
  });

  it('is cancelled while its file comes: that ends, and the asset is not made', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const slow = halted();
    const late = put(w, url, { body: slow.body });
    await slow.isRead;
    await post(w, task.id, 'cancel');
    slow.goOn();
    expect((await late).body.code).toBe('upload.cancelled');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('failed');
    expect(await blobsOf(w, asset.id)).toEqual([]);
  });

  it('is retried with a new URL when it expired; nobody else is shown that', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    await w.advance('13h');
    const retried = (await post(w, task.id, 'retry')).body;
    expect(retried.params.upload.url).not.toBe(url);
    expect(await get(w, `/api/task/${task.id}`)).not.toHaveProperty('params');
    expect(JSON.stringify(await w.events())).not.toContain('signature');
    expect((await put(w, url)).body.code).toBe('upload.expired');
    expect((await put(w, retried.params.upload.url)).status).toBe(200);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('ready');
  });

  it('is not retried or cancelled when it is completed, or its asset is gone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const one = await asked();
    await put(w, one.url);
    for (const what of ['retry', 'cancel']) expect((await post(w, one.task.id, what)).status).toBe(409);
    const two = await asked();
    await w.request('DELETE', `/api/asset/${two.asset.id}`);
    expect((await get(w, `/api/task/${two.task.id}`)).status.phase).toBe('cancelled');
    expect((await post(w, two.task.id, 'retry')).body.code).toBe('task.not_possible');
  });

  it('is listed newest first, by type and name, for its account alone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const first = await asked({ name: 'A' });
    await w.advance('1s');
    const second = await asked({ name: 'B' });
    const ids = async (query: string) =>
      (await get(w, `/api/task${query}`)).map(({ id }: { id: string }) => id);
    expect(await ids('')).toEqual([second.task.id, first.task.id]);
    expect(await ids('?name=asc')).toEqual([first.task.id, second.task.id]);
    expect(
      await ids(
        `?filters=${encodeURIComponent('[{"id":"outputAssetId","value":"')}${first.asset.id}${encodeURIComponent('"}]')}`,
      ),
    ).toEqual([first.task.id]);
    const inPhase = (phase: string) =>
      ids(`?filters=${encodeURIComponent(JSON.stringify([{ id: 'phase', value: phase }]))}`);
    await post(w, first.task.id, 'cancel');
    expect([await inPhase('cancelled'), await inPhase('pending')]).toEqual([
      ...[[first.task.id], [second.task.id]],
    ]);
    const other = await anotherAccount(w);
    expect((await w.request('GET', '/api/task', { key: other.key })).body).toEqual([]);
    expect((await w.request('GET', `/api/task/${first.task.id}`, { key: other.key })).status).toBe(404);
  });

  it('is forgotten a while after its end; the asset stays', async () => {
    const { w, asked } = await studio({ config: { tasks: { keptFor: '1h' } } });
    await using _ = w;
    const { url, asset, task } = await asked();
    await put(w, url);
    await w.advance('29m');
    expect((await w.request('GET', `/api/task/${task.id}`)).status).toBe(200);
    await w.advance('31m');
    expect((await w.request('GET', `/api/task/${task.id}`)).status).toBe(404);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('ready');
  });
});
