import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory, Kafka, KafkaConfig, logCreator } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { group } from './limits.ts';
import { mendedKafkajs } from './mended.ts';

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
}

/** A kafkajs client with connections of its own. kafkajs is loaded by the first one. */
export async function kafkaClient(
  connection: KafkaConnection,
  options: { clock: Clock; log: Log },
): Promise<KafkaClient> {
  const { Kafka, logLevel } = await mendedKafkajs();
  const sockets = new Set<Socket>();
  let isDestroyed = false;

  const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    if (isDestroyed) throw new Error('this client is closed');
    const server = isIP(host) ? {} : { servername: host };
    const socket = ssl
      ? connectTls({ host, port, ...server, ...(ssl as object) }, onConnect)
      : connectPlain({ host, port }, onConnect);
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };

  const kafka = new Kafka({
    brokers: [...connection.brokers],
    clientId: connection.clientId,
    ...(connection.ssl !== undefined && { ssl: connection.ssl }),
    // Its type has one of each mechanism.
    ...(connection.sasl !== undefined && { sasl: connection.sasl as KafkaConfig['sasl'] }),
    connectionTimeout: group.connectTimeout,
    requestTimeout: group.requestTimeout,
    // Whoever uses it decides when to try again, so that nothing is repeated out of sight.
    retry: { retries: 0 },
    socketFactory,
    logLevel: logLevel.WARN,
    logCreator: clientLog({ ...options, isOver: () => isDestroyed }),
  });
  return {
    kafka,
    destroy() {
      isDestroyed = true;
      for (const socket of sockets) socket.destroy(new Error('the connection was cut'));
    },
  };
}

/** What it calls an error is for us to judge: mostly we go on. */
function clientLog({ log, isOver }: { log: Log; isOver: () => boolean }): logCreator {
  return () =>
    ({ namespace, log: { message, error } }) => {
      // That connections end when they are cut is no news.
      if (isOver()) return;
      const text = `kafka client: ${namespace}: ${withoutClasses(message)}`;
      log.warn(text, error === undefined ? {} : { error });
    };
}

/** Names of its classes are so long that they would be masked as keys, and what follows them says the same. */
export function withoutClasses(text: string): string {
  return text.replace(/\bKafkaJS\w+: /g, '');
}
