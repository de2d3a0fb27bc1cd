import { services } from '../../core/plugin/services.ts';
import type { LiveReading, PublishGrant } from '../../core/ports/media.ts';
import type { PushReading } from '../../core/ports/pusher.ts';
import type { LadderReading } from '../../core/ports/transcoder.ts';
import { type LiveObserver, type StreamState, streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import type { PushFollower } from './follow.ts';
import { nothing, type Plan, planOf } from './plan.ts';

/** Streams whose targets a node reads at one time, each once a second. The pushes of the others stay as they are meanwhile. */
export const maxReading = 8;

/**
 * Reconciles the pushes of this node with what its streams want: for every playlist here it reads the targets of the stream
 * about once a second, and gives the pusher all of them. Changes are not announced, so none can be lost. What cannot be
 * read stays as it is.
 */
export function targetReconciler(kit: MultistreamKit, follower: PushFollower) {
  const { log } = kit;
  const pusher = kit.use(services.pusher);
  const transcoder = kit.use(services.transcoder);
  const current = kit.use(streams).current;
  /** Of the last round, and of the one under way: playlist → its last publish. */
  let here = new Map<string, PublishGrant>();
  let next = new Map<string, PublishGrant>();
  /** Playlists whose streams name targets. */
  const known = new Map<string, Plan>();
  const waiting = new Map<string, PublishGrant>();
  const reading = new Set<string>();
  let readings: Map<string, PushReading[]> | undefined;
  let ladders: Map<string, LadderReading> | undefined;
  let workers = 0;
  let hasFailed = false;
  let isStopped = false;

  const apply = (playbackId: string, plan: Plan) => {
    if (plan.entries > 0) known.set(playbackId, plan);
    // It had no targets, and has none.
    else if (!known.delete(playbackId)) return;
    follower.wants(playbackId, plan.pushes);
    pusher.want(playbackId, plan.orders);
  };
  const compare = async (grant: PublishGrant): Promise<void> => {
    const { playbackId, streamId } = grant;
    const stream = await current(streamId);
    const plan = stream && isFedHere(stream, grant) ? await planOf(stream, { grant, kit }) : nothing;
    // Its session may have ended during the read.
    if (!isStopped && here.get(playbackId)?.sessionId === grant.sessionId) apply(playbackId, plan);
  };
  const isFedHere = ({ isActive, sessionId, incarnation }: StreamState, grant: PublishGrant) =>
    isActive && sessionId === grant.sessionId && incarnation === kit.deployment.node.incarnation;
  const work = async () => {
    workers += 1;
    for (const [playbackId, grant] of waiting) {
      waiting.delete(playbackId);
      reading.add(playbackId);
      try {
        await compare(grant);
        hasFailed = false;
      } catch (error) {
        // Once for each outage.
        if (!hasFailed) log.warn('push targets could not be read; pushes stay as they are', { error });
        hasFailed = true;
      }
      reading.delete(playbackId);
    }
    workers -= 1;
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
    look({ grant }: LiveReading): readonly string[] {
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
      for (const [playbackId, grant] of here) if (!reading.has(playbackId)) waiting.set(playbackId, grant);
      while (workers < maxReading && waiting.size > 0) void work();
    },
    /** Ends all pushes. */
    stop() {
      isStopped = true;
      waiting.clear();
      for (const playbackId of known.keys()) pusher.want(playbackId, []);
      known.clear();
    },
  } satisfies LiveObserver & { stop(): void };
}

/** Targets of one stream that `issues` names; of the others it gives the number. */
const most = 10;

/** What is wrong with the pushes of one playlist at `now` (epoch ms), in plain words. */
function issuesOf(
  { pushes, issues: unpushed }: Plan,
  state: { readings: readonly PushReading[]; ladder: LadderReading | undefined; now: number },
): string[] {
  const { readings, ladder, now } = state;
  const issues = [...unpushed];
  for (const { id, trouble, retryAt } of readings) {
    const push = pushes.get(id);
    if (!push || !trouble) continue;
    const when = retryAt !== undefined && retryAt > now ? `in ${Math.ceil((retryAt - now) / 1000)} s` : 'now';
    const again = retryAt === undefined ? '' : ` Next attempt ${when}.`;
    issues.push(`Multistream target ${push.name} (${push.targetId}): ${trouble.message}${again}`);
  }
  const idle = idleIssue(pushes, ladder);
  if (issues.length <= most) return [...idle, ...issues];
  return [...idle, ...issues.slice(0, most), `${issues.length - most} more multistream targets have errors.`];
}

/** Once for all targets of renditions. The plugin that makes renditions says why and what to do. */
function idleIssue(pushes: Plan['pushes'], ladder: LadderReading | undefined): string[] {
  if (ladder?.state !== 'waiting' && ladder?.state !== 'refused') return [];
  const profiles = new Set([...pushes.values()].map(({ profile }) => profile));
  profiles.delete('source');
  if (profiles.size === 0) return [];
  return [
    `Multistream targets of the profiles ${[...profiles].join(', ')} receive nothing new: these renditions are not being made.`,
  ];
}
