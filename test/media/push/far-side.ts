import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type AmfValue, encodeAmf0, readAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { writeMessage } from '../../../runtime/media/rtmp/message-writer.ts';

/** What a publisher waits for, in its order. */
export const steps = ['accept', 'handshake', 'connect', 'createStream', 'publish'] as const;
export type Step = (typeof steps)[number];

/** Does what it was told at a step, in place of the right answer. */
export type Whim = (visit: Visit) => void;

/** An RTMP server of a test: it reads strictly what RTMP 1.0 says and answers right but where a whim is given. */
export async function farSide(options: FarSideOptions = {}) {
  const { host = '127.0.0.1', whims = {}, tls } = options;
  const visits: Visit[] = [];
  const accept = (socket: Socket) => {
    const visit = new Visit(socket, { whims, chunkSize: options.chunkSize ?? 128 });
    visits.push(visit);
    visit.step('accept', () => {});
  };
  const server = tls ? createTlsServer(tls, accept) : createServer(accept);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    visits,
    url: (rest = 'live/secret-key', name = host.includes(':') ? `[${host}]` : host) =>
      `rtmp${tls ? 's' : ''}://${name}:${port}/${rest}`,
    async [Symbol.asyncDispose]() {
      for (const { socket } of visits) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface FarSideOptions {
  readonly host?: string;
  readonly whims?: Partial<Record<Step, Whim>>;
  /** Of what it sends; told to the publisher when it is not 128. */
  readonly chunkSize?: number;
  readonly tls?: { cert: string; key: string };
}

export interface Heard {
  readonly type: number;
  readonly streamId: number;
  readonly chunkStream: number;
  readonly timestamp: number;
  readonly body: Buffer;
}

/** One connection to it. */
export class Visit {
  readonly socket: Socket;
  readonly commands: AmfValue[][] = [];
  /** Audio, video and data. */
  readonly media: Heard[] = [];
  /** All else but commands. */
  readonly controls: Heard[] = [];
  /** What broke the rules, if anything. */
  wrong: string | undefined;
  /** The publisher sends no more. */
  hasEnded = false;
  /** The connection was reset. */
  wasReset = false;
  isClosed = false;
  readonly #whims: Partial<Record<Step, Whim>>;
  readonly #partial = new Map<number, Heard & { received: number; isExtended: boolean }>();
  #chunkSize: number;
  #theirChunkSize = 128;
  #inbox: Buffer = Buffer.alloc(0);
  #shaken = 0;

  constructor(socket: Socket, options: { whims: Partial<Record<Step, Whim>>; chunkSize: number }) {
    this.socket = socket;
    this.#whims = options.whims;
    this.#chunkSize = options.chunkSize;
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.wasReset ||= error.code === 'ECONNRESET';
    });
    socket.on('end', () => {
      this.hasEnded = true;
    });
    socket.on('close', () => {
      this.isClosed = true;
    });
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
  }

  get names(): AmfValue[] {
    return this.commands.map(([name]) => name);
  }

  step(step: Step, answer: () => void): void {
    const whim = this.#whims[step];
    if (whim) whim(this);
    else answer();
  }

  command(values: AmfValue[], streamId = 0): void {
    this.message(20, encodeAmf0(values), streamId);
  }

  status(code: string, level = 'status', description = ''): void {
    this.command(['onStatus', 0, null, { level, code, description }], 1);
  }

  number(type: number, value: number): void {
    const body = new Uint8Array(type === 6 ? 5 : 4);
    new DataView(body.buffer).setUint32(0, value);
    this.message(type, body);
    if (type === 1) this.#chunkSize = value;
  }

  ping(value: number): void {
    const body = new Uint8Array(6);
    body[1] = 6;
    new DataView(body.buffer).setUint32(2, value);
    this.message(4, body);
  }

  message(type: number, body: Uint8Array, streamId = 0): void {
    const chunkSize = this.#chunkSize;
    const out = new Uint8Array(body.length * 6 + 64);
    const message = { chunkStream: 3, type, streamId, timestamp: 0, body, chunkSize };
    this.socket.write(out.subarray(0, writeMessage(out, 0, message)));
  }

  /** S0, S1 and S2. */
  shake(): void {
    this.socket.write(new Uint8Array(1 + 3072).fill(3, 0, 1));
  }

  #receive(bytes: Buffer): void {
    this.#inbox = Buffer.concat([this.#inbox, bytes]);
    let taken = this.#take();
    while (taken > 0 && this.wrong === undefined) {
      this.#inbox = this.#inbox.subarray(taken);
      taken = this.#take();
    }
  }

  #take(): number {
    const inbox = this.#inbox;
    if (this.#shaken < 2) {
      const wanted = this.#shaken === 0 ? 1537 : 1536;
      if (inbox.length < wanted) return 0;
      if (this.#shaken === 0 && inbox[0] !== 3) this.wrong = 'C0 is not 3';
      this.#shaken += 1;
      if (this.#shaken === 1) this.step('handshake', () => this.shake());
      return wanted;
    }
    if (inbox.length < 1) return 0;
    const chunkStream = inbox[0] & 0x3f;
    const format = inbox[0] >> 6;
    const known = this.#partial.get(chunkStream);
    if (chunkStream < 2 || (format !== 0 && format !== 3) || (format === 3) !== (known !== undefined)) {
      this.wrong = `a chunk of format ${format} on chunk stream ${chunkStream}`;
      return 0;
    }
    const header = format === 0 ? 12 : 1;
    if (inbox.length < header) return 0;
    const isExtended = known?.isExtended ?? inbox.readUIntBE(1, 3) === 0xffffff;
    const at = header + (isExtended ? 4 : 0);
    if (inbox.length < at) return 0;
    const message = known ?? {
      chunkStream,
      type: inbox[7],
      streamId: inbox.readUInt32LE(8),
      timestamp: isExtended ? inbox.readUInt32BE(12) : inbox.readUIntBE(1, 3),
      body: Buffer.alloc(inbox.readUIntBE(4, 3)),
      received: 0,
      isExtended,
    };
    const count = Math.min(this.#theirChunkSize, message.body.length - message.received);
    if (inbox.length < at + count) return 0;
    inbox.copy(message.body, message.received, at, at + count);
    message.received += count;
    this.#partial.set(chunkStream, message);
    if (message.received === message.body.length) {
      this.#partial.delete(chunkStream);
      this.#hear(message);
    }
    return at + count;
  }

  #hear(message: Heard): void {
    const { type, body } = message;
    if (type === 8 || type === 9 || type === 18) this.media.push(message);
    else if (type !== 20) {
      if (type === 1) this.#theirChunkSize = body.readUInt32BE();
      this.controls.push(message);
    } else {
      const values = readAmf0(body, 0, body.length);
      this.commands.push(values);
      const [name, transaction = 0] = values;
      if (name === 'connect') this.step('connect', () => this.#answerConnect(transaction));
      else if (name === 'createStream')
        this.step('createStream', () => this.command(['_result', transaction, null, 1]));
      else if (name === 'publish') this.step('publish', () => this.status('NetStream.Publish.Start'));
      else if (name === 'releaseStream')
        this.command(['_error', transaction, null, { level: 'error', code: 'NetConnection.Call.Failed' }]);
    }
  }

  #answerConnect(transaction: AmfValue): void {
    if (this.#chunkSize !== 128) {
      const size = this.#chunkSize;
      this.#chunkSize = 128;
      this.number(1, size);
    }
    this.command(['_result', transaction, {}, { level: 'status', code: 'NetConnection.Connect.Success' }]);
  }
}
