import { valuesOf } from '../../core/base/limit-table.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveReading, PublishGrant } from '../../core/ports/media.ts';
import type { PushReading } from '../../core/ports/pusher.ts';
import type { LadderReading } from '../../core/ports/transcoder.ts';
import { type CurrentStream, type LiveObserver, streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import type { PushFollower } from './follow.ts';
import { issuesOf } from './issues.ts';
import { multistreamLimits } from './limits.ts';
import { nothing, type Plan, planOf } from './plan.ts';

const { comparedAtOnce } = valuesOf(multistreamLimits);

/**
 * Sees to it that this node pushes what is to be pushed: for every playlist here it reads about once a second what its stream
 * wants by now, and tells the pusher the whole of it. Nobody needs to be told of a change, so no news can be lost. What
 * cannot be read stays as it is.
 */
export function comparing(kit: MultistreamKit, follower: PushFollower): Comparing {
  const { log } = kit;
  const pusher = kit.use(services.pusher);
  const transcoder = kit.use(services.transcoder);
  const current = kit.use(streams).current;
  /** Of the last round, and those that are looked at for the next: playlist → the publish that came last. */
  let here = new Map<string, PublishGrant>();
  let next = new Map<string, PublishGrant>();
  /** What is pushed, or would be. Playlists that have no targets are not here. */
  const known = new Map<string, Plan>();
  const waiting = new Map<string, PublishGrant>();
  const reading = new Set<string>();
  let readings: Map<string, PushReading[]> | undefined;
  let ladders: Map<string, LadderReading> | undefined;
  let hasFailed = false;
  let isStopped = false;

  const apply = (playbackId: string, plan: Plan) => {
    if (plan.entries > 0) known.set(playbackId, plan);
    // Nobody wanted anything of it, and nobody does.
    else if (!known.delete(playbackId)) return;
    follower.wants(playbackId, plan.pushes);
    pusher.want(playbackId, plan.orders);
  };
  const compare = async (grant: PublishGrant): Promise<void> => {
    const { playbackId, streamId } = grant;
    const stream = await current(streamId);
    const plan = stream && isFedHere(stream, grant) ? await planOf(stream, { grant, kit }) : nothing;
    // It may have gone, or be another's, since it was read for.
    if (!isStopped && here.get(playbackId)?.sessionId === grant.sessionId) apply(playbackId, plan);
  };
  const isFedHere = ({ isActive, sessionId, incarnation }: CurrentStream, grant: PublishGrant) =>
    isActive && sessionId === grant.sessionId && incarnation === kit.deployment.node.incarnation;
  const pump = () => {
    for (const [playbackId, grant] of waiting) {
      if (reading.size >= comparedAtOnce) return;
      if (reading.has(playbackId)) continue;
      waiting.delete(playbackId);
      reading.add(playbackId);
      compare(grant)
        .then(
          () => {
            hasFailed = false;
          },
          (error: unknown) => {
            // Once for each outage.
            if (!hasFailed)
              log.warn('what is to be pushed could not be read; pushes stay as they are', { error });
            hasFailed = true;
          },
        )
        .finally(() => {
          reading.delete(playbackId);
          if (!isStopped) pump();
        });
    }
  };
  const readingsOf = (playbackId: string): readonly PushReading[] => {
    readings ??= Map.groupBy(pusher.readings(), (one) => one.playbackId);
    return readings.get(playbackId) ?? [];
  };
  const ladderOf = (playbackId: string): LadderReading | undefined => {
    ladders ??= new Map(transcoder.readings().map((one) => [one.playbackId, one]));
    return ladders.get(playbackId);
  };

  return {
    look({ grant }) {
      next.set(grant.playbackId, grant);
      return [];
    },
    remark({ grant: { playbackId } }: LiveReading, now: number) {
      const plan = known.get(playbackId);
      if (plan === undefined) return [];
      return issuesOf(plan, { readings: readingsOf(playbackId), ladder: ladderOf(playbackId), now });
    },
    seen() {
      here = next;
      next = new Map();
      readings = ladders = undefined;
      for (const playbackId of known.keys()) {
        if (here.has(playbackId)) continue;
        known.delete(playbackId);
        follower.wants(playbackId, new Map());
      }
      for (const playbackId of waiting.keys()) if (!here.has(playbackId)) waiting.delete(playbackId);
      for (const [playbackId, grant] of here) waiting.set(playbackId, grant);
      pump();
    },
    stop() {
      isStopped = true;
      waiting.clear();
      for (const playbackId of known.keys()) pusher.want(playbackId, []);
      known.clear();
    },
  };
}

interface Comparing extends LiveObserver {
  /** Nothing is pushed any more. */
  stop(): void;
}
