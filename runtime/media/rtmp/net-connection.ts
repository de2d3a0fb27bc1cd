import { plainLine } from '../../../core/base/plain-text.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { AUDIO_CODES, VIDEO_CODES } from '../flv/message.ts';
import { type AmfValue, readAmf0 } from './amf0.ts';
import { messageType } from './message-writer.ts';
import { ProtocolError } from './protocol-error.ts';
import { replies, windowAckSize } from './replies.ts';
import { WindowCount } from './window-count.ts';

export interface NetConnectionOptions {
  readonly clock: Clock;
  write(bytes: Uint8Array): void;
  /** `key` is empty where the encoder was given none. */
  onPublish(key: string, streamId: number): void;
  /** The encoder ends its publish on this message stream; undefined: on any. */
  onUnpublish(streamId: number | undefined): void;
  onPlay(streamId: number): void;
}

/**
 * Answers the commands of one connection (RTMP 1.0, section 7.2) that do not concern a publish, and its pings. Unknown commands are
 * ignored, because encoders send some of their own.
 */
export class NetConnection {
  /** The requested application; undefined before `connect`. */
  app: string | undefined;
  /** `connect` says that it is a push of a Millrace. */
  isPush = false;
  /** What the encoder calls itself (`flashVer`). */
  encoder: string | undefined;
  /** FCPublish came: this encoder waits for onFCPublish too. */
  hasFcPublish = false;
  readonly #options: NetConnectionOptions;
  readonly #streams = new Set<number>();
  readonly #commands = new WindowCount(commandLimit);
  /** The Window Acknowledgement Size that was sent last. */
  #toldWindow = windowAckSize;

  constructor(options: NetConnectionOptions) {
    this.#options = options;
  }

  /** A command message of type 17 or 20 in `bytes[start, end)`. Throws `ProtocolError`. */
  receive(type: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    this.#admit();
    const command = readCommand(type, bytes, start, end);
    if (command.name === 'connect') this.#connect(command);
    else if (this.app === undefined) throw new ProtocolError('a command came before connect');
    else this.#obey(command, streamId);
  }

  /** A User Control message in `bytes[start, end)`. A ping is answered. */
  ping(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < 6 || bytes[start] !== 0 || bytes[start + 1] !== PING_REQUEST) return;
    this.#admit();
    this.#options.write(replies.pong(bytes.subarray(start + 2, start + 6)));
  }

  /**
   * The peer limits what we may send without acknowledgement. We send far less, but must answer with the requested window if it
   * differs from the one sent last (5.4.5).
   */
  limit(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < 5) return;
    const size = new DataView(bytes.buffer, bytes.byteOffset + start).getUint32(0);
    if (size === 0 || size === this.#toldWindow) return;
    this.#admit();
    this.#toldWindow = size;
    this.#options.write(replies.window(size));
  }

  /** Counts something that the server answers. Throws `ProtocolError` above the limit. */
  #admit(): void {
    if (!this.#commands.admit(this.#options.clock.now())) throw new ProtocolError('too many commands');
  }

  #connect(command: Command): void {
    if (this.app !== undefined) throw new ProtocolError('connect came twice');
    this.app = readApp(command);
    this.isPush = isFromPush(command);
    this.encoder = encoderIn(command);
    this.#options.write(replies.settings());
    this.#options.write(replies.connected(command.transaction, capabilitiesFor(command)));
  }

  #obey(command: Command, streamId: number): void {
    const { transaction, values } = command;
    switch (command.name) {
      case 'createStream':
        this.#options.write(replies.result(transaction, this.#createStream()));
        break;
      case 'FCPublish':
        this.hasFcPublish = true;
        this.#options.write(replies.result(transaction, undefined));
        break;
      case 'releaseStream':
      case '_checkbw':
        this.#options.write(replies.result(transaction, undefined));
        break;
      case 'publish': {
        const key = readKey(command);
        if (key === undefined) throw new ProtocolError('publish came without a name');
        this.#options.onPublish(key, streamId);
        break;
      }
      case 'FCUnpublish':
        this.#options.onUnpublish(undefined);
        break;
      case 'closeStream':
        this.#options.onUnpublish(streamId);
        break;
      case 'deleteStream': {
        const deleted = values[1];
        if (typeof deleted !== 'number') break;
        this.#streams.delete(deleted);
        this.#options.onUnpublish(deleted);
        break;
      }
      case 'play':
      case 'play2':
        this.#options.onPlay(streamId);
        break;
    }
  }

  #createStream(): number {
    let id = 1;
    while (this.#streams.has(id)) id += 1;
    if (id > MOST_MESSAGE_STREAMS) throw new ProtocolError('too many message streams');
    this.#streams.add(id);
    return id;
  }
}

/** Commands and pings, and as many messages of metadata, in 10 s. */
export const commandLimit = { most: 50, window: 10_000 };
const PING_REQUEST = 6;
/** Characters of the name of an encoder. */
const LONGEST_ENCODER = 100;
/** Open by `createStream` in one connection; encoders open one. */
const MOST_MESSAGE_STREAMS = 8;

/** A command message (RTMP 1.0, section 7.2). */
interface Command {
  readonly name: string;
  readonly transaction: number;
  /** The command object, then the arguments. */
  readonly values: readonly AmfValue[];
}

/** Reads a command of type 20, or of type 17: one format byte, then AMF0. Throws `ProtocolError`. */
export function readCommand(type: number, bytes: Uint8Array, start: number, end: number): Command {
  const [name, transaction, ...values] = readValues(type === messageType.commandAmf3, bytes, start, end);
  if (typeof name !== 'string') throw new ProtocolError('a command has no name');
  return { name, transaction: typeof transaction === 'number' ? transaction : 0, values };
}

/**
 * The values of a `@setDataFrame` or `onMetaData` message, or undefined for any
 * other data message and for one that cannot be read: nothing depends on metadata.
 */
export function readMetadata(
  type: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): readonly AmfValue[] | undefined {
  try {
    const values = readValues(type === messageType.dataAmf3, bytes, start, end);
    if (values[0] === '@setDataFrame' || values[0] === 'onMetaData') return values;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
  return undefined;
}

/** The application that `connect` requests. Without one it is read from tcUrl, which is used for nothing else. */
function readApp(connect: Command): string {
  const { app, tcUrl } = propertiesOf(connect);
  if (typeof app === 'string' && app !== '') return trimName(app);
  const path = typeof tcUrl === 'string' ? /^[a-z]+:\/\/[^/]*\/(.*)$/i.exec(tcUrl)?.[1] : undefined;
  return trimName(path ?? '');
}

/** Whether `connect` comes from a push of a Millrace. A client that lies gains nothing: a push may do less than others. */
function isFromPush(connect: Command): boolean {
  return propertiesOf(connect).flashVer === flashVersions.push;
}

function encoderIn(connect: Command): string | undefined {
  const { flashVer } = propertiesOf(connect);
  return typeof flashVer === 'string'
    ? plainLine(flashVer, { most: LONGEST_ENCODER }) || undefined
    : undefined;
}

/**
 * What a server of Enhanced RTMP answers about itself in the properties of `connect`'s result (Enhanced RTMP v2,
 * "Enhancing NetConnection connect Command"). Empty for an encoder that did not ask: old ones may not know it.
 */
function capabilitiesFor(connect: Command): { readonly [key: string]: AmfValue } {
  const properties = propertiesOf(connect);
  const isAsked = ['fourCcList', 'videoFourCcInfoMap', 'audioFourCcInfoMap', 'capsEx'].some(
    (name) => name in properties,
  );
  return isAsked ? capabilities : {};
}

/** FourCcInfoMask: forwarded, neither decoded nor encoded. */
const CAN_FORWARD = 4;
/** CapsExMask: ModEx is read. No Multitrack, as one track of each kind is taken; no Reconnect. */
const MOD_EX = 4;
/** The capabilities of this program, as a server and as a publisher. */
export const capabilities = {
  fourCcList: [...VIDEO_CODES, ...AUDIO_CODES],
  videoFourCcInfoMap: Object.fromEntries(VIDEO_CODES.map((code) => [code, CAN_FORWARD])),
  audioFourCcInfoMap: Object.fromEntries(AUDIO_CODES.map((code) => [code, CAN_FORWARD])),
  capsEx: MOD_EX,
};

/** The stream key of `publish`: its first argument up to the query. Undefined when that is no text. */
function readKey(publish: Command): string | undefined {
  const name = publish.values[1];
  return typeof name === 'string' ? trimName(name) : undefined;
}

function propertiesOf(connect: Command): { readonly [key: string]: AmfValue } {
  const properties = connect.values[0];
  return typeof properties === 'object' && properties !== null
    ? (properties as { readonly [key: string]: AmfValue })
    : {};
}

/** Without query and without slashes around it. Scans, as a pattern for it could be made to backtrack. */
function trimName(name: string): string {
  const query = name.indexOf('?');
  let end = query < 0 ? name.length : query;
  let start = 0;
  while (start < end && name[start] === '/') start += 1;
  while (end > start && name[end - 1] === '/') end -= 1;
  return name.slice(start, end);
}

function readValues(isAmf3: boolean, bytes: Uint8Array, start: number, end: number): AmfValue[] {
  if (!isAmf3) return readAmf0(bytes, start, end);
  if (start === end || bytes[start] !== 0) throw new ProtocolError('an AMF3 message does not hold AMF0');
  return readAmf0(bytes, start + 1, end);
}

/**
 * Our names in `connect` (RTMP 1.0, section 7.2.1.1). They begin like that of Adobe's encoder, which every server knows. A push says
 * that it is one: a Millrace that receives it does not let it take over a running broadcast.
 */
export const flashVersions = {
  encoder: 'FMLE/3.0 (compatible; Millrace)',
  push: 'FMLE/3.0 (compatible; Millrace push)',
} as const;
