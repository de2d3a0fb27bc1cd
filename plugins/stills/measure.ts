import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { type StillCounts, stillKinds } from '../../core/ports/stills.ts';

/** Metrics of thumbnails and storyboards on this node. */
export function measureStills(kit: Pick<Kit, 'metrics' | 'use'>): void {
  const { metrics } = kit;
  const stills = kit.use(services.stills);
  metrics.readings('millrace_stills_total', {
    help: 'Requests for thumbnails and storyboards on this node, by outcome.',
    read: () =>
      stillKinds.flatMap((kind) =>
        outcomes.map((outcome) => ({
          labels: { kind, outcome },
          value: stills.totals().kinds[kind][outcome],
        })),
      ),
  });
  metrics.reading('millrace_stills_running', {
    help: 'Thumbnails and storyboards being made.',
    read: () => stills.totals().running,
  });
  metrics.reading('millrace_stills_held_bytes', {
    help: 'Memory of kept thumbnails and storyboards.',
    read: () => stills.totals().bytes,
  });
}

const outcomes: readonly (keyof StillCounts)[] = ['made', 'shared', 'refused', 'failed'];
