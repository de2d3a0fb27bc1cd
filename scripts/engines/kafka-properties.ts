import { join } from 'node:path';
import type { Place } from './engine.ts';

/** server.properties of the only node of a cluster. */
export function brokerProperties({ folder, ports: [port, controller] }: Place): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
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

export const propertiesFile = (all: Record<string, string>) =>
  `${Object.entries(all)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;
