import { Elysia } from 'elysia';
import { exampleId } from '../../core/base/ids.ts';
import { authenticator } from '../../core/http/auth.ts';
import { reactionParked } from '../../core/plugin/parked-reaction.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { programRoutes } from './program.ts';
import { reactionFaults, reactionRoutes } from './reactions.ts';

/** The state of the deployment, for its operators. */
export default definePlugin({
  id: 'system',
  summary: 'the state of the deployment, for operators',
  needs: [authenticator, services.program],
  emits: {
    [reactionParked]: {
      meaning:
        'Only to the admin account: a reaction of a plugin failed for a day and is not tried any more; `payload.reaction` names it.',
      payload: {
        reaction: {
          ...{ id: exampleId, plugin: 'example', event: { id: exampleId, type: 'stream.started' } },
          ...{ failedAt: 1767225600000, tries: 1, error: 'Error: an example' },
        },
      },
    },
  },
  faults: reactionFaults,
  routes: (kit) => new Elysia().use(programRoutes(kit)).use(reactionRoutes(kit)),
});
