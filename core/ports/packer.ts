/**
 * Makes files of IPFS out of blobs: cut into blocks, hashed, and packed into one CAR (CARv1, https://ipld.io/specs/transport/car),
 * whose root is the CID of the file. Anybody can verify such a file block by block, and any IPFS node imports it (`ipfs dag
 * import`). Never on the thread that reads sockets; memory does not grow with the size of the file, but for as long as it
 * takes the disk of this node holds a copy: `<dataDir>/packing`.
 *
 * Faults: `packing.changed` (409: the blob is gone, or has another size than was said), `packing.full` (507: there is no room),
 * `packing.unavailable` (503: try again), those of the Blobs port. The reason of an aborted signal is thrown as it is. After
 * any of them no CAR is there, nor anything else.
 */
export interface Packer {
  /** Removes what a former process left. Called once, before the first file. */
  open(): Promise<void>;

  /** What is answered is a blob. The same bytes and profile are the same CID and blob, as often as they are packed. */
  pack(source: PackSource, options: PackOptions): Promise<PackedFile>;

  /** What runs is ended; later calls are Fault `packing.unavailable`. */
  close(): Promise<void>;
}

/** A blob and its size in bytes, or the bytes themselves. */
export type PackSource = { readonly key: string; readonly size: number } | { readonly bytes: Uint8Array };

export interface PackOptions {
  /** Where the CAR goes, with a slash at its end. */
  readonly folder: string;
  readonly profile: CidProfile;
  readonly signal: AbortSignal;
  /** 0..1, with each piece. */
  progress?(fraction: number): void;
}

/**
 * How a file is cut, and so which CID it has (IPIP-499). `unixfs-v1-2025`: CIDv1, chunks of 1 MiB that are blocks as they are,
 * 1024 links a node. `unixfs-v0-2015`: CIDv0, chunks of 256 KiB in dag-pb, 174 links a node. Both balanced, SHA-256.
 */
export type CidProfile = 'unixfs-v1-2025' | 'unixfs-v0-2015';

export interface PackedFile {
  /** Of the file: `bafy…` or `bafk…`, `Qm…` by the older profile. */
  readonly cid: string;
  /** The blob with the CAR: `<folder><CIDv1 in base32>.car`. */
  readonly key: string;
  /** Bytes of the CAR. */
  readonly size: number;
  readonly places: CarPlaces;
}

/** Where things lie in a CAR, in bytes. */
export interface CarPlaces {
  /** Its header begins the CAR, and ends here. */
  readonly header: number;
  /** The section of the root block, which is that and its length and CID in front. */
  readonly rootSection: BytePlace;
  readonly root: BytePlace;
  /** The file itself, where it is a single block. */
  readonly content?: BytePlace;
}

/** `to` is not part of it. */
export interface BytePlace {
  readonly from: number;
  readonly to: number;
}
