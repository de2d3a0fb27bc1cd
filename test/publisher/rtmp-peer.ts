import type { Socket, TCPSocketListener } from 'bun';
import { type AmfValue, encodeAmf0, readAmf0 } from '../../runtime/media/rtmp/amf0.ts';
import { writeMessage } from '../../runtime/media/rtmp/message-writer.ts';

/** A plain RTMP server for one publisher: reads strictly what RTMP 1.0 says and remembers it. */
export function rtmpPeer(options: PeerOptions = {}): Peer {
  const { answer = { level: 'status', code: 'NetStream.Publish.Start' }, isSilent = false, window } = options;
  const waiting = new Set<() => void>();
  let client: Socket<undefined> | undefined;
  let inbox = new Uint8Array(0);
  let shaken = 0;
  let chunkSize = 128;
  const partial = new Map<number, Message & { received: number; isExtended: boolean }>();

  const send = (type: number, body: Uint8Array): void => {
    const out = new Uint8Array(body.length + 64);
    const end = writeMessage(out, 0, {
      chunkStream: 3,
      type,
      streamId: 0,
      timestamp: 0,
      body,
      chunkSize: 128,
    });
    client?.write(out.subarray(0, end));
  };
  const number = (type: number, value: number): void => {
    const body = new Uint8Array(type === 6 ? 5 : 4);
    new DataView(body.buffer).setUint32(0, value);
    send(type, body);
  };
  const command = (values: AmfValue[]): void => send(20, encodeAmf0(values));

  const handle = (message: Message): void => {
    const view = new DataView(message.body.buffer);
    if (message.type === 1) chunkSize = view.getUint32(0);
    else if (message.type === 3) peer.acknowledged = view.getUint32(0);
    else if (message.type === 4 && view.getUint16(0) === 7) peer.pongs.push(view.getUint32(2));
    else if (message.type === 8 || message.type === 9) peer.media.push(message);
    else if (message.type === 20) {
      const values = readAmf0(message.body, 0, message.body.length);
      peer.commands.push(values);
      const [name, transaction = 0] = values;
      if (name === 'connect' && window) number(5, window);
      if (name === 'connect')
        command(['_result', transaction, null, { code: 'NetConnection.Connect.Success' }]);
      if (name === 'createStream') command(['_result', transaction, null, 1]);
      if (name === 'publish') command(['onStatus', 0, null, answer]);
      if (name === 'releaseStream')
        command(['_error', transaction, null, { level: 'error', code: 'whatever' }]);
    }
  };

  /** One step of the handshake or one chunk; the bytes that it took. */
  const take = (): number => {
    if (shaken === 0) {
      if (inbox.length < 1537) return 0;
      client?.write(new Uint8Array(1 + 3072).fill(3, 0, 1));
      shaken = 1;
      return 1537;
    }
    if (shaken === 1) {
      if (inbox.length < 1536) return 0;
      shaken = 2;
      return 1536;
    }
    if (inbox.length < 1) return 0;
    const view = new DataView(inbox.buffer);
    const id = inbox[0] & 0x3f;
    const isNew = inbox[0] >> 6 === 0;
    const header = isNew ? 12 : 1;
    if (inbox.length < header) return 0;
    const isExtended = isNew ? view.getUint32(1) >>> 8 === 0xffffff : partial.get(id)?.isExtended === true;
    const at = header + (isExtended ? 4 : 0);
    if (inbox.length < at) return 0;
    const length = isNew ? view.getUint32(4) >>> 8 : 0;
    const timestamp = isExtended ? view.getUint32(header) : isNew ? view.getUint32(1) >>> 8 : 0;
    const message = isNew
      ? { type: inbox[7], timestamp, length, body: new Uint8Array(length), received: 0, isExtended }
      : partial.get(id);
    if (!message) throw new Error(`chunk stream ${id} continues what never began`);
    const count = Math.min(chunkSize, message.length - message.received);
    if (inbox.length < at + count) return 0;
    message.body.set(inbox.subarray(at, at + count), message.received);
    message.received += count;
    partial.set(id, message);
    if (message.received === message.length) {
      partial.delete(id);
      handle(message);
    }
    return at + count;
  };

  const listener: TCPSocketListener<undefined> = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      binaryType: 'uint8array',
      open(socket) {
        client = socket;
      },
      data(_, bytes) {
        if (isSilent) return;
        inbox = new Uint8Array(Buffer.concat([inbox, bytes]));
        let taken = take();
        while (taken > 0) {
          inbox = inbox.slice(taken);
          taken = take();
        }
        for (const check of waiting) check();
      },
      close() {
        peer.isClosed = true;
        for (const check of waiting) check();
      },
    },
  });

  const peer: Peer = {
    commands: [],
    media: [],
    pongs: [],
    acknowledged: 0,
    isClosed: false,
    url: (app, key) => `rtmp://127.0.0.1:${listener.port}/${app}/${key}`,
    until: (isDone) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isDone()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    ping(value) {
      const body = new Uint8Array(6);
      body[1] = 6;
      new DataView(body.buffer).setUint32(2, value);
      send(4, body);
    },
    isDeaf: (deaf) => (deaf ? client?.pause() : client?.resume()),
    hangUp: () => client?.end(),
    stop: () => listener.stop(true),
  };
  return peer;
}

export interface PeerOptions {
  /** What `publish` is answered with. */
  answer?: { level: string; code: string };
  /** Bytes after which the client must acknowledge. */
  window?: number;
  /** Accepts and never says a word. */
  isSilent?: boolean;
}

export interface Message {
  type: number;
  timestamp: number;
  length: number;
  body: Uint8Array;
}

export interface Peer {
  readonly commands: AmfValue[][];
  readonly media: Message[];
  readonly pongs: number[];
  acknowledged: number;
  isClosed: boolean;
  url(app: string, key: string): string;
  /** Resolves once it is so; asked again with everything that arrives. */
  until(isDone: () => boolean): Promise<void>;
  ping(value: number): void;
  isDeaf(deaf: boolean): void;
  hangUp(): void;
  stop(): void;
}
