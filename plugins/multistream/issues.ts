import type { PushReading } from '../../core/ports/pusher.ts';
import type { LadderReading } from '../../core/ports/transcoder.ts';
import { multistreamLimits } from './limits.ts';
import type { Plan } from './plan.ts';

const most = multistreamLimits.issuesPerStream.value;

/** What is wrong with the pushes of one playlist at `now` (epoch ms), in plain words. */
export function issuesOf(
  { pushes, gone, looped, early }: Plan,
  {
    readings,
    ladder,
    now,
  }: { readings: readonly PushReading[]; ladder: LadderReading | undefined; now: number },
): string[] {
  const issues = [
    ...gone.map(
      (id) => `Multistream target ${id} was deleted: nothing is sent to it. Take it out of multistream.`,
    ),
    ...looped.map(
      (id) =>
        `Multistream target ${id} leads to this stream itself: nothing is sent to it. Give it another URL.`,
    ),
    ...early.map(
      ({ targetId, profile }) =>
        `Multistream target ${targetId} wants the profile "${profile}", which came when this broadcast had begun: nothing is sent to it before the next one.`,
    ),
  ];
  for (const { id, trouble, retryAt } of readings) {
    const push = pushes.get(id);
    if (!push || !trouble) continue;
    const again =
      retryAt === undefined
        ? ''
        : ` It is tried again ${retryAt > now ? `in ${inSeconds(retryAt - now)}` : 'now'}.`;
    issues.push(`Multistream target ${push.name} (${push.targetId}): ${trouble.message}${again}`);
  }
  const idle = idleIssue(pushes, ladder);
  if (issues.length <= most) return [...idle, ...issues];
  return [
    ...idle,
    ...issues.slice(0, most),
    `${issues.length - most} more multistream targets have trouble.`,
  ];
}

/** Said once for all targets of renditions; why, and how to mend it, says the plugin that has them made. */
function idleIssue(pushes: Plan['pushes'], ladder: LadderReading | undefined): string[] {
  if (ladder?.state !== 'waiting' && ladder?.state !== 'refused') return [];
  const profiles = new Set([...pushes.values()].map(({ profile }) => profile));
  profiles.delete('source');
  if (profiles.size === 0) return [];
  return [
    `Nothing new is sent to multistream targets that want ${[...profiles].join(', ')}: it is not being made.`,
  ];
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
