import { afterAll } from 'vitest';
import type { Engine } from './engines/engine.ts';
import type { Finding } from './engines/find.ts';
import { kafka } from './engines/kafka.ts';
import { findKafka } from './engines/kafka-jars.ts';
import { findRedis, redis } from './engines/redis.ts';
import { findS3, s3 } from './engines/s3.ts';

const engines = { redis, kafka, s3 };
const find: Record<EngineName, () => Promise<Finding>> = { redis: findRedis, kafka: findKafka, s3: findS3 };

export type EngineName = keyof typeof engines;
type Starter<Name extends EngineName> = (typeof engines)[Name];
type Running<Name extends EngineName> = Awaited<ReturnType<Starter<Name>>>;

/** What a test file has of an engine. Whatever it started is ended, and its temporary data removed, after its last test. */
export interface EngineForTests<Name extends EngineName> {
  /** For `describe.skipIf`: this machine has none. In CI a skipped test is a failure (scripts/test.ts). */
  readonly isMissing: boolean;
  /** One more, for a test that kills, freezes or configures it. */
  start(options?: Parameters<Starter<Name>>[0]): Promise<Running<Name>>;
  /** The one that all tests of the file have together, started when it is first asked for. */
  shared(): Promise<Running<Name>>;
}

/**
 * The real engine for the tests of a file, called at its top level. Fetches nothing: `npm run e2e` does that before.
 *
 *     const kafka = await engineFor('kafka');
 *     describe.skipIf(kafka.isMissing)('the bus on Kafka', () => { … (await kafka.shared()).brokers … });
 */
export async function engineFor<Name extends EngineName>(name: Name): Promise<EngineForTests<Name>> {
  const { missing } = await find[name]();
  if (missing) console.error(`SKIPPED: tests that need ${name}: ${missing}. Try: sh scripts/e2e-setup.sh`);
  const started: Promise<Engine>[] = [];
  const start = (options?: Parameters<Starter<Name>>[0]) => {
    const engine = (engines[name] as (options?: unknown) => Promise<Running<Name>>)(options);
    started.push(engine);
    return engine;
  };
  let shared: Promise<Running<Name>> | undefined;
  afterAll(async () => {
    // One that did not start has cleaned up after itself.
    for (const end of await Promise.allSettled(started))
      if (end.status === 'fulfilled') await end.value[Symbol.asyncDispose]();
  });
  return {
    isMissing: missing !== undefined,
    start,
    shared() {
      shared ??= start();
      return shared;
    },
  };
}
