import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { assets } from '../assets/contract.ts';
import { taskKinds, tasks } from '../tasks/contract.ts';
import { routes, transcodeKind } from './request.ts';

/** Makes an asset from another one, in a different size. */
export default definePlugin({
  id: 'transcode',
  summary: 'transcodes assets into new ones',
  needs: [authenticator, assets, tasks, services.converter],
  offers: [offer(taskKinds, transcodeKind)],
  faults: {
    'transcode.refused': {
      status: 422,
      meaning: 'The asset has no video, or its video is too large; the message says which.',
    },
  },
  routes,
});
