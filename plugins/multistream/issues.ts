import type { PushReading } from '../../core/ports/pusher.ts';
import { multistreamLimits } from './limits.ts';
import type { Plan } from './plan.ts';

const most = multistreamLimits.issuesPerStream.value;

/** What is wrong with the pushes of one playlist at `now` (epoch ms), in plain words. */
export function issuesOf(
  { pushes, gone }: Plan,
  { readings, now }: { readings: readonly PushReading[]; now: number },
): string[] {
  const issues = gone.map(
    (id) => `Multistream target ${id} was deleted: nothing is sent to it. Take it out of multistream.`,
  );
  for (const { id, trouble, retryAt } of readings) {
    const push = pushes.get(id);
    if (!push || !trouble) continue;
    const again =
      retryAt === undefined
        ? ''
        : ` It is tried again ${retryAt > now ? `in ${inSeconds(retryAt - now)}` : 'now'}.`;
    issues.push(`Multistream target ${push.name} (${push.targetId}): ${trouble.message}${again}`);
  }
  if (issues.length <= most) return issues;
  return [...issues.slice(0, most), `${issues.length - most} more multistream targets have trouble.`];
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
