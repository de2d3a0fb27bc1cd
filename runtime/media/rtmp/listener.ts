import type { Socket, TCPSocketListener } from 'bun';
import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import { networkOf } from '../../../core/base/network.ts';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { freeBytes } from '../../base/copy-bytes.ts';
import { leaving, type PublishHandlers, type RtmpConfig, RtmpSession, SWEEP_INTERVAL } from './session.ts';
import { SocketWriter } from './socket-writer.ts';
import { WindowCount, WindowCounts } from './window-count.ts';

export interface RtmpListenerOptions {
  readonly host: string;
  /** TCP port; 0 takes a free one. */
  readonly port: number;
  /** RTMPS on a port of its own; certificate and key as PEM text. */
  readonly tls?: { readonly port: number; readonly cert: string; readonly key: string };
  readonly handlers: PublishHandlers;
  readonly clock: Clock;
  readonly log: Pick<Log, 'debug' | 'info' | 'error'>;
  readonly config: RtmpConfig;
}

/**
 * Accepts RTMP publishes on a port. Throws a `Fault` that names the setting if the port cannot be opened. A connection that breaks
 * the rules is closed; others are not affected. One timer checks all deadlines.
 */
export class RtmpListener {
  /** The port that was opened. */
  readonly port: number;
  readonly tlsPort: number | undefined;
  readonly #options: RtmpListenerOptions;
  readonly #note: Line;
  readonly #complain: Line;
  readonly #connections = new Set<Connection>();
  readonly #perNetwork = new Map<string, number>();
  readonly #running = new Map<string, RtmpSession>();
  readonly #listening: TCPSocketListener<Connection>[] = [];
  readonly #stopSweeping: () => void;

  constructor(options: RtmpListenerOptions) {
    const { clock, log, host, port, tls } = options;
    this.#options = options;
    this.#note = quietly((message, fields) => log.info(message, fields), clock);
    this.#complain = quietly((message, fields) => log.error(message, fields), clock);
    const handlers = this.#socketHandlers();
    const plain = listen(host, { port }, handlers);
    this.#listening.push(plain);
    try {
      if (tls !== undefined) this.#listening.push(listen(host, tls, handlers));
    } catch (error) {
      plain.stop(true);
      throw error;
    }
    this.port = plain.port;
    this.tlsPort = this.#listening[1]?.port;
    this.#stopSweeping = every(SWEEP_INTERVAL, { clock, work: () => this.#sweep() });
  }

  /** Open connections, whatever their state. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Ends the publish of this token and sends the reason to the encoder. Does nothing for an unknown token. */
  close(token: string, reason: string): void {
    this.#running.get(token)?.endPublish(reason);
  }

  /** Closes the ports and every connection. Running publishes end uncleanly: they may continue on another node. */
  stop(): void {
    this.#stopSweeping();
    for (const connection of this.#connections) connection.session.stop();
    for (const listening of this.#listening) listening.stop(true);
  }

  #socketHandlers(): Bun.SocketHandler<Connection> {
    return {
      open: (socket) => this.#opened(socket),
      data(socket, bytes) {
        socket.data?.session.feed(bytes);
        // The runtime made them for this call only, and nothing below keeps them.
        freeBytes(bytes);
      },
      // With this handler Bun calls `open` when TCP is accepted. Without it, only after the TLS handshake:
      // a peer that never finishes that would escape every limit and deadline.
      handshake(socket, isSecure) {
        if (!isSecure) socket.terminate();
      },
      drain(socket) {
        socket.data?.writer.flush();
      },
      // The peer sends nothing more, and needs nothing from us.
      end(socket) {
        socket.end();
      },
      error(socket) {
        socket.terminate();
      },
      close: (socket) => this.#closed(socket.data),
    };
  }

  #opened(socket: Socket<Connection>): void {
    const { config } = this.#options;
    const address = plainAddress(socket.remoteAddress);
    const network = networkOf(address);
    const ofNetwork = this.#perNetwork.get(network) ?? 0;
    if (this.#connections.size >= config.connections || ofNetwork >= config.connectionsPerAddress) {
      this.#note('rtmp connection refused', { address, reason: 'too many connections' });
      socket.terminate();
      return;
    }
    this.#perNetwork.set(network, ofNetwork + 1);
    const connection = this.#openConnection(socket, address);
    socket.data = connection;
    this.#connections.add(connection);
  }

  /** Undefined: one that was refused. */
  #closed(connection: Connection | undefined): void {
    if (connection === undefined || !this.#connections.delete(connection)) return;
    const network = networkOf(connection.address);
    const left = (this.#perNetwork.get(network) ?? 1) - 1;
    if (left > 0) this.#perNetwork.set(network, left);
    else this.#perNetwork.delete(network);
    connection.writer.close();
    connection.session.disconnected();
  }

  #openConnection(socket: Socket<Connection>, address: string): Connection {
    const { clock, config, handlers, log } = this.#options;
    const id = crypto.randomUUID();
    const writer = new SocketWriter(socket, {
      limit: UNSENT_BYTES,
      onStalled: () => {
        this.#note('rtmp connection ended', { connection: id, address, reason: 'the peer does not read' });
        socket.terminate();
      },
    });
    let isPublishing = false;
    /** Why the last publish ended. That was logged already. */
    let toldReason: string | undefined;
    const session: RtmpSession = new RtmpSession({
      clock,
      config,
      connection: id,
      address,
      handlers: {
        authorise: (request) => handlers.authorise(request),
        refused: (request, refusal) => handlers.refused?.(request, refusal),
        attach: (grant, request) => {
          isPublishing = true;
          this.#running.set(grant.token, session);
          return handlers.attach(grant, request);
        },
        detached: (grant, end) => {
          isPublishing = false;
          toldReason = end.reason;
          this.#running.delete(grant.token);
          handlers.detached(grant, end);
        },
      },
      write: (bytes) => writer.write(bytes),
      end: () => writer.end(),
      onEnd: (reason, error) => {
        if (error !== undefined)
          this.#complain('rtmp connection failed', { connection: id, address, reason, error });
        else if (isPublishing || reason === toldReason || (toldReason !== undefined && reason === leaving))
          log.debug('rtmp connection ended', { connection: id, address, reason });
        else this.#note('rtmp connection ended', { connection: id, address, reason });
      },
    });
    return { session, writer, address };
  }

  #sweep(): void {
    const now = this.#options.clock.now();
    for (const connection of this.#connections) {
      connection.session.sweep(now);
      connection.writer.sweep();
    }
  }
}

interface Connection {
  readonly session: RtmpSession;
  readonly writer: SocketWriter;
  readonly address: string;
}

function listen(
  hostname: string,
  { port, ...tls }: { readonly port: number; readonly cert?: string; readonly key?: string },
  socket: Bun.SocketHandler<Connection>,
): TCPSocketListener<Connection> {
  const isSecure = tls.cert !== undefined;
  try {
    return Bun.listen<Connection>({ hostname, port, socket, ...(isSecure && { tls }) });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const setting = isSecure ? 'rtmp.tlsPort' : 'rtmp.port';
    const fault = (code: string, message: string) => new Fault(code, { status: 500, message });
    if (code === 'EADDRINUSE')
      throw fault('rtmp.port_in_use', `Port ${port} (${setting}) is in use by another program.`);
    if (isSecure && code?.startsWith('ERR_')) throw fault('config.invalid', `tls.cert, tls.key: ${message}`);
    const why = code ?? 'this is not an address of this machine';
    throw fault(
      'rtmp.cannot_listen',
      `Port ${port} on ${hostname} (${setting}, rtmp.host) cannot be opened: ${why}`,
    );
  }
}

/** Unsent bytes after which a peer that does not read is disconnected. */
const UNSENT_BYTES = 64 * 1024;
/** Log lines about connections in one window (ms), in total and per network. The next line says how many were left out. */
const LOG_LINES = 20;
const LOG_LINES_PER_NETWORK = 5;
const LOG_WINDOW = 10_000;

/** Logs a line about a connection. */
type Line = (message: string, fields: { readonly address: string; readonly [name: string]: unknown }) => void;

/** Limits log lines: a flood of connections must not flood the log, and one address must not hide the others. */
function quietly(write: Line, clock: Clock): Line {
  const lines = new WindowCount({ most: LOG_LINES, window: LOG_WINDOW });
  const perNetwork = new WindowCounts({ most: LOG_LINES_PER_NETWORK, window: LOG_WINDOW, keys: LOG_LINES });
  let unsaid = 0;
  return (message, fields) => {
    const now = clock.now();
    if (!perNetwork.admit(networkOf(fields.address), now) || !lines.admit(now)) {
      unsaid += 1;
      return;
    }
    write(message, unsaid > 0 ? { ...fields, unsaid } : fields);
    unsaid = 0;
  };
}

/** An address without the IPv6 prefix of IPv4 addresses, and without its zone. */
export function plainAddress(address: string): string {
  return (address.startsWith('::ffff:') ? address.slice(7) : address).replace(/%.*$/, '');
}
