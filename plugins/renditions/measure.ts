import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { transcodeReasons } from '../../core/ports/transcoder.ts';

/** Metrics of transcoding. */
export function measureRenditions(kit: Pick<Kit, 'metrics' | 'use'>): void {
  const { metrics } = kit;
  const transcoder = kit.use(services.transcoder);
  metrics.reading('millrace_renditions_broadcasts', {
    help: 'Broadcasts on this node whose renditions are being made, one ffmpeg process each.',
    read: () => transcoder.totals().ladders,
  });
  metrics.reading('millrace_renditions_pixels_per_second', {
    help: 'Planned pixels per second of all encoding on this node.',
    read: () => transcoder.totals().pixelRate,
  });
  metrics.reading('millrace_renditions_capacity_pixels_per_second', {
    help: 'Most pixels per second that this node encodes (renditions.capacity).',
    read: () => transcoder.totals().capacity,
  });
  metrics.reading('millrace_renditions_pictures_total', {
    help: 'Pictures encoded in all renditions.',
    read: () => transcoder.totals().pictures,
  });
  metrics.reading('millrace_renditions_restarts_total', {
    help: 'ffmpeg processes restarted after a failure.',
    read: () => transcoder.totals().restarts,
  });
  metrics.readings('millrace_renditions_troubles_total', {
    help: 'Failures of renditions, by reason.',
    // All reasons from the start, as 0: a rate needs a first value.
    read: () => {
      const { troubles } = transcoder.totals();
      return transcodeReasons.map((reason) => ({ labels: { reason }, value: troubles[reason] ?? 0 }));
    },
  });
}
