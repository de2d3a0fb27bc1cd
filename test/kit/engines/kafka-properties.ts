import { join } from 'node:path';
import type { Place } from './engine.ts';

/** The controller of a cluster, which is a broker as well. */
export const firstNode = 1;

/** server.properties of the first node of a cluster. */
export function brokerProperties({ folder, ports: [port, controller] }: Place): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': `${firstNode}`,
    'controller.quorum.voters': `${firstNode}@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    // One node: nothing can have a second copy.
    'default.replication.factor': '1',
    'min.insync.replicas': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    // The default, 50, is a second of the first consumer's start and 50 folders.
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    // After a kill the controller waits for the session of the broker that it was: 4.6 s instead of 12.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    // The default, 128 MiB, is half of the heap.
    'log.cleaner.dedupe.buffer.size': '8388608',
  };
}

/** What is different in one more broker of its cluster. Its number is its port, which no other has. */
export function joinedProperties(
  { ports: [port] }: Place,
  { controllerPort }: { controllerPort: number },
): Record<string, string> {
  return {
    'process.roles': 'broker',
    'node.id': `${port}`,
    'controller.quorum.voters': `${firstNode}@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port}`,
  };
}

export interface KafkaSecurity {
  /** Name → password. */
  readonly users: Readonly<Record<string, string>>;
  /** Of the broker, as PEM; the key as PKCS #8. */
  readonly cert: string;
  readonly key: string;
}

/** What two more listeners need, on the third and fourth port: SASL/PLAIN, and the same over TLS. */
export function secureProperties(place: Place, { users, cert, key }: KafkaSecurity): Record<string, string> {
  const plain = brokerProperties(place);
  const [, , password, tls] = place.ports;
  const more = `PASSWORD://127.0.0.1:${password},TLS://127.0.0.1:${tls}`;
  const known = Object.entries(users).map(([name, secret]) => `user_${name}="${secret}"`);
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required ${known.join(' ')};`;
  // In a file of properties a value has one line.
  const oneLine = (pem: string) => pem.trim().replaceAll('\n', '\\n');
  return {
    listeners: `${plain.listeners},${more}`,
    'advertised.listeners': `${plain['advertised.listeners']},${more}`,
    'listener.security.protocol.map': `${plain['listener.security.protocol.map']},PASSWORD:SASL_PLAINTEXT,TLS:SASL_SSL`,
    ...Object.fromEntries(
      ['password', 'tls'].flatMap((name) => [
        [`listener.name.${name}.sasl.enabled.mechanisms`, 'PLAIN'],
        [`listener.name.${name}.plain.sasl.jaas.config`, login],
      ]),
    ),
    'listener.name.tls.ssl.keystore.type': 'PEM',
    'listener.name.tls.ssl.keystore.certificate.chain': oneLine(cert),
    'listener.name.tls.ssl.keystore.key': oneLine(key),
  };
}

export const propertiesFile = (all: Record<string, string>) =>
  `${Object.entries(all)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;
