import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka as Client, logLevel } from 'kafkajs';
import { type Engine, type EngineOptions, startEngine } from './engine.ts';
import type { KafkaJars } from './kafka-jars.ts';
import {
  brokerProperties,
  type KafkaSecurity,
  propertiesFile,
  secureProperties,
} from './kafka-properties.ts';

export interface KafkaOptions extends EngineOptions {
  /** More of server.properties: `{ 'log.retention.ms': '1000' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Listens for clients that say who they are as well, on two more ports. */
  readonly secure?: KafkaSecurity;
}

export interface Kafka extends Engine {
  /** `['127.0.0.1:<port>']`; plain text, no authentication. */
  readonly brokers: string[];
  readonly port: number;
  /** With `secure`: where a password (SASL/PLAIN) is asked for. */
  readonly withPassword: string[];
  /** With `secure`: the same over TLS. */
  readonly overTls: string[];
}

/** Starts a broker that is its own controller. `flags` are Java's. */
export async function startBroker(
  { jars, flags }: { jars: KafkaJars; flags: readonly string[] },
  options: KafkaOptions,
): Promise<Kafka> {
  const { engine, place } = await startEngine(
    {
      name: 'kafka',
      portCount: options.secure ? 4 : 2,
      async prepare(where) {
        const file = join(where.folder, 'server.properties');
        const data = join(where.folder, 'data');
        writeFileSync(
          file,
          propertiesFile({
            ...brokerProperties(where),
            ...(options.secure && secureProperties(where, options.secure)),
            ...options.settings,
          }),
        );
        if (!existsSync(data)) format(data, jars);
        return {
          command: [jars.java, ...javaFlags, ...flags, '-cp', jars.classpath, 'kafka.Kafka', file],
        };
      },
      isReady: ({ ports }) => isUnfenced(ports[0]),
    },
    options,
  );
  const [port, , password, tls] = place.ports;
  const at = (one: number | undefined) => (one === undefined ? [] : [`127.0.0.1:${one}`]);
  return Object.assign(engine, {
    ...{ brokers: at(port), port },
    ...{ withPassword: at(password), overTls: at(tls) },
  });
}

const javaFlags = [
  '-Xmx256m',
  '-XX:+UseSerialGC',
  // A broker of a test does not live long enough for the second compiler.
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
];

/** Formatting is a second of Java, and its result is always the same. A copy is complete or not there. */
function format(data: string, { home }: KafkaJars): void {
  const unfinished = `${data}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  cpSync(join(home, 'formatted'), unfinished, { recursive: true });
  renameSync(unfinished, data);
}

/** Whether it is a broker that its cluster counts on: it listens some time before that. */
async function isUnfenced(port: number): Promise<boolean> {
  const client = new Client({
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    requestTimeout: 2000,
    retry: { retries: 0 },
  });
  const admin = client.admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.length === 1;
  } finally {
    await admin.disconnect();
  }
}
