import { describe, expect, it } from 'vitest';
import { kuboNode } from '../../kit/kubo-node.ts';
import { unpacked } from '../unpack.ts';
import { assetId, bytes, common, kuboAt, never, opened } from './kit.ts';

describe('nobody else', () => {
  it('gets it where it is packed beside the asset, as what a Kubo node would have called it', async () => {
    await using node = await kuboNode();
    using d = opened({ ...common, driver: 'local' });
    using k = opened(kuboAt(node.url));
    const { cid, told } = await d.add(bytes);
    expect(cid).toBe((await k.add(bytes)).cid);
    expect(told.at(-1)).toBe(1);
    const document = { name: 'A film', properties: { video: `ipfs://${cid}` } };
    const described = await d.driver.addJson(document, { name: 'a', signal: never });
    expect(described.cid).toBe((await k.driver.addJson(document, { name: 'a', signal: never })).cid);
    for (const [one, content] of [
      [cid, Buffer.from(bytes)],
      [described.cid, Buffer.from(JSON.stringify(document))],
    ] as const) {
      const car = await d.blobs.get(`assets/${assetId}/exports/${one}.car`);
      if (car.outcome !== 'ok') throw new Error(car.outcome);
      expect(await unpacked(await new Response(car.body).bytes())).toEqual({ root: one, bytes: content });
    }
    expect(d.driver.gatewayUrl(cid)).toBe(`https://video.example/ipfs/${cid}`);
  });
});
