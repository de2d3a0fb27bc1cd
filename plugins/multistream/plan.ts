import type { PublishGrant } from '../../core/ports/media.ts';
import type { PushOrder } from '../../core/ports/pusher.ts';
import { type Profile, profilesField } from '../renditions/contract.ts';
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
  /** Ids of targets that lead to the stream itself: each such push would take the key from its own encoder. */
  readonly looped: readonly string[];
  /** Targets that want a profile which the stream got when it was on the air already: those of a broadcast are as it began. */
  readonly early: readonly { readonly targetId: string; readonly profile: string }[];
}

/** Of what names no targets, or is not this node's. */
export const nothing: Plan = { entries: 0, pushes: new Map(), orders: [], gone: [], looped: [], early: [] };

/** What a stream that is on the air here wants by now: reads the targets that it names. Faults `store.*`. */
export async function planOf(
  { account, streamKey, fields }: CurrentStream,
  { grant, kit }: { grant: PublishGrant; kit: MultistreamKit },
): Promise<Plan> {
  const { targets } = fields.multistream as { targets: readonly Entry[] };
  if (targets.length === 0) return nothing;
  const found = await Promise.all(targets.map(({ id }) => kit.resources.get(kind, id, { isPlain: true })));
  const pushes = new Map<string, WantedPush>();
  const orders: PushOrder[] = [];
  const gone: string[] = [];
  const looped: string[] = [];
  const early: { targetId: string; profile: string }[] = [];
  const made = new Set(['source', ...(grant.profiles ?? []).map(({ name }) => name)]);
  const { streamId, sessionId, discontinuitySequence: publish } = grant;
  for (const [index, { id: targetId, profile, videoOnly = false }] of targets.entries()) {
    const row = found[index];
    if (row?.account !== account) {
      gone.push(targetId);
      continue;
    }
    const { url, name, disabled } = JSON.parse(row.body) as Target;
    if (disabled) continue;
    // Under whatever name and port this deployment is reached: the key is drawn at random, so it is in no other URL.
    if (url.includes(streamKey)) {
      looped.push(targetId);
      continue;
    }
    if (!made.has(profile)) {
      // Of one that the stream has no longer the field says so.
      const later = (fields[profilesField] ?? []) as readonly Profile[];
      if (later.some(({ name }) => name === profile)) early.push({ targetId, profile });
      continue;
    }
    const id = `${targetId}/${profile}`;
    pushes.set(id, { account, streamId, sessionId, targetId, profile, name, publish });
    orders.push({ id, url, videoOnly, owner: account, ...(profile !== 'source' && { profile }) });
  }
  return { entries: targets.length, pushes, orders, gone, looped, early };
}

interface Entry {
  readonly id: string;
  readonly profile: string;
  readonly videoOnly?: boolean;
}
