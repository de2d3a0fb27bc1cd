import { services } from '../../core/plugin/services.ts';
import type { LiveReading, PublishGrant } from '../../core/ports/media.ts';
import type { Pusher, PushReading } from '../../core/ports/pusher.ts';
import type { LadderReading, Transcoder } from '../../core/ports/transcoder.ts';
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
export class TargetReconciler implements LiveObserver {
  readonly #kit: MultistreamKit;
  readonly #follower: PushFollower;
  readonly #pusher: Pusher;
  readonly #transcoder: Transcoder;
  /** Of the last round, and of the one under way: playlist → its last publish. */
  #here = new Map<string, PublishGrant>();
  #next = new Map<string, PublishGrant>();
  /** Playlists whose streams name targets. */
  readonly #known = new Map<string, Plan>();
  readonly #waiting = new Map<string, PublishGrant>();
  readonly #reading = new Set<string>();
  #readings: Map<string, PushReading[]> | undefined;
  #ladders: Map<string, LadderReading> | undefined;
  #workers = 0;
  #hasFailed = false;
  #isStopped = false;

  constructor(kit: MultistreamKit, follower: PushFollower) {
    this.#kit = kit;
    this.#follower = follower;
    this.#pusher = kit.use(services.pusher);
    this.#transcoder = kit.use(services.transcoder);
  }

  look({ grant }: LiveReading): readonly string[] {
    this.#next.set(grant.playbackId, grant);
    return [];
  }

  remark({ grant: { playbackId } }: LiveReading, now: number): string[] {
    const plan = this.#known.get(playbackId);
    if (plan === undefined) return [];
    const readings = this.#readingsOf(playbackId);
    return issuesOf(plan, { readings, ladder: this.#ladderOf(playbackId), now });
  }

  seen(): void {
    this.#here = this.#next;
    this.#next = new Map();
    this.#readings = this.#ladders = undefined;
    for (const playbackId of this.#known.keys()) {
      if (this.#here.has(playbackId)) continue;
      this.#known.delete(playbackId);
      this.#follower.wants(playbackId, new Map());
    }
    for (const playbackId of this.#waiting.keys())
      if (!this.#here.has(playbackId)) this.#waiting.delete(playbackId);
    for (const [playbackId, grant] of this.#here)
      if (!this.#reading.has(playbackId)) this.#waiting.set(playbackId, grant);
    while (this.#workers < maxReading && this.#waiting.size > 0) void this.#work();
  }

  /** Ends all pushes. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting.clear();
    for (const playbackId of this.#known.keys()) this.#pusher.want(playbackId, []);
    this.#known.clear();
  }

  #apply(playbackId: string, plan: Plan): void {
    if (plan.entries > 0) this.#known.set(playbackId, plan);
    // It had no targets, and has none.
    else if (!this.#known.delete(playbackId)) return;
    this.#follower.wants(playbackId, plan.pushes);
    this.#pusher.want(playbackId, plan.orders);
  }

  async #compare(grant: PublishGrant): Promise<void> {
    const { playbackId, streamId } = grant;
    const kit = this.#kit;
    const stream = await kit.use(streams).current(streamId);
    const plan = stream && this.#isFedHere(stream, grant) ? await planOf(stream, { grant, kit }) : nothing;
    // Its session may have ended during the read.
    if (!this.#isStopped && this.#here.get(playbackId)?.sessionId === grant.sessionId)
      this.#apply(playbackId, plan);
  }

  #isFedHere({ isActive, sessionId, incarnation }: StreamState, grant: PublishGrant): boolean {
    return isActive && sessionId === grant.sessionId && incarnation === this.#kit.deployment.node.incarnation;
  }

  async #work(): Promise<void> {
    this.#workers += 1;
    for (const [playbackId, grant] of this.#waiting) {
      this.#waiting.delete(playbackId);
      this.#reading.add(playbackId);
      try {
        await this.#compare(grant);
        this.#hasFailed = false;
      } catch (error) {
        // Once for each outage.
        if (!this.#hasFailed)
          this.#kit.log.warn('push targets could not be read; pushes stay as they are', { error });
        this.#hasFailed = true;
      }
      this.#reading.delete(playbackId);
    }
    this.#workers -= 1;
  }

  #readingsOf(playbackId: string): readonly PushReading[] {
    this.#readings ??= Map.groupBy(this.#pusher.readings(), (one) => one.playbackId);
    return this.#readings.get(playbackId) ?? [];
  }

  #ladderOf(playbackId: string): LadderReading | undefined {
    this.#ladders ??= new Map(this.#transcoder.readings().map((one) => [one.playbackId, one]));
    return this.#ladders.get(playbackId);
  }
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
