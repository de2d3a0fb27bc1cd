import type { PublishGrant } from '../../core/ports/media.ts';
import type { PushOrder } from '../../core/ports/pusher.ts';
import { type Profile, profilesField } from '../renditions/contract.ts';
import type { StreamState } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import type { WantedPush } from './follow.ts';
import { kind, type Target, urlOf } from './target.ts';

/** What is to be pushed of one playlist. */
export interface Plan {
  /** Targets that the stream names, whether they are pushed or not. */
  readonly entries: number;
  readonly pushes: ReadonlyMap<string, WantedPush>;
  readonly orders: readonly PushOrder[];
  /** Why some of the named targets are not pushed, in plain words. */
  readonly issues: readonly string[];
}

/** For a stream without targets, or of another node. */
export const nothing: Plan = { entries: 0, pushes: new Map(), orders: [], issues: [] };

/** Reads the targets of a stream that is on the air here. Faults `store.*`. */
export async function planOf(
  { account, streamKey, fields }: StreamState,
  { grant, kit }: { grant: PublishGrant; kit: MultistreamKit },
): Promise<Plan> {
  const { targets } = fields.multistream as { targets: readonly Entry[] };
  if (targets.length === 0) return nothing;
  const found = await Promise.all(targets.map(({ id }) => kit.resources.get(kind, id)));
  const pushes = new Map<string, WantedPush>();
  const orders: PushOrder[] = [];
  const issues: string[] = [];
  const made = new Set(['source', ...(grant.profiles ?? []).map(({ name }) => name)]);
  const { streamId, sessionId, discontinuitySequence: publish } = grant;
  for (const [index, { id: targetId, profile, videoOnly = false }] of targets.entries()) {
    const row = found[index];
    if (row?.account !== account) {
      issues.push(
        `Multistream target ${targetId} was deleted: nothing is sent to it. Remove it from multistream.`,
      );
      continue;
    }
    const target = JSON.parse(row.body) as Target;
    const { name, disabled } = target;
    if (disabled) continue;
    const url = urlOf(target, kit);
    if (url === undefined) {
      issues.push(
        `The URL of multistream target ${targetId} cannot be decrypted: nothing is sent to it. Set its URL again.`,
      );
      continue;
    }
    // Such a push would take the key from its own encoder. By any host and port: the key is random, so it is in no other URL.
    if (url.includes(streamKey)) {
      issues.push(
        `Multistream target ${targetId} leads back to this stream: nothing is sent to it. Change its URL.`,
      );
      continue;
    }
    if (!made.has(profile)) {
      // Profiles are fixed when a broadcast begins. For one that the stream no longer has, the field has an issue.
      const later = (fields[profilesField] ?? []) as readonly Profile[];
      if (later.some(({ name }) => name === profile))
        issues.push(
          `Multistream target ${targetId} wants the profile "${profile}", which was added after this broadcast had begun: nothing is sent to it before the next broadcast.`,
        );
      continue;
    }
    const id = `${targetId}/${profile}`;
    pushes.set(id, { account, streamId, sessionId, targetId, profile, name, publish });
    orders.push({ id, url, videoOnly, owner: account, ...(profile !== 'source' && { profile }) });
  }
  return { entries: targets.length, pushes, orders, issues };
}

interface Entry {
  readonly id: string;
  readonly profile: string;
  readonly videoOnly?: boolean;
}
