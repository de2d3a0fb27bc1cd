import { describe, expect, it } from 'vitest';
import type { OutboundRequest, OutboundSource } from '../../../core/ports/outbound.ts';
import { videoBytes } from '../../kit/asset-maker.ts';
import { get, studio, url } from './kit.ts';

/** Reads what is sent to the end, and answers. */
const takes =
  (status: number, headers: Record<string, string> = {}) =>
  async (_: string, { body, onSent }: OutboundRequest) => {
    const pieces: Uint8Array[] = [];
    let sent = 0;
    for await (const piece of (body as OutboundSource).chunks()) {
      pieces.push(piece);
      sent += piece.length;
      onSent?.(sent);
    }
    taken.push(Buffer.concat(pieces));
    return { status, headers };
  };
const taken: Buffer[] = [];

describe('a task of an export', () => {
  it('is worked at: running, then completed with what came of it', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    taken.length = 0;
    w.outbound.answer('https://bucket.example', takes(201, { etag: '"abc"' }));
    const { id } = (await ask(await ready(), { custom: { url, headers: { 'x-a': 'b' } } })).body.task;
    const task = await get(w, `/api/task/${id}`);
    expect(task.status).toMatchObject({ phase: 'completed', progress: 1 });
    expect(task.output).toEqual({ export: { custom: { status: 201, etag: '"abc"' } } });
    expect(taken.map((bytes) => bytes.equals(videoBytes))).toEqual([true]);
    const [{ request }] = w.outbound.sent.filter((one) => one.url === url);
    expect(request).toMatchObject({ method: 'PUT', headers: { 'content-type': 'video/mp4', 'x-a': 'b' } });
    const phases = (await w.events()).flatMap(({ payload }) => payload.task?.status.phase ?? []);
    expect(phases).toEqual(['pending', 'waiting', 'running', 'completed']);
  });

  it('packs for IPFS beside the asset, which takes that with it', async () => {
    const { w, ready, ask } = await studio({
      config: { tasks: { ipfs: { gateway: 'https://g.example/' } } },
    });
    await using _ = w;
    const assetId = await ready();
    const { id } = (await ask(assetId, { ipfs: { erc1155Metadata: { image: 'ipfs://pic' } } })).body.task;
    const { status, output } = await get(w, `/api/task/${id}`);
    expect(status.phase).toBe('completed');
    const { videoFileCid: video, erc1155MetadataCid: json } = output.export.ipfs;
    expect(output.export.ipfs).toEqual({
      ...{ videoFileCid: video, erc1155MetadataCid: json, nftMetadataCid: json },
      ...{ videoFileUrl: `ipfs://${video}`, videoFileGatewayUrl: `https://g.example/ipfs/${video}` },
      ...{ erc1155MetadataUrl: `ipfs://${json}`, nftMetadataUrl: `ipfs://${json}` },
      erc1155MetadataGatewayUrl: `https://g.example/ipfs/${json}`,
      nftMetadataGatewayUrl: `https://g.example/ipfs/${json}`,
    });
    const cars = async () =>
      (await w.blobs.list(`assets/${assetId}/exports/`, { limit: 10 })).blobs.map(({ key }) => key);
    expect(await cars()).toHaveLength(2);
    expect(w.outbound.sent).toEqual([]);
    await w.request('DELETE', `/api/asset/${assetId}`);
    await w.settle();
    expect(await cars()).toEqual([]);
  });

  it('pins with the credentials of the caller, else with those of the deployment', async () => {
    const ipfs = { driver: 'pinning', endpoint: 'https://pin.example', jwt: 'token.of.deployment' };
    const { w, ready, ask } = await studio({ config: { tasks: { ipfs } } });
    await using _ = w;
    const cid = 'bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e';
    const body = Buffer.from(JSON.stringify({ IpfsHash: cid }));
    w.outbound.answer('https://pin.example/pinning/', async (url, given) => {
      if (typeof given.body === 'object') await takes(200)(url, given);
      return { body };
    });
    const asset = await ready();
    const pair = { apiKey: 'key-of-caller', apiSecret: 'secret-of-caller' };
    for (const asked of [{ ipfs: {} }, { ipfs: { pinning: { jwt: 'mine' } } }, { ipfs: { pinning: pair } }]) {
      const { id } = (await ask(asset, asked)).body.task;
      const { status, output } = await get(w, `/api/task/${id}`);
      expect([status, output.export.ipfs.videoFileCid]).toEqual([
        expect.objectContaining({ phase: 'completed' }),
        cid,
      ]);
    }
    const shown = w.outbound.sent.map(({ request: { headers = {} } }) => [
      headers.authorization ?? headers.pinning_api_key,
      headers.pinning_secret_api_key,
    ]);
    expect(shown).toEqual([
      ...Array(2).fill(['Bearer token.of.deployment', undefined]),
      ...Array(2).fill(['Bearer mine', undefined]),
      ...Array(2).fill(['key-of-caller', 'secret-of-caller']),
    ]);
    const told = JSON.stringify([await get(w, '/api/task'), await w.events(), w.lines]);
    for (const secret of ['token.of.deployment', 'secret-of-caller', 'key-of-caller'])
      expect(told).not.toContain(secret);
  });

  it('fails at once at a no, and is asked to try again by its owner', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    w.outbound.answer('https://bucket.example', takes(403));
    const { id } = (await ask(await ready(), { custom: { url } })).body.task;
    expect((await get(w, `/api/task/${id}`)).status).toMatchObject({
      ...{ phase: 'failed', errorMessage: 'The export was refused: bucket.example answered 403.' },
    });
    expect(w.outbound.sent).toHaveLength(1);
    w.outbound.answer('https://bucket.example', takes(200));
    await w.request('POST', `/api/task/${id}/retry`);
    await w.settle();
    const { status, output } = await get(w, `/api/task/${id}`);
    expect([status.phase, status.retries, output.export.custom.status]).toEqual(['completed', 1, 200]);
  });

  it('is tried again after trouble, when the other side wants it, and fails when there is no end to it', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    w.outbound.answer('https://bucket.example', takes(429, { 'retry-after': '600' }));
    const { id } = (await ask(await ready(), { custom: { url } })).body.task;
    const phase = async () => (await get(w, `/api/task/${id}`)).status.phase;
    await w.advance('9m');
    expect([w.outbound.sent.length, await phase()]).toEqual([1, 'waiting']);
    w.outbound.answer('https://bucket.example', takes(503));
    await w.advance('1m');
    expect(w.outbound.sent.length).toBeGreaterThan(1);
    await w.advance('1h');
    expect((await get(w, `/api/task/${id}`)).status).toMatchObject({
      ...{ phase: 'failed', errorMessage: expect.stringContaining('bucket.example answered 503.') },
    });
  });

  it('goes on after its process died in the midst', async () => {
    const { w, ready, ask } = await studio({ durable: true });
    await using _ = w;
    taken.length = 0;
    w.outbound.answer('https://bucket.example', (_, { signal }) => never(signal));
    const { id } = (await ask(await ready(), { custom: { url } })).body.task;
    expect((await get(w, `/api/task/${id}`)).status.phase).toBe('running');
    await w.crash({ downFor: '20s' });
    w.outbound.answer('https://bucket.example', takes(200));
    await w.advance('2m');
    expect((await get(w, `/api/task/${id}`)).status.phase).toBe('completed');
    expect(taken.map((bytes) => bytes.equals(videoBytes))).toEqual([true]);
  });

  it('ends with its asset, and no other does', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    // Nobody takes the file before it is deleted.
    w.outbound.answer('https://bucket.example', (_, { signal }) => never(signal));
    const [one, other] = [await ready(), await ready()];
    const [first, second, third] = [
      (await ask(one, { custom: { url } })).body.task.id,
      (await ask(one, { custom: { url } })).body.task.id,
      (await ask(other, { custom: { url } })).body.task.id,
    ];
    await w.request('DELETE', `/api/asset/${one}`);
    await w.settle();
    const phase = async (id: string) => (await get(w, `/api/task/${id}`)).status.phase;
    expect([await phase(first), await phase(second)]).toEqual(['cancelled', 'cancelled']);
    expect(await phase(third)).not.toBe('cancelled');
    const retried = await w.request('POST', `/api/task/${first}/retry`);
    expect([retried.status, retried.body]).toEqual([
      409,
      { code: 'task.not_possible', errors: ['The asset of this export was deleted.'] },
    ]);
    await w.request('POST', `/api/task/${third}/cancel`);
    expect(await phase(third)).toBe('cancelled');
    expect((await w.request('POST', `/api/task/${third}/retry`)).body.status.retries).toBe(1);
    await w.request('POST', `/api/task/${third}/cancel`);
  });
});

/** Until somebody gives it up. */
function never(signal: AbortSignal | undefined) {
  return new Promise<{ ok: false; reason: 'aborted'; message: string }>((resolve) => {
    const end = () => resolve({ ok: false, reason: 'aborted', message: 'given up' });
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end, { once: true });
  });
}
