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
  /** Ids of named targets that were deleted. */
  readonly gone: readonly string[];
  /** Ids of targets that lead back to the stream: such a push would take the key from its own encoder. */
  readonly looped: readonly string[];
  /** Targets of a profile that was added after the broadcast began: its profiles are fixed at its beginning. */
  readonly early: readonly { readonly targetId: string; readonly profile: string }[];
}

/** For a stream without targets, or of another node. */
export const nothing: Plan = { entries: 0, pushes: new Map(), orders: [], gone: [], looped: [], early: [] };

/** Reads the targets of a stream that is on the air here. Faults `store.*`. */
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
    // By any host and port: the key is random, so it is in no other URL.
    if (url.includes(streamKey)) {
      looped.push(targetId);
      continue;
    }
    if (!made.has(profile)) {
      // For a profile that the stream no longer has, the field has an issue.
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
