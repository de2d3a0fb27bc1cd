import type { RedisConnection as BullConnection, KeysMap, RedisQueueBackend, WorkerOptions } from 'bullmq';
import type { RedisClient, RedisConnection } from '../../redis/connection.ts';
import { encoded } from './names.ts';

/** A BullMQ queue: the jobs of one kind. */
export interface JobQueue {
  readonly kind: string;
  /** What stands before a job's id in its key. */
  readonly prefix: string;
  readonly keys: KeysMap & { readonly added: string };
  /** BullMQ's operations on it; jobs that are claimed through this are leased for `lease` ms. */
  operations(lease?: number): RedisQueueBackend;
  /** Epoch ms: until then no lease ends that has not been seen. */
  leasesSeenUntil: number;
}

/**
 * The queues of a deployment, all on one connection. BullMQ's `Worker` would open one more for each kind, to block on,
 * and its `Queue` would wrap the client once more: what they both call is used instead, its queue backend.
 */
export class Queues {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #queues = new Map<string, JobQueue>();
  #bullmq: Promise<typeof import('bullmq')> | undefined;
  #wrapped: { client: RedisClient; connection: BullConnection } | undefined;

  /** @param options.prefix of all keys */
  constructor(options: { connection: RedisConnection; prefix: string }) {
    this.#connection = options.connection;
    this.#prefix = options.prefix;
  }

  /** Like `RedisConnection.ask`, with the queues of these kinds. */
  async ask<Value>(
    kinds: readonly string[],
    call: (client: RedisClient, queues: JobQueue[]) => Promise<Value>,
  ): Promise<Value> {
    // Loading it is no time of Redis.
    this.#bullmq ??= import('bullmq');
    const bullmq = await this.#bullmq;
    return this.#connection.ask((client) => {
      const connection = this.#wrap(bullmq, client);
      return call(
        client,
        kinds.map((kind) => this.#queue(bullmq, { kind, connection })),
      );
    });
  }

  #wrap(bullmq: typeof import('bullmq'), client: RedisClient): BullConnection {
    if (this.#wrapped?.client === client) return this.#wrapped.connection;
    // Versions and settings of Redis are looked at by the store, and its state by our own connection.
    const connection = new bullmq.RedisConnection(client, {
      ...{ shared: true, blocking: false, skipVersionCheck: true, skipWaitingForReady: true },
    });
    connection.on('error', () => {});
    this.#wrapped = { client, connection };
    return connection;
  }

  #queue(
    { QueueKeys, RedisQueueBackend }: typeof import('bullmq'),
    { kind, connection }: { kind: string; connection: BullConnection },
  ): JobQueue {
    const known = this.#queues.get(kind);
    if (known) return known;
    const name = encoded(kind);
    const prefix = this.#prefix;
    const all = new QueueKeys(prefix);
    const keys = all.getKeys(name);
    const toKey = (type: string) => all.toKey(name, type);
    const operations = (lease?: number) =>
      new RedisQueueBackend(
        connection,
        name,
        keys,
        toKey,
        { connection: {}, prefix, ...(lease !== undefined && { lockDuration: lease }) } as WorkerOptions,
        undefined,
        false,
      );
    const plain = operations();
    const queue: JobQueue = {
      kind,
      prefix: toKey(''),
      keys: { ...keys, added: toKey('added') },
      operations: (lease) => (lease === undefined ? plain : operations(lease)),
      leasesSeenUntil: 0,
    };
    this.#queues.set(kind, queue);
    return queue;
  }
}
