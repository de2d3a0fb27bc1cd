import { blockSize, dataAt, firstState, md5Kernel } from './kernel.ts';
import { fourWords, oneWord, type Words } from './words.ts';

/** The MD5 of a message, as far as it was told in whole blocks. */
export class Md5State {
  /** The four words of the state. */
  readonly words = Uint32Array.from(firstState);
  bytes = 0;
}

/** Takes blocks of messages in. One at a time is as fast as what Bun brings; eight take as long as three. */
export interface Md5 {
  /** Messages at one time. */
  readonly width: number;
  /** Where the bytes of a message are put; as many as `piece` for each. */
  room(message: number): Uint8Array;
  /** Takes in what lies in the rooms, `bytes` of each message, a multiple of 64. At most `width` states. */
  take(states: readonly Md5State[], bytes: number): void;
  /** In hex, with the bytes behind the last whole block. Nothing is added to the state afterwards. */
  digest(state: Md5State, rest: Uint8Array): string;
}

/** @param options.piece bytes, a multiple of 64 */
export function md5(options: { piece: number }): Md5 {
  return new Machine(oneWord, { ...options, groups: 1 });
}

/** Eight at a time; undefined where the processor has no vectors. */
export function md5OfEight(options: { piece: number }): Md5 | undefined {
  const { piece } = options;
  const isThere = WebAssembly.validate(md5Kernel(fourWords, { groups: 1, stride: piece }));
  return isThere ? new Machine(fourWords, { piece, groups: 2 }) : undefined;
}

class Machine implements Md5 {
  readonly width: number;
  readonly #lanes: number;
  readonly #piece: number;
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;
  readonly #run: (blocks: number) => void;

  constructor(words: Words, { piece, groups }: { piece: number; groups: number }) {
    this.#lanes = words.width;
    this.width = words.width * groups;
    this.#piece = piece;
    // A message may need a block more for its end than it has bytes.
    const size = dataAt + this.width * piece + 2 * blockSize;
    const memory = new WebAssembly.Memory({ initial: Math.ceil(size / wasmPage) });
    const module = new WebAssembly.Module(md5Kernel(words, { groups, stride: piece }));
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    this.#run = exports.run as (blocks: number) => void;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#words = new Uint32Array(memory.buffer);
  }

  room(message: number): Uint8Array {
    const at = dataAt + message * this.#piece;
    return this.#bytes.subarray(at, at + this.#piece);
  }

  take(states: readonly Md5State[], bytes: number): void {
    if (bytes === 0) return;
    states.forEach(({ words }, message) => {
      for (let n = 0; n < 4; n += 1) this.#words[this.#stateAt(message, n)] = words[n]!;
    });
    this.#run(bytes / blockSize);
    states.forEach((state, message) => {
      for (let n = 0; n < 4; n += 1) state.words[n] = this.#words[this.#stateAt(message, n)]!;
      state.bytes += bytes;
    });
  }

  digest(state: Md5State, rest: Uint8Array): string {
    const length = state.bytes + rest.length;
    // RFC 1321 §3.1 and 3.2: a bit that is set, zeros, and the number of bits.
    const size = rest.length + 9 <= blockSize ? blockSize : 2 * blockSize;
    const end = new Uint8Array(size);
    end.set(rest);
    end[rest.length] = 0x80;
    new DataView(end.buffer).setBigUint64(size - 8, BigInt(length) * 8n, true);
    this.#bytes.set(end, dataAt);
    this.take([state], size);
    return Buffer.from(state.words.buffer).toString('hex');
  }

  /** In words. */
  #stateAt(message: number, n: number): number {
    const group = Math.floor(message / this.#lanes);
    return (group * 4 + n) * this.#lanes + (message % this.#lanes);
  }
}

const wasmPage = 0x1_0000;
