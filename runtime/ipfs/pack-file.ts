import { createWriter, headerLength } from '@ipld/car/buffer-writer';
import { type ImportResult, importFile } from 'ipfs-unixfs-importer';
import { varint } from 'multiformats';
import { CID } from 'multiformats/cid';
import { create } from 'multiformats/hashes/digest';
import type { CidProfile } from '../../core/ports/packer.ts';

/** Where a CAR is written. */
export interface CarSink {
  append(bytes: Uint8Array): void;
  /** Writes over what was appended first. */
  overwrite(bytes: Uint8Array): void;
}

/**
 * Packs a file into a CAR (CARv1): its blocks in the order in which they are made, the root last. A block that the file has
 * twice is there twice. The header, which comes first, names the root: it is written with a CID of nothing, of the same length,
 * and set right at the end. What breaks off is no CAR of anything.
 */
export async function packFile(
  content: AsyncIterable<Uint8Array>,
  { profile, sink }: { readonly profile: CidProfile; readonly sink: CarSink },
): Promise<{ readonly cid: string; readonly name: string }> {
  sink.append(headerOf(placeholders[profile]));
  const blocks = {
    async put(cid: CID, bytes: Uint8Array): Promise<CID> {
      const length = cid.byteLength + bytes.byteLength;
      const head = new Uint8Array(varint.encodingLength(length) + cid.byteLength);
      varint.encodeTo(length, head);
      head.set(cid.bytes, head.length - cid.byteLength);
      sink.append(head);
      sink.append(bytes);
      return cid;
    },
  };
  // One at a time: hashing and writing do not wait for anything, so more would be memory for nothing.
  const options = { profile, blockWriteConcurrency: 1 };
  const { cid }: ImportResult = await importFile({ content }, blocks as never, options);
  sink.overwrite(headerOf(cid));
  return { cid: cid.toString(), name: cid.toV1().toString() };
}

/** `{roots: [root], version: 1}` in DAG-CBOR behind its length. */
function headerOf(root: CID): Uint8Array {
  const roots = [root];
  return createWriter(new ArrayBuffer(headerLength({ roots })), { roots }).close();
}

const sha256 = 0x12;
const dagPb = 0x70;
const nothing = create(sha256, new Uint8Array(0x20));

/** As long as any root of the profile. */
const placeholders: Readonly<Record<CidProfile, CID>> = {
  'unixfs-v1-2025': CID.create(1, dagPb, nothing),
  'unixfs-v0-2015': CID.create(0, dagPb, nothing),
};
