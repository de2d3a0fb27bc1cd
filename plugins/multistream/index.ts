import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { streams } from '../streams/contract.ts';
import { comparing } from './compare.ts';
import { config } from './config.ts';
import { multistream } from './field.ts';
import { pushFollower } from './follow.ts';
import { measurePushes } from './measure.ts';
import { endingMissed, lostNode, sessionOver } from './over.ts';
import { push } from './push.ts';
import { routes } from './routes.ts';

/** Multistream targets, the field by which streams name them, and seeing to it that broadcasts are pushed to them. */
export default definePlugin({
  id: 'multistream',
  summary: 'broadcasts are pushed to multistream targets',
  needs: [authenticator, streams, services.pusher, services.transcoder],
  extends: [multistream],
  config,
  actors: [push],
  emits: {
    'multistream.connected': 'A broadcast is being sent to a multistream target.',
    'multistream.disconnected': 'It is no more: the target was lost or taken away, or the broadcast is over.',
    'multistream.error':
      'A target cannot be reached, was lost, or takes less than is broadcast; `payload.error` says why.',
  },
  reactions: { 'session.over': sessionOver },
  lostNode,
  duties: { endMissed: endingMissed },
  faults: {
    'multistream.invalid': {
      status: 400,
      meaning:
        'A target of the multistream field is unknown, there twice, wants an unknown profile, has not exactly one of id and spec, or a URL that is none.',
    },
    'target.not_found': {
      status: 404,
      meaning: 'There is no multistream target of this id in your account.',
    },
    'target.too_many': {
      status: 403,
      meaning: 'The account has as many multistream targets as it may have (plugins.multistream.maxTargets).',
    },
    'target.busy': {
      status: 409,
      meaning: 'Others change this target; nothing was changed. Try again.',
    },
  },
  routes,
  start(kit) {
    if (!kit.deployment.nodes.own.roles.includes('media')) return undefined;
    const follower = pushFollower(kit);
    measurePushes(kit, follower);
    const compare = comparing(kit, follower);
    kit.use(services.pusher).tell((fact) => follower.report(fact));
    const unobserve = kit.use(streams).observe(compare);
    return async () => {
      unobserve();
      compare.stop();
      await follower.ended();
    };
  },
});
