import { definePlugin, type Kit } from '../../core/plugin/plugin.ts';
import type { Derivation } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { filmFiles } from '../assets/contract.ts';
import { liveFiles } from '../streams/contract.ts';
import { assetFields, streamFields } from './fields.ts';
import { liveThumbnail } from './live.ts';
import { measureStills } from './measure.ts';
import { storyboard, storyboardCues } from './storyboard.ts';
import { filmThumbnail } from './thumbnail.ts';

/** Pictures of broadcasts and films. */
export default definePlugin({
  id: 'stills',
  summary: 'thumbnails of broadcasts and assets, storyboards of assets',
  needs: [services.media, services.stills],
  derives: [streamFields, assetFields] as readonly Derivation<Kit>[],
  offers: [
    offer(liveFiles, liveThumbnail),
    offer(filmFiles, filmThumbnail),
    offer(filmFiles, storyboard),
    offer(filmFiles, storyboardCues),
  ],
  start(kit) {
    measureStills(kit);
    return undefined;
  },
});
