import type { PublishGrant } from '../../core/ports/media.ts';
import type { PushOrder } from '../../core/ports/pusher.ts';
import type { CurrentStream } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import type { WantedPush } from './follow.ts';
import { kind, type Target } from './target.ts';

/** What is to be pushed of one playlist. */
export interface Plan {
  /** Targets that the stream names, whether they are pushed or not. */
  readonly entries: number;
  readonly pushes: ReadonlyMap<string, WantedPush>;
  readonly orders: readonly PushOrder[];
  /** Ids of targets that the stream names and that are no more. */
  readonly gone: readonly string[];
}

/** Of what names no targets, or is not this node's. */
export const nothing: Plan = { entries: 0, pushes: new Map(), orders: [], gone: [] };

/** What a stream that is on the air here wants by now: reads the targets that it names. Faults `store.*`. */
export async function planOf(
  { account, fields }: CurrentStream,
  { grant, kit }: { grant: PublishGrant; kit: MultistreamKit },
): Promise<Plan> {
  const { targets } = fields.multistream as { targets: readonly Entry[] };
  if (targets.length === 0) return nothing;
  // Others wait for renditions.
  const entries = targets.filter(({ profile }) => profile === 'source');
  const found = await Promise.all(entries.map(({ id }) => kit.resources.get(kind, id, { isPlain: true })));
  const pushes = new Map<string, WantedPush>();
  const orders: PushOrder[] = [];
  const gone: string[] = [];
  const { streamId, sessionId, discontinuitySequence: publish } = grant;
  for (const [index, { id: targetId, profile, videoOnly = false }] of entries.entries()) {
    const row = found[index];
    if (row?.account !== account) {
      gone.push(targetId);
      continue;
    }
    const { url, name, disabled } = JSON.parse(row.body) as Target;
    if (disabled) continue;
    const id = `${targetId}/${profile}`;
    pushes.set(id, { account, streamId, sessionId, targetId, profile, name, publish });
    orders.push({ id, url, videoOnly });
  }
  return { entries: targets.length, pushes, orders, gone };
}

interface Entry {
  readonly id: string;
  readonly profile: string;
  readonly videoOnly?: boolean;
}
