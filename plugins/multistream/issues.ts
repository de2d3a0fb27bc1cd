import type { PushReading } from '../../core/ports/pusher.ts';
import type { LadderReading } from '../../core/ports/transcoder.ts';
import type { Plan } from './plan.ts';

/** Targets of one stream that `issues` names; of the others it gives the number. */
const most = 10;

/** What is wrong with the pushes of one playlist at `now` (epoch ms), in plain words. */
export function issuesOf(
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
