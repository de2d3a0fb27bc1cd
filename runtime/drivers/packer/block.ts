import { createHash } from 'node:crypto';
import { varint } from 'multiformats';
import { CID } from 'multiformats/cid';
import { create } from 'multiformats/hashes/digest';

/** A block in pieces, which are not put together: a chunk stays where it was read. */
export interface Block {
  readonly cid: CID;
  readonly pieces: readonly Uint8Array[];
}

/** A block of the file, and what is below it. */
export interface FileNode {
  readonly cid: CID;
  /** Bytes of the file. */
  readonly fileSize: number;
  /** Bytes of the block and all below it: `Tsize` of a link. */
  readonly treeSize: number;
}

/** How the blocks of a file look. */
export interface BlockForm {
  readonly cidVersion: 0 | 1;
  /** Chunks are blocks as they are. */
  readonly isRaw: boolean;
}

/** A chunk of the file. */
export function leafOf(chunk: readonly Uint8Array[], form: BlockForm): { node: FileNode; block: Block } {
  const fileSize = lengthOf(chunk);
  const pieces = form.isRaw ? chunk : dagPb([], { data: chunk, fileSize, blockSizes: [] });
  const cid = form.isRaw ? CID.createV1(codec.raw, digestOf(pieces)) : cidOf(pieces, form);
  return { node: { cid, fileSize, treeSize: lengthOf(pieces) }, block: { cid, pieces } };
}

/** A node above others. */
export function nodeOf(children: readonly FileNode[], form: BlockForm): { node: FileNode; block: Block } {
  const blockSizes = children.map((child) => child.fileSize);
  const fileSize = blockSizes.reduce((sum, size) => sum + size, 0);
  const pieces = dagPb(children, { data: [], fileSize, blockSizes });
  const cid = cidOf(pieces, form);
  const treeSize = children.reduce((sum, child) => sum + child.treeSize, lengthOf(pieces));
  return { node: { cid, fileSize, treeSize }, block: { cid, pieces } };
}

/**
 * `PBNode` (https://ipld.io/specs/codecs/dag-pb/spec): links, then as its data a `File` of UnixFS (https://specs.ipfs.tech/unixfs).
 * Written here, not by a library: those there are write sizes of 2 to 4 GiB as less than they are, with bytes of nothing
 * behind (protons-runtime 7.1.2: a 32-bit number with its sign).
 */
function dagPb(links: readonly FileNode[], file: UnixfsFile): Uint8Array[] {
  const { data, fileSize, blockSizes } = file;
  const length = lengthOf(data);
  const before = [...[field.type, typeFile], ...(length > 0 ? [field.data, ...varintOf(length)] : [])];
  const after = [
    ...[field.fileSize, ...varintOf(fileSize)],
    ...blockSizes.flatMap((size) => [field.blockSize, ...varintOf(size)]),
  ];
  const whole = before.length + length + after.length;
  const head = [...links.flatMap(linkOf), field.nodeData, ...varintOf(whole), ...before];
  return [Uint8Array.from(head), ...data, Uint8Array.from(after)];
}

interface UnixfsFile {
  readonly data: readonly Uint8Array[];
  readonly fileSize: number;
  readonly blockSizes: readonly number[];
}

/** `PBLink {Hash, Name: "", Tsize}`. */
function linkOf({ cid, treeSize }: FileNode): number[] {
  const { bytes } = cid;
  const link = [
    field.hash,
    ...varintOf(bytes.length),
    ...bytes,
    field.name,
    0,
    field.treeSize,
    ...varintOf(treeSize),
  ];
  return [field.link, ...varintOf(link.length), ...link];
}

/** Tags of protobuf: the number of the field · 8, + 2 where a length follows. */
const field = {
  ...{ link: 0x12, nodeData: 0x0a },
  ...{ hash: 0x0a, name: 0x12, treeSize: 0x18 },
  ...{ type: 0x08, data: 0x12, fileSize: 0x18, blockSize: 0x20 },
};
const typeFile = 0x02;

/** Multicodec table, https://github.com/multiformats/multicodec. */
export const codec = { sha256: 0x12, raw: 0x55, dagPb: 0x70 };

function cidOf(pieces: readonly Uint8Array[], { cidVersion }: BlockForm): CID {
  return CID.create(cidVersion, codec.dagPb, digestOf(pieces));
}

function digestOf(pieces: readonly Uint8Array[]) {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return create(codec.sha256, hash.digest());
}

/** A varint. */
export function varintOf(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)));
}

export function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
