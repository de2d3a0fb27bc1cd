import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory, Kafka, KafkaConfig, logCreator, RetryOptions } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { mendedKafkajs } from './mended.ts';

/** Connecting to a broker, ms. */
export const connectTimeout = 2000;
/** An answer of a broker, ms. Beyond: its connections are cut and made anew. */
export const requestTimeout = 5000;
/** How long leaders count as known, ms: then who sends or reads asks for them. */
export const metadataAge = 2000;

export interface KafkaConnection {
  /** `host:port` of brokers to begin with. */
  readonly brokers: readonly string[];
  /** As Kafka's own logs and quotas know this program. */
  readonly clientId: string;
  readonly ssl?: true | { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: string;
  };
}

export interface KafkaClient {
  readonly kafka: Kafka;
  /** Cuts every connection, and no other is made: what waits for an answer fails now. kafkajs alone can wait for ever. */
  destroy(): void;
  /** Cuts those to a broker that has not answered in time: kafkajs would ask it who leads in its place. */
  cut(timeout: { readonly payload: { readonly broker: string } }): void;
}

/** A kafkajs client with connections of its own. kafkajs is loaded by the first one. */
export async function kafkaClient(
  connection: KafkaConnection,
  options: { clock: Clock; log: Log; retry?: RetryOptions },
): Promise<KafkaClient> {
  const { Kafka, logLevel } = await mendedKafkajs();
  const sockets = new Map<Socket, string>();
  let isDestroyed = false;

  const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    if (isDestroyed) throw new Error('this client is closed');
    const server = isIP(host) ? {} : { servername: host };
    const socket = ssl
      ? connectTls({ host, port, ...server, ...(ssl as object) }, onConnect)
      : connectPlain({ host, port }, onConnect);
    socket.setNoDelay(true);
    sockets.set(socket, `${host}:${port}`);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };

  const kafka = new Kafka({
    brokers: [...connection.brokers],
    clientId: connection.clientId,
    ...(connection.ssl !== undefined && { ssl: connection.ssl }),
    // Its type has one of each mechanism.
    ...(connection.sasl !== undefined && { sasl: connection.sasl as KafkaConfig['sasl'] }),
    connectionTimeout: connectTimeout,
    requestTimeout,
    // Whoever uses it decides when to try again, so that nothing is repeated out of sight.
    retry: options.retry ?? { retries: 0 },
    socketFactory,
    logLevel: logLevel.WARN,
    logCreator: clientLog({ ...options, isOver: () => isDestroyed }),
  });
  return {
    kafka,
    destroy() {
      isDestroyed = true;
      for (const socket of sockets.keys()) socket.destroy(new Error('the connection was cut'));
    },
    cut({ payload: { broker } }) {
      for (const [socket, at] of sockets)
        if (at === broker) socket.destroy(new Error('the broker has not answered in time'));
    },
  };
}

/** It says the same dozens of times a second, of healthy starts too. What is worth a warning, whoever uses it says. */
function clientLog({ log, isOver }: { log: Log; isOver: () => boolean }): logCreator {
  return () =>
    ({ namespace, log: { message, error } }) => {
      // That connections end when they are cut is no news.
      if (isOver()) return;
      const text = `kafka client: ${namespace}: ${withoutClasses(message)}`;
      log.debug(text, error === undefined ? {} : { error });
    };
}

/** Names of its classes are so long that they would be masked as keys, and what follows them says the same. */
export function withoutClasses(text: string): string {
  return text.replace(/\bKafkaJS\w+: /g, '');
}

/** The type of an error that a broker answered, however it is wrapped; undefined when it was no answer. */
export function answerType(error: unknown): string | undefined {
  let one = error as { type?: unknown; cause?: unknown } | undefined;
  for (let depth = 0; one && depth < 5; depth += 1) {
    if (typeof one.type === 'string') return one.type;
    one = one.cause as typeof one;
  }
  return undefined;
}
