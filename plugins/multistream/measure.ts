import { services } from '../../core/plugin/services.ts';
import { pushReasons } from '../../core/ports/pusher.ts';
import type { MultistreamKit } from './config.ts';
import type { PushFollower } from './follow.ts';

/** Metrics of pushes. */
export function measurePushes(kit: MultistreamKit, follower: PushFollower): void {
  const { metrics } = kit;
  const pusher = kit.use(services.pusher);
  metrics.readings('millrace_multistream_pushes', {
    help: 'Pushes to multistream targets on this node, by state; connecting includes waits between attempts.',
    read: () => {
      const { connected, connecting } = pusher.totals();
      return [
        { labels: { state: 'connected' }, value: connected },
        { labels: { state: 'connecting' }, value: connecting },
      ];
    },
  });
  const reading = (name: string, help: string, read: () => number) => metrics.reading(name, { help, read });
  reading(
    'millrace_multistream_sent_bytes_total',
    'Bytes sent to multistream targets.',
    () => pusher.totals().sentBytes,
  );
  reading(
    'millrace_multistream_dropped_frames_total',
    'Video frames dropped because a multistream target was too slow.',
    () => pusher.totals().droppedFrames,
  );
  reading(
    'millrace_multistream_facts_waiting',
    'Facts about pushes that are not stored yet.',
    () => follower.waiting,
  );
  metrics.readings('millrace_multistream_troubles_total', {
    help: 'Failed or lost connections to multistream targets, by reason.',
    // All reasons from the start, as 0: a series that begins with its first count has no rate.
    read: () => {
      const { troubles } = pusher.totals();
      return pushReasons.map((reason) => ({ labels: { reason }, value: troubles[reason] ?? 0 }));
    },
  });
}
