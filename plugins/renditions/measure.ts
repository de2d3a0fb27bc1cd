import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { transcodeReasons } from '../../core/ports/transcoder.ts';

/** How transcoding does, for operators. */
export function measureRenditions(kit: Pick<Kit, 'metrics' | 'use'>): void {
  const { metrics } = kit;
  const transcoder = kit.use(services.transcoder);
  metrics.reading('millrace_renditions_broadcasts', {
    help: 'Broadcasts on this node whose renditions are being made, each by one process of ffmpeg.',
    read: () => transcoder.totals().ladders,
  });
  metrics.reading('millrace_renditions_pixels_per_second', {
    help: 'Pixels a second that are being encoded, as planned.',
    read: () => transcoder.totals().pixelRate,
  });
  metrics.reading('millrace_renditions_capacity_pixels_per_second', {
    help: 'Pixels a second that this node encodes at most (renditions.capacity).',
    read: () => transcoder.totals().capacity,
  });
  metrics.reading('millrace_renditions_pictures_total', {
    help: 'Pictures encoded, all renditions together.',
    type: 'counter',
    read: () => transcoder.totals().pictures,
  });
  metrics.reading('millrace_renditions_restarts_total', {
    help: 'Processes of ffmpeg that were started again after one that failed.',
    type: 'counter',
    read: () => transcoder.totals().restarts,
  });
  metrics.readings('millrace_renditions_troubles_total', {
    help: 'What went wrong with renditions, by why.',
    type: 'counter',
    // All of them from the first, as 0: a rate is not told of a series that begins with its first count.
    read: () => {
      const { troubles } = transcoder.totals();
      return transcodeReasons.map((reason) => ({ labels: { reason }, value: troubles[reason] ?? 0 }));
    },
  });
}
