import { createWriter, headerLength } from '@ipld/car/buffer-writer';
import { CID } from 'multiformats/cid';
import { create } from 'multiformats/hashes/digest';
import type { CarPlaces, CidProfile } from '../../../core/ports/packer.ts';
import {
  type Block,
  type BlockForm,
  codec,
  type FileNode,
  leafOf,
  lengthOf,
  nodeOf,
  varintOf,
} from './block.ts';

/** Where a CAR is written. */
export interface CarSink {
  append(bytes: Uint8Array): void;
  /** Writes over what was appended first. */
  overwrite(bytes: Uint8Array): void;
}

/** How a file is cut: a profile, or in tests something smaller. */
export interface Cut extends BlockForm {
  /** Bytes of a chunk. */
  readonly chunk: number;
  /** Of a node, at most. */
  readonly links: number;
}

/**
 * Packs a file into a CAR (CARv1): its blocks in the order in which they are made, the root last. A block that the file has
 * twice is there twice. The header, which comes first, names the root: it is written with a CID of nothing, of the same length,
 * and set right at the end. What breaks off is no CAR of anything.
 */
export async function packFile(
  content: AsyncIterable<Uint8Array>,
  { profile, sink }: { readonly profile: CidProfile | Cut; readonly sink: CarSink },
): Promise<{ readonly cid: string; readonly name: string; readonly places: CarPlaces }> {
  const cut = typeof profile === 'string' ? cuts[profile] : profile;
  let at = 0;
  let last: Pick<CarPlaces, 'rootSection' | 'root'> | undefined;
  const append = (bytes: Uint8Array) => {
    sink.append(bytes);
    at += bytes.byteLength;
  };
  const write = ({ cid, pieces }: Block) => {
    const section = at;
    append(varintOf(cid.byteLength + lengthOf(pieces)));
    append(cid.bytes);
    const from = at;
    for (const piece of pieces) append(piece);
    last = { rootSection: { from: section, to: at }, root: { from, to: at } };
  };
  const dag = new FileDag(cut, { links: cut.links, write });
  append(headerOf(CID.create(cut.cidVersion, codec.dagPb, nothing)));
  const header = at;
  let leaf: { from: number; to: number } | undefined;
  let leaves = 0;
  for await (const chunk of chunksOf(content, cut.chunk)) {
    const { node, block } = leafOf(chunk, cut);
    write(block);
    dag.add(node);
    leaves += 1;
    const end = at - (cut.isRaw ? 0 : (block.pieces.at(-1)?.byteLength ?? 0));
    leaf = { from: end - node.fileSize, to: end };
  }
  const { cid } = dag.end();
  sink.overwrite(headerOf(cid));
  if (!last) throw new Error('a CAR has a block');
  const places = { header, ...last, ...(leaves === 1 && leaf && { content: leaf }) };
  return { cid: cid.toString(), name: cid.toV1().toString(), places };
}

/** IPIP-499. */
const cuts: Readonly<Record<CidProfile, Cut>> = {
  'unixfs-v1-2025': { cidVersion: 1, isRaw: true, chunk: 1_048_576, links: 1024 },
  'unixfs-v0-2015': { cidVersion: 0, isRaw: false, chunk: 262_144, links: 174 },
};

/** Chunks in pieces, as they were read. All but the last have `size` bytes; an empty file is an empty chunk. */
async function* chunksOf(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array[]> {
  let chunk: Uint8Array[] = [];
  let length = 0;
  let isEmpty = true;
  for await (const piece of content) {
    for (let at = 0; at < piece.byteLength; ) {
      const part = piece.subarray(at, at + size - length);
      chunk.push(part);
      at += part.byteLength;
      length += part.byteLength;
      if (length < size) continue;
      yield chunk;
      isEmpty = false;
      chunk = [];
      length = 0;
    }
  }
  if (length > 0 || isEmpty) yield chunk;
}

/** `{roots: [root], version: 1}` in DAG-CBOR behind its length. */
function headerOf(root: CID): Uint8Array {
  const roots = [root];
  return createWriter(new ArrayBuffer(headerLength({ roots })), { roots }).close();
}

const nothing = create(codec.sha256, new Uint8Array(32));

/**
 * The nodes above the leaves of a file, balanced: each has as many links as it may, but the last of its level, and every leaf is
 * equally deep. Memory: the links of one unfinished node for each level.
 */
export class FileDag {
  readonly #form: BlockForm;
  readonly #links: number;
  readonly #write: (block: Block) => void;
  /** Of each level, from the leaves up, those that have no parent yet. */
  readonly #levels: FileNode[][] = [];

  /** @param options.links of a node, at most */
  constructor(form: BlockForm, options: { links: number; write: (block: Block) => void }) {
    this.#form = form;
    this.#links = options.links;
    this.#write = options.write;
  }

  /** Leaves, in their order. */
  add(leaf: FileNode): void {
    this.#put(leaf, 0);
  }

  /** The root: of one leaf it is the leaf. */
  end(): FileNode {
    for (let level = 0; ; level += 1) {
      const nodes = this.#levels[level] ?? [];
      if (level + 1 >= this.#levels.length && nodes.length === 1) return nodes[0];
      if (nodes.length > 0) this.#join(level);
    }
  }

  #put(node: FileNode, level: number): void {
    this.#levels[level] ??= [];
    this.#levels[level].push(node);
    if (this.#levels[level].length === this.#links) this.#join(level);
  }

  #join(level: number): void {
    const { node, block } = nodeOf(this.#levels[level], this.#form);
    this.#levels[level] = [];
    this.#write(block);
    this.#put(node, level + 1);
  }
}
