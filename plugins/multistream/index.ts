import { exampleId } from '../../core/base/ids.ts';
import { storedKinds } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { streams } from '../streams/contract.ts';
import { config } from './config.ts';
import { multistream } from './field.ts';
import { PushFollower } from './follow.ts';
import { measurePushes } from './measure.ts';
import { push } from './push.ts';
import { TargetReconciler } from './reconciler.ts';
import { routes } from './routes.ts';
import { lostNode, reconcilePushes, sessionEnded } from './session-ended.ts';
import { kind, sealOldUrls } from './target.ts';

/** Of events, as an example. */
const payload = { target: { id: exampleId, name: 'Example', profile: 'source' } };

/** Multistream targets, the field by which streams name them, and the pushes of broadcasts to them. */
export default definePlugin({
  id: 'multistream',
  summary: 'pushes broadcasts to multistream targets',
  offers: [offer(storedKinds, () => ({ kind }))],
  needs: [authenticator, streams, services.pusher, services.secrets, services.transcoder],
  extends: [multistream],
  config,
  actors: [push],
  emits: {
    'multistream.connected': {
      meaning: 'A broadcast is being sent to a multistream target.',
      ...{ payload, hasStream: true },
    },
    'multistream.disconnected': {
      meaning: 'A broadcast is no longer sent: the target was lost or removed, or the broadcast has ended.',
      ...{ payload, hasStream: true },
    },
    'multistream.error': {
      meaning:
        'A target cannot be reached, was lost, or is too slow for the broadcast; `payload.error` says why.',
      ...{ payload: { ...payload, error: 'An example.' }, hasStream: true },
    },
  },
  reactions: { 'session.over': sessionEnded },
  lostNode,
  duties: { endMissed: reconcilePushes, sealUrls: sealOldUrls },
  faults: {
    'multistream.invalid': {
      status: 400,
      meaning:
        'A target of the multistream field is unknown or listed twice, has an unknown profile, not exactly one of id and spec, or an invalid URL.',
    },
    'target.not_found': {
      status: 404,
      meaning: 'There is no multistream target of this id in your account.',
    },
    'target.too_many': {
      status: 403,
      meaning: 'The account has the maximum number of multistream targets (plugins.multistream.maxTargets).',
    },
    'target.busy': {
      status: 409,
      meaning: 'Other requests change this target at the same time; nothing was changed. Try again.',
    },
  },
  routes,
  start(kit) {
    if (!kit.deployment.nodes.own.roles.includes('media')) return undefined;
    const follower = new PushFollower(kit);
    measurePushes(kit, follower);
    const reconciler = new TargetReconciler(kit, follower);
    kit.use(services.pusher).tell((fact) => follower.report(fact));
    const unobserve = kit.use(streams).observe(reconciler);
    return async () => {
      unobserve();
      reconciler.stop();
      await follower.ended();
    };
  },
});
