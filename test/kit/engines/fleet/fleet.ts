import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kafka } from '../kafka.ts';
import type { Kafka } from '../kafka-broker.ts';
import { type Redis, redis } from '../redis.ts';
import { type S3, s3 } from '../s3.ts';
import { type FleetNode, fleetNode, type NodePlan } from './node.ts';

/** Several nodes of one deployment on real engines, each a process that can be killed, frozen, stopped and restarted. */
export interface Fleet extends AsyncDisposable {
  readonly redis: Redis;
  readonly kafka: Kafka;
  /** Absent where blobs are in a folder that all nodes share. */
  readonly s3: S3 | undefined;
  readonly nodes: readonly FleetNode[];
  /** Throws for an id that there is not. */
  node(id: string): FleetNode;
  /** Adds one to the running ones. */
  start(plan: NodePlan): Promise<FleetNode>;
  /** API key of the admin account, on every node. */
  readonly key: string;
  readonly folder: string;
  /** Those that take broadcasts first, so that others are still there to hear of the end of these; then the engines. */
  stop(): Promise<void>;
}

export interface FleetOptions {
  /** Holds everything that lasts. Default: a temporary one, removed at the end. */
  readonly folder?: string;
  /** Default: `defaultNodes`. */
  readonly nodes?: readonly NodePlan[];
  /** More of the config of all nodes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default `s3`. */
  readonly blobs?: 'fs' | 's3';
  readonly redis?: Parameters<typeof redis>[0];
  readonly kafka?: Parameters<typeof kafka>[0];
  readonly s3?: Parameters<typeof s3>[0];
}

export const defaultNodes: readonly NodePlan[] = [
  { id: 'a', roles: ['api', 'actors', 'worker'] },
  { id: 'b', roles: ['api', 'actors', 'worker'] },
  { id: 'media', roles: ['media'] },
];

/** Starts engines and nodes and waits until all are ready. What had started is ended when one fails. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
  const isTemporary = options.folder === undefined;
  mkdirSync(folder, { recursive: true });
  const { key, secret, secretsKey } = secretsIn(folder);
  const nodes: FleetNode[] = [];
  const engines: AsyncDisposable[] = [];
  const keep = async <E extends AsyncDisposable>(starting: Promise<E>): Promise<E> => {
    const engine = await starting;
    engines.push(engine);
    return engine;
  };
  const stop = async () => {
    const takesMedia = ({ roles }: FleetNode) => roles.includes('media');
    await Promise.all(nodes.filter(takesMedia).map((node) => node.stop()));
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]()));
    if (isTemporary) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };

  try {
    const [store, log, blobs] = await all([
      keep(redis({ folder: join(folder, 'redis'), ...options.redis })),
      keep(kafka({ folder: join(folder, 'kafka'), ...options.kafka })),
      options.blobs === 'fs' ? undefined : keep(s3({ folder: join(folder, 's3'), ...options.s3 })),
    ]);
    const env = {
      MILLRACE_PRESET: 'cluster',
      MILLRACE_REDIS__URL: store.url,
      MILLRACE_KAFKA__BROKERS: JSON.stringify(log.brokers),
      MILLRACE_NODE__SECRET: secret,
      MILLRACE_BOOTSTRAP_KEY: key,
      MILLRACE_SECRETS_KEY: secretsKey,
      ...(blobs && {
        MILLRACE_S3__ENDPOINT: blobs.endpoint,
        MILLRACE_S3__BUCKET: blobs.bucket,
        MILLRACE_S3__REGION: blobs.region,
        MILLRACE_S3__ACCESS_KEY_ID: blobs.accessKeyId,
        MILLRACE_S3__SECRET_ACCESS_KEY: blobs.secretAccessKey,
      }),
      ...options.env,
    };
    const start = async (plan: NodePlan) => {
      const node = await fleetNode(plan, { folder: join(folder, plan.id), env });
      nodes.push(node);
      return node;
    };
    await all((options.nodes ?? defaultNodes).map(start));
    nodes.sort((one, other) => (one.id < other.id ? -1 : 1));
    return {
      ...{ redis: store, kafka: log, s3: blobs, nodes, key, folder, start, stop },
      node(id) {
        const found = nodes.find((node) => node.id === id);
        if (!found) throw new Error(`there is no node ${id}`);
        return found;
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** All of them, or the first failure, when none is on its way any more: what started late would be left behind. */
async function all<T extends readonly unknown[]>(
  starting: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ends = await Promise.allSettled(starting);
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
  return ends.map((end) => (end as PromiseFulfilledResult<unknown>).value) as never;
}

/** The same at each start on this folder. */
function secretsIn(folder: string): Record<'key' | 'secret' | 'secretsKey', string> {
  const file = join(folder, 'fleet.json');
  const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const made = () => randomBytes(24).toString('base64url');
  const all = { key: made(), secret: made(), secretsKey: made(), ...known };
  writeFileSync(file, JSON.stringify(all), { mode: 0o600 });
  return all;
}
