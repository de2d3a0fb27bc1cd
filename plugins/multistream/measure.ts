import { services } from '../../core/plugin/services.ts';
import { pushReasons } from '../../core/ports/pusher.ts';
import type { MultistreamKit } from './config.ts';
import type { PushFollower } from './follow.ts';

/** How pushing does, for operators. */
export function measurePushes(kit: MultistreamKit, follower: PushFollower): void {
  const { metrics } = kit;
  const pusher = kit.use(services.pusher);
  metrics.readings('millrace_multistream_pushes', {
    help: 'Pushes to multistream targets on this node, by state: connecting is also between attempts.',
    read: () => {
      const { connected, connecting } = pusher.totals();
      return [
        { labels: { state: 'connected' }, value: connected },
        { labels: { state: 'connecting' }, value: connecting },
      ];
    },
  });
  metrics.reading('millrace_multistream_sent_bytes_total', {
    help: 'Bytes sent to multistream targets.',
    type: 'counter',
    read: () => pusher.totals().sentBytes,
  });
  metrics.reading('millrace_multistream_dropped_frames_total', {
    help: 'Pictures that were left out because a multistream target was too slow.',
    type: 'counter',
    read: () => pusher.totals().droppedFrames,
  });
  metrics.readings('millrace_multistream_troubles_total', {
    help: 'Connections to multistream targets that failed or broke, by why.',
    type: 'counter',
    // All of them from the first, as 0: a rate is not told of a series that begins with its first count.
    read: () => {
      const { troubles } = pusher.totals();
      return pushReasons.map((reason) => ({ labels: { reason }, value: troubles[reason] ?? 0 }));
    },
  });
  metrics.reading('millrace_multistream_facts_waiting', {
    help: 'What happened to pushes and is not stored yet.',
    read: () => follower.waiting,
  });
}
