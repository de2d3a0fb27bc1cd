import type { Admin } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import { within } from '../../../../core/base/timing.ts';
import type { LogRange } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { closedFault } from '../checks.ts';
import {
  connectTimeout,
  type KafkaClient,
  type KafkaConnection,
  kafkaClient,
  requestTimeout,
} from './client.ts';

interface Connected {
  readonly client: KafkaClient;
  readonly admin: Admin;
}

/** Questions to Kafka, each in bounded time, over a connection that is made anew after a failure. */
export class KafkaAdmin {
  readonly #connection: KafkaConnection;
  readonly #options: { clock: Clock; log: Log; retries?: number };
  #current: Promise<Connected> | undefined;
  #isClosed = false;

  constructor(connection: KafkaConnection, options: { clock: Clock; log: Log; retries?: number }) {
    this.#connection = connection;
    this.#options = options;
  }

  async ask<T>(work: (admin: Admin) => Promise<T>, ms = requestTimeout + connectTimeout): Promise<T> {
    if (this.#isClosed) throw closedFault();
    this.#current ??= this.#open();
    const own = this.#current;
    const late = () => new Error(`Kafka has not answered within ${ms} ms`);
    try {
      return await within(
        own.then(({ admin }) => work(admin)),
        { ms, clock: this.#options.clock, late },
      );
    } catch (error) {
      // Also where a broker has answered: kafkajs may not know yet who leads.
      this.#drop(own);
      throw error;
    }
  }

  /**
   * What each partition of a topic has. A leader that does not know yet what was acknowledged before it was elected refuses to
   * answer (KIP-207).
   */
  async ranges(topic: string): Promise<ReadonlyMap<number, LogRange>> {
    const found = await this.ask((admin) => admin.fetchTopicOffsets(topic));
    return new Map(
      found.map(({ partition, low, high }) => [partition, { first: Number(low), next: Number(high) }]),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#drop(this.#current);
  }

  async #open(): Promise<Connected> {
    const { retries = 0 } = this.#options;
    const client = await kafkaClient(this.#connection, this.#options);
    const admin = client.kafka.admin({ retry: { retries, initialRetryTime: 200, maxRetryTime: 2000 } });
    try {
      await admin.connect();
      return { client, admin };
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  /** What others have asked over it fails as well. */
  #drop(old: Promise<Connected> | undefined): void {
    if (!old || this.#current !== old) return;
    this.#current = undefined;
    old
      .then(({ client, admin }) => {
        client.destroy();
        return admin.disconnect();
      })
      .catch(() => {});
  }
}
