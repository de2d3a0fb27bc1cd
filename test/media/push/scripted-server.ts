import type { PushReason } from '../../../core/ports/pusher.ts';
import { copyBytes } from '../../../runtime/base/copy-bytes.ts';
import type { Framing, OpenPush, PushHandlers } from '../../../runtime/media/push/connection.ts';

/** A message as a server received it. */
export interface Received {
  readonly type: number;
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** Servers that are told what to do, by URL, and everything that was ever opened to them. */
export class ScriptedServers {
  readonly attempts: Attempt[] = [];
  /** What becomes of an attempt in the turn after it. Undefined: nothing. */
  answer: (attempt: Attempt) => void = (attempt) => attempt.accept();
  /** Called in `OpenPush`; may throw. */
  onOpen: () => void = () => {};

  readonly open: OpenPush = (url, handlers) => {
    this.onOpen();
    const attempt = new Attempt(url, handlers);
    this.attempts.push(attempt);
    queueMicrotask(() => {
      if (!attempt.isOver) this.answer(attempt);
    });
    return { abort: () => attempt.end('aborted') };
  };

  to(url: string): Attempt[] {
    return this.attempts.filter((attempt) => attempt.url === url);
  }

  /** The newest attempt to a URL. */
  last(url: string): Attempt {
    const attempt = this.to(url).at(-1);
    if (attempt === undefined) throw new Error(`nobody connected to ${url}`);
    return attempt;
  }
}

/** One connection, seen from its server. */
export class Attempt {
  readonly url: string;
  readonly #handlers: PushHandlers;
  readonly #bytes: Uint8Array[] = [];
  /** Bytes it takes before it takes no more. */
  room = Number.POSITIVE_INFINITY;
  writes = 0;
  received = 0;
  isOpen = false;
  /** How it ended for us. */
  how: 'aborted' | 'left' | 'broken' | undefined;
  #isBlocked = false;
  onWrite: () => void = () => {};

  constructor(url: string, handlers: PushHandlers) {
    this.url = url;
    this.#handlers = handlers;
  }

  get isOver(): boolean {
    return this.how !== undefined;
  }

  accept(options: { isAccepted?: false } = {}): void {
    this.isOpen = true;
    this.#handlers.onOpen({
      ...options,
      framing,
      write: (bytes) => this.#write(bytes),
      leave: () => this.end('left'),
    });
  }

  sayYes(): void {
    this.#handlers.onAccepted?.();
  }

  refuse(reason: PushReason = 'rejected'): void {
    this.end('broken');
    this.#handlers.onEnd({ reason, message: `It is ${reason}.` });
  }

  /** Takes no byte any more, or only so many. */
  stall(room = 0): void {
    this.room = room;
  }

  /** Takes so many bytes more, and says so. */
  drain(room = Number.POSITIVE_INFINITY): void {
    this.room = room;
    if (!this.#isBlocked || this.isOver) return;
    this.#isBlocked = false;
    this.#handlers.onDrain();
  }

  end(how: 'aborted' | 'left' | 'broken'): void {
    if (this.how !== undefined) throw new Error(`it is ${how}, and was ${this.how} before`);
    if (how === 'left') this.messages();
    this.how = how;
  }

  #write(bytes: Uint8Array): number {
    if (this.isOver) throw new Error('it is written to after its end');
    if (this.#isBlocked) throw new Error('it is written to before it has drained');
    if (bytes.length === 0) throw new Error('nothing is written');
    this.writes += 1;
    this.onWrite();
    const taken = Math.min(bytes.length, this.room);
    this.room -= taken;
    this.received += taken;
    if (taken > 0) this.#bytes.push(bytes.slice(0, taken));
    if (taken < bytes.length) this.#isBlocked = true;
    return taken;
  }

  /** All whole messages. Throws when what follows them is none, or, once it has left, cut short. */
  messages(options: { isCut?: boolean } = {}): Received[] {
    const bytes = Buffer.concat(this.#bytes);
    if (bytes.length < PREAMBLE.length) return [];
    if (!bytes.subarray(0, PREAMBLE.length).equals(PREAMBLE)) throw new Error('it does not begin as it must');
    const found: Received[] = [];
    let at = PREAMBLE.length;
    while (at + 13 <= bytes.length) {
      if (bytes.readUInt32BE(at) !== MAGIC) throw new Error(`no message begins at ${at}`);
      const end = at + 13 + bytes.readUInt32BE(at + 9);
      if (end > bytes.length) break;
      found.push({
        type: bytes[at + 4],
        timestamp: bytes.readUInt32BE(at + 5),
        body: bytes.subarray(at + 13, end),
      });
      at = end;
    }
    if (at !== bytes.length && !this.#isBlocked && options.isCut !== true)
      throw new Error('it ends within a message');
    return found;
  }
}

const MAGIC = 0xfeedbeef;
const PREAMBLE = Buffer.from('begin');

/** Four bytes by which a message is known, its type, time and length, and the body. */
const framing: Framing = {
  preamble: PREAMBLE,
  // More than it takes, as that of chunks.
  sizeOf: (length) => length + 30,
  write(out, at, type, timestamp, bytes, start, end) {
    const view = new DataView(out.buffer, out.byteOffset);
    view.setUint32(at, MAGIC);
    view.setUint8(at + 4, type);
    view.setUint32(at + 5, timestamp);
    view.setUint32(at + 9, end - start);
    copyBytes(bytes, start, out, at + 13, end - start);
    return at + 13 + end - start;
  },
};
