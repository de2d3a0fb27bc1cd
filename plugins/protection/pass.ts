import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Audience } from './audience.ts';

/** Bytes of the signature of a pass: 128 bits. */
const macBytes = 16;
/** Bytes in front of what is there only sometimes. */
const headBytes = 42;
const version = 1;
/** Bytes that the restrictions of a token and a viewer's own token may take: every URI of a playlist carries them. */
export const maxExtra = 768;
/** Passes that are remembered, so that parts cost no signature. Each takes some 0.5 KB. */
const maxRemembered = 20_000;

/**
 * What the URIs of a playlist carry: short, bound to what is watched, and understood by every node. Nobody else can make one. It holds
 * no secret, but whoever has it may watch as its viewer does.
 */
export interface Pass {
  /**
   * The newest revocation that was known when it was made, `Revocations.latest`. Not a time of this node: clocks differ, and what is
   * known of revocations is a second old.
   */
  readonly known: number;
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** `policyDigest` of the policy that let it in. */
  readonly digest: string;
  /** Id of the signing key; empty without one. */
  readonly keyId: string;
  /** `viewerHash` of the viewer. */
  readonly viewer: string;
  readonly audience: readonly Audience[];
  /** The owner of the video watches: no webhook is asked. */
  readonly isOwner?: boolean;
  /** Of a token with `maxHeight`: the variants that are left, as bits. */
  readonly variants?: bigint;
  readonly extra?: PassExtra;
}

export interface PassExtra {
  readonly origins?: readonly string[];
  readonly allowNoOrigin?: boolean;
  readonly cidrs?: readonly string[];
  readonly countries?: readonly string[];
  /** What the viewer sent, for the webhook of the owner. */
  readonly token?: string;
}

const audienceBits: Readonly<Record<Audience, number>> = { playback: 1, download: 2, image: 4 };
const hasVariants = 8;
const hasExtra = 16;
const ofOwner = 32;

/** Makes and reads passes. */
export class Passes {
  readonly #key: Uint8Array;
  readonly #read = new Map<string, Pass>();

  /** @param key the same on all nodes */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** @param of what is watched: a pass opens nothing else */
  write(pass: Pass, of: string): string {
    const { audience, variants, extra, isOwner } = pass;
    const flags =
      audience.reduce((bits, one) => bits | audienceBits[one], 0) |
      (variants === undefined ? 0 : hasVariants) |
      (extra ? hasExtra : 0) |
      (isOwner ? ofOwner : 0);
    const head = Buffer.alloc(headBytes + (variants === undefined ? 0 : 8));
    head.writeUInt8(version, 0);
    head.writeUInt8(flags, 1);
    head.writeUIntBE(pass.known, 2, 6);
    head.writeUInt32BE(pass.expiresAt, 8);
    Buffer.from(pass.digest, 'base64url').copy(head, 12);
    Buffer.from(pass.keyId.replaceAll('-', ''), 'hex').copy(head, 18);
    Buffer.from(pass.viewer, 'base64url').copy(head, 34, 0, 8);
    if (variants !== undefined) head.writeBigUInt64BE(variants, headBytes);
    const body = Buffer.concat([head, Buffer.from(extra ? JSON.stringify(extra) : '')]);
    return Buffer.concat([body, this.#mac(body, of)]).toString('base64url');
  }

  /** Undefined for text that is no pass for this. Neither its time nor its policy is looked at. */
  read(text: string, of: string): Pass | undefined {
    const name = `${of}\n${text}`;
    const known = this.#read.get(name);
    if (known) return known;
    if (text.length > 2048 || !/^[\w-]+$/.test(text)) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    // One text for one pass: others would fill the memory.
    if (bytes.length < headBytes + macBytes || bytes.toString('base64url') !== text) return undefined;
    const body = bytes.subarray(0, -macBytes);
    if (!timingSafeEqual(this.#mac(body, of), bytes.subarray(-macBytes)) || body[0] !== version)
      return undefined;
    const pass = passIn(body);
    this.#read.set(name, pass);
    const [oldest = ''] = this.#read.keys();
    if (this.#read.size > maxRemembered) this.#read.delete(oldest);
    return pass;
  }

  #mac(body: Buffer, of: string): Buffer {
    return createHmac('sha256', this.#key).update(`${of}\n`).update(body).digest().subarray(0, macBytes);
  }
}

/** Of bytes that this program signed. */
function passIn(body: Buffer): Pass {
  const flags = body.readUInt8(1);
  const at = headBytes + (flags & hasVariants ? 8 : 0);
  const key = body.toString('hex', 18, 34);
  return {
    known: body.readUIntBE(2, 6),
    expiresAt: body.readUInt32BE(8),
    digest: body.toString('base64url', 12, 18),
    keyId: /^0+$/.test(key) ? '' : key.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    viewer: body.toString('base64url', 34, 42),
    audience: (Object.keys(audienceBits) as Audience[]).filter((one) => flags & audienceBits[one]),
    ...(flags & ofOwner && { isOwner: true }),
    ...(flags & hasVariants && { variants: body.readBigUInt64BE(headBytes) }),
    ...(flags & hasExtra && { extra: JSON.parse(body.toString('utf8', at)) as PassExtra }),
  };
}

/** 8 bytes that stand for a viewer, as base64url. */
export function viewerHash(viewer: string): string {
  return createHash('sha256').update(viewer).digest().subarray(0, 8).toString('base64url');
}
