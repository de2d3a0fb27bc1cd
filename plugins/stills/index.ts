import { definePlugin, type Kit } from '../../core/plugin/plugin.ts';
import type { Derivation } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { type StillCounts, stillKinds } from '../../core/ports/stills.ts';
import { filmFiles } from '../assets/contract.ts';
import { liveFiles } from '../streams/contract.ts';
import { animation, animationFormats } from './animated.ts';
import { assetFields, streamFields } from './fields.ts';
import { thumbnailFormats } from './films.ts';
import { liveThumbnail } from './live.ts';
import { storyboard, storyboardCues } from './storyboard.ts';
import { filmThumbnail } from './thumbnail.ts';

/** Pictures of broadcasts and films. */
export default definePlugin({
  id: 'stills',
  summary: 'thumbnails of broadcasts and assets, animations and storyboards of assets',
  needs: [services.media, services.stills],
  derives: [streamFields, assetFields] as readonly Derivation<Kit>[],
  offers: [
    ...thumbnailFormats.map((format) => offer(liveFiles, (kit: Kit) => liveThumbnail(format, kit))),
    ...thumbnailFormats.map((format) => offer(filmFiles, (kit: Kit) => filmThumbnail(format, kit))),
    ...animationFormats.map((format) => offer(filmFiles, (kit: Kit) => animation(format, kit))),
    offer(filmFiles, storyboard),
    offer(filmFiles, storyboardCues),
  ],
  start(kit) {
    measureStills(kit);
    return undefined;
  },
});

/** Metrics of thumbnails and storyboards on this node. */
function measureStills(kit: Pick<Kit, 'metrics' | 'use'>): void {
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
