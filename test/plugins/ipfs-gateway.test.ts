import { CarBlockIterator } from '@ipld/car/iterator';
import { importFile } from 'ipfs-unixfs-importer';
import { fixedSize } from 'ipfs-unixfs-importer/chunker';
import { balanced } from 'ipfs-unixfs-importer/layout';
import { base36 } from 'multiformats/bases/base36';
import { CID } from 'multiformats/cid';
import { sha256 } from 'multiformats/hashes/sha2';
import { describe, expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import { tableBytes } from '../ipfs/cid-table.ts';
import { unpacked } from '../ipfs/unpack.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import { world } from '../kit/world.ts';

const shipped = await allPlugins();
/** Of three blocks, and a root above them. */
const film = tableBytes(2_500_000);

interface IpfsOutput {
  readonly videoFileCid: string;
  readonly videoFileGatewayUrl: string;
  readonly erc1155MetadataCid: string;
}

/** A world in which assets of these bytes are exported by the driver `local`. */
async function studio(ipfs: Record<string, unknown> = {}) {
  const maker = assetMaker();
  const w = await world({ plugins: [...shipped, maker.plugin], config: { tasks: { ipfs } } });
  const account = (await w.given.stream()).userId as string;
  return {
    w,
    async exported(bytes: Uint8Array = film) {
      const id = uuid();
      await maker.assets.begin({ id, account, name: 'Film', source: { type: 'recording', sessionId: id } });
      const file = await storeFile(w.blobs, id);
      const video = { ...file.video, key: `assets/${id}/film.mp4`, size: bytes.length };
      await w.blobs.put(video.key, bytes);
      await maker.assets.ready(id, { ...file, video });
      await w.settle();
      const { body } = await w.request('POST', `/api/asset/${id}/export`, { body: { ipfs: {} } });
      await w.settle();
      const task = (await w.request('GET', `/api/task/${body.task.id}`)).body;
      return { id, ...(task.output.export.ipfs as IpfsOutput) };
    },
    async get(path: string, headers: Record<string, string> = {}, method = 'GET') {
      const answer = await w.app.handle(new Request(`http://localhost:8080${path}`, { method, headers }));
      const bytes = Buffer.from(await answer.arrayBuffer());
      return { status: answer.status, headers: answer.headers, bytes };
    },
  };
}

/** The CID that others give the same bytes. */
async function cidOf(bytes: Uint8Array): Promise<string> {
  const { cid } = await importFile({ content: [bytes] }, { put: async (one: unknown) => one } as never, {
    ...{ cidVersion: 1, rawLeaves: true },
    ...{ chunker: fixedSize({ chunkSize: 1_048_576 }), layout: balanced({ maxChildrenPerNode: 1024 }) },
  });
  return cid.toString();
}

const isBlockOf = async (cid: string, bytes: Uint8Array) =>
  Buffer.from((await sha256.digest(bytes)).digest).equals(CID.parse(cid).multihash.digest);

describe('/ipfs/{cid}', () => {
  it('is the link of an export, and the file: whole, in parts, and known again', async () => {
    const { w, exported, get } = await studio();
    await using _ = w;
    const { videoFileCid: cid, videoFileGatewayUrl } = await exported();
    expect(cid).toBe(await cidOf(film));
    expect(videoFileGatewayUrl).toBe(`http://localhost:8080/ipfs/${cid}`);
    const whole = await get(`/ipfs/${cid}`);
    expect(whole.status).toBe(200);
    expect(whole.bytes.equals(film)).toBe(true);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=29030400, immutable',
      'x-ipfs-path': `/ipfs/${cid}`,
      'x-ipfs-roots': cid,
      'access-control-allow-origin': '*',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'/),
      etag: `"${cid}"`,
    });
    const part = await get(`/ipfs/${cid}`, { range: 'bytes=1048570-1048579' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1048570-1048579/2500000']);
    expect(part.bytes.equals(film.subarray(1_048_570, 1_048_580))).toBe(true);
    expect((await get(`/ipfs/${cid}`, { 'if-none-match': `"${cid}"` })).status).toBe(304);
    const head = await get(`/ipfs/${cid}`, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, '2500000', 0]);
    // However it is written.
    expect((await get(`/ipfs/${CID.parse(cid).toString(base36)}`)).bytes.equals(film)).toBe(true);
    const saved = await get(`/ipfs/${cid}?download=true&filename=..%2F%22a%0d%0ab.html`);
    expect(saved.headers.get('content-disposition')).toMatch(/^attachment; filename="[^"/\r\n]*\.mp4"/);
  });

  it.each(['unixfs-v1-2025', 'unixfs-v0-2015'])('is verified by its blocks: %s', async (cidProfile) => {
    const { w, exported, get } = await studio({ cidProfile });
    await using _ = w;
    const { videoFileCid, erc1155MetadataCid } = await exported();
    for (const cid of [videoFileCid, erc1155MetadataCid]) {
      const car = await get(`/ipfs/${cid}?format=car`);
      expect(car.headers.get('content-type')).toBe('application/vnd.ipld.car; version=1; order=unk; dups=y');
      expect(car.headers.get('content-disposition')).toBe(`attachment; filename="${cid}.car"`);
      const inside = await unpacked(car.bytes);
      expect(inside.root).toBe(cid);
      // The same as the file as such.
      expect(inside.bytes.equals((await get(`/ipfs/${cid}`)).bytes)).toBe(true);
      for (const asked of [
        await get(`/ipfs/${cid}?format=raw`),
        await get(`/ipfs/${cid}`, { accept: 'application/vnd.ipld.raw' }),
      ]) {
        expect(asked.headers.get('content-type')).toBe('application/vnd.ipld.raw');
        expect(await isBlockOf(cid, asked.bytes)).toBe(true);
      }
      const root = await CarBlockIterator.fromBytes(
        (await get(`/ipfs/${cid}?format=car&dag-scope=block`)).bytes,
      );
      const blocks = [];
      for await (const block of root) blocks.push(block.cid.toString());
      expect(blocks).toEqual([cid]);
    }
    const document = JSON.parse((await get(`/ipfs/${erc1155MetadataCid}`)).bytes.toString());
    expect(document.animation_url).toBe(`ipfs://${videoFileCid}`);
  });

  it('is there as long as an asset that exported it', async () => {
    const { w, exported, get } = await studio();
    await using _ = w;
    const [one, other] = [await exported(), await exported()];
    expect(one.videoFileCid).toBe(other.videoFileCid);
    const there = async () => (await get(`/ipfs/${one.videoFileCid}`)).status;
    for (const [id, status] of [
      [one.id, 200],
      [other.id, 404],
    ] as const) {
      await w.request('DELETE', `/api/asset/${id}`);
      await w.settle();
      expect(await there()).toBe(status);
    }
    expect((await w.blobs.list('ipfs/', { limit: 10 })).blobs.map(({ key }) => key)).not.toContainEqual(
      expect.stringContaining(one.videoFileCid),
    );
  });

  it.each([
    ['/ipfs/bafkqaaa?format=raw', 200],
    ['/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku', 404],
    ['/ipfs/QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn', 404],
    ['/ipfs/nothing', 400],
    ['/ipfs/..%2f..%2fassets', 400],
    [`/ipfs/${'b'.repeat(1000)}`, 400],
    ['/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku?format=tar', 400],
    ['/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku?format=car&entity-bytes=5:9', 400],
    ['/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku/a/b', 404],
  ])('%s is %i', async (path, status) => {
    const { w, get } = await studio();
    await using _ = w;
    const answer = await get(path);
    expect(answer.status).toBe(status);
    // No example of ours is taken for a secret.
    expect(String(answer.bytes)).not.toContain('***');
  });

  it('is of a public gateway, or that of the config, where links say so', async () => {
    const { w, exported } = await studio({ gateway: 'https://g.example' });
    await using _ = w;
    const { videoFileCid, videoFileGatewayUrl } = await exported();
    expect(videoFileGatewayUrl).toBe(`https://g.example/ipfs/${videoFileCid}`);
  });
});
