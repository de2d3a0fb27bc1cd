import { authenticator } from '../../core/http/auth.ts';
import { reactionParked } from '../../core/plugin/parked-reaction.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { reactionFaults, reactionRoutes } from './reactions.ts';

/** The state of the deployment, for its operators. */
export default definePlugin({
  id: 'system',
  summary: 'the state of the deployment, for operators',
  needs: [authenticator],
  emits: {
    [reactionParked]:
      'Only to the admin account: a reaction of a plugin failed for a day and is not tried any more; `payload.reaction` names it.',
  },
  faults: reactionFaults,
  routes: reactionRoutes,
});
