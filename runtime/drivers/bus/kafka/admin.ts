import type { Admin } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import { within } from '../../../../core/base/timing.ts';
import type { LogRange } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { closedFault } from '../checks.ts';
import { type KafkaClient, type KafkaConnection, kafkaClient } from './client.ts';
import { group } from './limits.ts';

/** Questions to Kafka, over connections that are made anew after a failure. */
export interface KafkaAdmin {
  /** In bounded time. */
  ask<T>(work: (admin: Admin) => Promise<T>, options?: { readonly ms: number }): Promise<T>;
  /**
   * What each partition of a topic has. A leader that does not know yet what was acknowledged before it was elected refuses to
   * answer (KIP-207).
   */
  ranges(topic: string): Promise<ReadonlyMap<number, LogRange>>;
  close(): void;
}

interface Connection {
  readonly connected: Promise<{ readonly client: KafkaClient; readonly admin: Admin }>;
  asked: number;
}

export function kafkaAdmin(
  connection: KafkaConnection,
  options: { clock: Clock; log: Log; retries?: number },
): KafkaAdmin {
  const { clock, retries = 0 } = options;
  let current: Connection | undefined;
  let isClosed = false;

  const open = async () => {
    const client = await kafkaClient(connection, options);
    const admin = client.kafka.admin({ retry: { retries, initialRetryTime: 200, maxRetryTime: 2000 } });
    try {
      await admin.connect();
      return { client, admin };
    } catch (error) {
      client.destroy();
      throw error;
    }
  };
  const cut = ({ connected }: Connection) => {
    connected
      .then(async ({ client, admin }) => {
        client.destroy();
        await admin.disconnect();
      })
      .catch(() => {});
  };

  const ask: KafkaAdmin['ask'] = async (
    work,
    { ms } = { ms: group.requestTimeout + group.connectTimeout },
  ) => {
    if (isClosed) throw closedFault();
    current ??= { connected: open(), asked: 0 };
    const own = current;
    own.asked += 1;
    const late = () => new Error(`Kafka has not answered within ${ms} ms`);
    try {
      const answer = own.connected.then(({ admin }) => work(admin));
      return await within(answer, { ms, clock, late });
    } catch (error) {
      // Also where a broker has answered: kafkajs may not know yet who leads.
      if (current === own) current = undefined;
      throw error;
    } finally {
      own.asked -= 1;
      if (current !== own && own.asked === 0) cut(own);
    }
  };
  return {
    ask,
    async ranges(topic) {
      const found = await ask((admin) => admin.fetchTopicOffsets(topic));
      return new Map(
        found.map(({ partition, low, high }) => [partition, { first: Number(low), next: Number(high) }]),
      );
    },
    close() {
      isClosed = true;
      if (current) cut(current);
      current = undefined;
    },
  };
}
