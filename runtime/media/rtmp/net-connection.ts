import type { Clock } from '../../../core/ports/clock.ts';
import { type Command, capabilitiesFor, isFromPush, readApp, readCommand, readKey } from './command.ts';
import { ProtocolError } from './protocol-error.ts';
import { replies } from './replies.ts';
import { WindowCount } from './window-count.ts';

export interface NetConnectionOptions {
  readonly clock: Clock;
  write(bytes: Uint8Array): void;
  /** `key` is empty where the encoder was given none. */
  onPublish(key: string, streamId: number): void;
  /** The encoder ends what it publishes: on this message stream, or on any when undefined. */
  onUnpublish(streamId: number | undefined): void;
  onPlay(streamId: number): void;
}

/**
 * The commands of one connection (RTMP 1.0, section 7.2): what does not touch a publish is answered here.
 * Commands it does not know are ignored, as encoders send some of their own.
 */
export class NetConnection {
  /** The application asked for; undefined before `connect`. */
  app: string | undefined;
  /** It is a push of a Millrace, by its own words in `connect`. */
  isPush = false;
  /** FCPublish came: this encoder waits for onFCPublish too. */
  hasFcPublish = false;
  readonly #options: NetConnectionOptions;
  readonly #streams = new Set<number>();
  readonly #commands = new WindowCount(commandLimit);

  constructor(options: NetConnectionOptions) {
    this.#options = options;
  }

  /** Counts something the server answers. Throws `ProtocolError` when it becomes too much. */
  admit(): void {
    if (!this.#commands.admit(this.#options.clock.now())) throw new ProtocolError('too many commands');
  }

  /** A command message of type 17 or 20 in `bytes[start, end)`. Throws `ProtocolError`. */
  receive(type: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    this.admit();
    const command = readCommand(type, bytes, start, end);
    if (command.name === 'connect') this.#connect(command);
    else if (this.app === undefined) throw new ProtocolError('a command came before connect');
    else this.#obey(command, streamId);
  }

  #connect(command: Command): void {
    if (this.app !== undefined) throw new ProtocolError('connect came twice');
    this.app = readApp(command);
    this.isPush = isFromPush(command);
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
/** Open by `createStream` in one connection; encoders open one. */
const MOST_MESSAGE_STREAMS = 8;
