import { importFile } from 'ipfs-unixfs-importer';
import { fixedSize } from 'ipfs-unixfs-importer/chunker';
import { balanced } from 'ipfs-unixfs-importer/layout';
import { describe, expect, it } from 'vitest';
import { type BlockForm, leafOf } from '../../runtime/drivers/packer/block.ts';
import { type Cut, FileDag, packFile } from '../../runtime/drivers/packer/pack-file.ts';
import { tableBytes } from './cid-table.ts';
import { unpacked } from './unpack.ts';

/** In pieces of lengths that fit no chunk. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0, length = 1; at < bytes.length; at += length, length = (length * 7) % 97) {
    yield bytes.subarray(at, at + length);
    yield new Uint8Array();
  }
}

/** The CID, and the bytes of the CAR. */
async function packed(bytes: Uint8Array, cut: Cut) {
  const car: Uint8Array[] = [];
  const sink = {
    append: (piece: Uint8Array) => void car.push(piece.slice()),
    overwrite(head: Uint8Array) {
      expect(head.length).toBe(car[0].length);
      car[0] = head;
    },
  };
  const { cid } = await packFile(pieces(bytes), { profile: cut, sink });
  return { cid, car: new Uint8Array(Buffer.concat(car)) };
}

describe.each([
  { cidVersion: 1, isRaw: true },
  { cidVersion: 0, isRaw: false },
  { cidVersion: 1, isRaw: false },
] as const)('CIDv$cidVersion, raw leaves: $isRaw', (form) => {
  it.each([2, 3, 4])('is cut and joined as by the importer of JavaScript, %i links a node', async (links) => {
    for (let size = 0; size < 130; size += 1) {
      const cut: Cut = { ...form, chunk: 5, links };
      const bytes = tableBytes(size);
      const { cid } = await importFile({ content: [bytes] }, { put: async (one: unknown) => one } as never, {
        ...{ cidVersion: form.cidVersion, rawLeaves: form.isRaw },
        ...{ chunker: fixedSize({ chunkSize: 5 }), layout: balanced({ maxChildrenPerNode: links }) },
      });
      const ours = await packed(bytes, cut);
      expect([size, ours.cid]).toEqual([size, cid.toString()]);
      const inside = await unpacked(ours.car);
      expect([inside.root, inside.bytes.equals(bytes)]).toEqual([ours.cid, true]);
    }
  });
});

/** Zeros, of which each chunk is the same block: what `head -c SIZE /dev/zero | ipfs add` of Kubo 0.42.0 says. */
const zeros: [size: number, v1: string, v0: string][] = [
  [
    2 ** 31,
    'bafybeieyiwtflptdh35ga5rvsber2dzcbc7cikzfdwjmndjifuq42d6yhe',
    'QmTbKT35oQzKgR34LUHaPdtrFrphjxiQJLrz6QMyU4kQNC',
  ],
  [
    3 * 2 ** 30 + 1,
    'bafybeiekao4qgwiljdcy55nwzmq4ovkngty3rmkttj6nvykm55n2phrmpq',
    'QmbWdc43KXhKA8JVdtppqGPezQqbXEirWcjryZP4MnJpT3',
  ],
  [
    5 * 2 ** 30 + 1,
    'bafybeicurryntvuyioisxx5ksikkqyqzfyoeqbrtez7ex7vaqidxrsd3ca',
    'QmQTvYNqisEPWNhCHCbcoGLDUL62d9Z7VAjS7HoVuGGqDe',
  ],
];

it.each(zeros)('%i bytes, a size of more than 31 bits, have the CID that Kubo gives them', (size, v1, v0) => {
  const root = (form: BlockForm, { chunk, links }: { chunk: number; links: number }) => {
    const dag = new FileDag(form, { links, write() {} });
    const { node } = leafOf([new Uint8Array(chunk)], form);
    for (let at = chunk; at <= size; at += chunk) dag.add(node);
    if (size % chunk > 0) dag.add(leafOf([new Uint8Array(size % chunk)], form).node);
    return dag.end();
  };
  const newer = root({ cidVersion: 1, isRaw: true }, { chunk: 2 ** 20, links: 1024 });
  const older = root({ cidVersion: 0, isRaw: false }, { chunk: 2 ** 18, links: 174 });
  expect([newer.fileSize, newer.cid.toString()]).toEqual([size, v1]);
  expect([older.fileSize, older.cid.toString()]).toEqual([size, v0]);
});
