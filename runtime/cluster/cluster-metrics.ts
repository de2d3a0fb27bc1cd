import type { Metrics } from '../../core/base/metrics.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { CatchUp } from './catch-up.ts';
import type { ClusterActors } from './cluster-actors.ts';
import type { Mail } from './mail.ts';
import type { Owner } from './owner.ts';
import type { EventPublisher } from './publisher.ts';

/** How commands, partitions and what follows from them fare on this node. */
export function measureCluster(metrics: Metrics, parts: ClusterParts): void {
  const { actors, mail, owner, catchUp, publisher, bus, clock } = parts;
  const reading = (name: string, help: string, read: () => number, type?: 'counter') =>
    metrics.reading(`millrace_${name}`, { help, read, ...(type && { type }) });
  reading('commands_waiting', 'Commands of this node that wait for their answer.', () => actors.waiting);
  reading('answers_waiting', 'Answers to other nodes that are on their way.', () => mail.onTheirWay);
  reading('partitions_owned', 'Partitions that this node consumes.', () => owner.owned.length);
  reading(
    'partitions_refused',
    'Partitions that the bus gives to this node and that it cannot consume; the log has the reason.',
    () => owner.refused.size,
  );
  reading(
    'partitions_behind',
    'Partitions whose rows may be older than what was acknowledged, because the store was started anew.',
    () => catchUp.size,
  );
  reading(
    'partition_restarts_total',
    'How often a partition was begun anew because it could not go on.',
    () => owner.restarted,
    'counter',
  );
  reading(
    'commands_buried_total',
    'Commands that nobody could make sense of.',
    () => owner.buried,
    'counter',
  );
  reading(
    'events_buried_total',
    'Events that the bus will never take, as those that are too large; readers outside miss them.',
    () => publisher.buried,
    'counter',
  );
  reading(
    'relay_backlog',
    'Events that are not published on the bus yet, on the node that does it.',
    () => publisher.backlog,
  );
  reading('steps_in_flight', 'Steps that wait for the store.', () => owner.sum('inFlight'));
  const lags = (value: (lag: ReturnType<Bus['lags']>[number]) => number) => () =>
    bus.lags().map((lag) => ({ labels: { partition: String(lag.partition) }, value: value(lag) }));
  metrics.readings('millrace_partition_lag', {
    help: 'Commands that wait on the log, by partition.',
    read: lags(({ records }) => records),
  });
  metrics.readings('millrace_partition_silence_seconds', {
    help: 'Time since the bus was heard of last, by partition.',
    read: lags(({ heardAt }) => Math.max(0, clock.now() - heardAt) / 1000),
  });
}

interface ClusterParts {
  readonly actors: ClusterActors;
  readonly mail: Mail;
  readonly owner: Owner;
  readonly catchUp: CatchUp;
  readonly publisher: EventPublisher;
  readonly bus: Bus;
  readonly clock: Clock;
}
