import { createHash } from 'node:crypto';
import { CarBlockIterator } from '@ipld/car/iterator';

/**
 * The bytes of the file that a CAR holds, as somebody gets them who trusts nobody: every block is hashed, and the file is put
 * together from its root by a reader of its own (dag-pb and UnixFS, as protobuf on the wire).
 */
export async function unpacked(car: Uint8Array): Promise<{ root: string; bytes: Buffer }> {
  const iterator = await CarBlockIterator.fromBytes(car);
  const [root, ...others] = await iterator.getRoots();
  if (!root || others.length > 0) throw new Error('expected one root');
  const blocks = new Map<string, Uint8Array>();
  for await (const { cid, bytes } of iterator) {
    const digest = createHash('sha256').update(bytes).digest();
    if (cid.multihash.code !== 0x12 || !digest.equals(cid.multihash.digest))
      throw new Error(`${cid} is the hash of something else`);
    blocks.set(Buffer.from(cid.multihash.digest).toString('hex'), bytes);
  }
  const file = (digest: Uint8Array, isRaw: boolean): Buffer => {
    const block = blocks.get(Buffer.from(digest).toString('hex'));
    if (!block) throw new Error('a block is missing');
    if (isRaw) return Buffer.from(block);
    const node = fields(block);
    const links = node.filter(({ number }) => number === 2).map(({ value }) => fields(value as Uint8Array));
    const data = fields(node.find(({ number }) => number === 1)?.value as Uint8Array);
    const own = data
      .filter(({ number }) => number === 2)
      .map(({ value }) => Buffer.from(value as Uint8Array));
    const linked = links.map((link) => {
      const hash = link.find(({ number }) => number === 1)?.value as Uint8Array;
      // CIDv1 of a raw block: 01 55 12 20 …; CIDv0 is the multihash alone.
      const isV1 = hash[0] === 1;
      return file(hash.subarray(isV1 ? 4 : 2), isV1 && hash[1] === 0x55);
    });
    return Buffer.concat([...own, ...linked]);
  };
  return { root: root.toString(), bytes: file(root.multihash.digest, root.code === 0x55) };
}

/** Fields of a protobuf message, in the order in which they are written: numbers, or bytes. */
function fields(message: Uint8Array): { number: number; value: number | Uint8Array }[] {
  const found: { number: number; value: number | Uint8Array }[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at];
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    if (tag % 8 === 0) found.push({ number: tag >> 3, value: varint() });
    else if (tag % 8 === 2) {
      const length = varint();
      found.push({ number: tag >> 3, value: message.subarray(at, at + length) });
      at += length;
    } else throw new Error(`wire type ${tag % 8}`);
  }
  return found;
}
