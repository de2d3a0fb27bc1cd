import { Remembered } from '../../core/base/remembered.ts';
import type { PlaySubject } from '../../core/plugin/decide.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { type PlayedFacts, playedFacts } from '../playback/contract.ts';
import type { Policy } from './contract.ts';
import { type Policies, policiesOf } from './policies.ts';
import { isOpen, policyDigest } from './policy.ts';
import { noRevocations, type Revocations, readRevocations } from './revocations.ts';

/**
 * How long what is known of something counts without another look, ms. It counts twice as long while it is read again, and what is
 * known of an account may be 2 s old: a change is noticed within 5 s.
 */
const fresh = 1000;
/** Things in memory, some 1 KB each. */
const maxKnown = 20_000;

/** What decides about something that is played. */
export interface Watched {
  readonly account: string;
  /** Ids that a token may name. */
  readonly names: readonly string[];
  /** Absent: everybody may watch. */
  readonly policy?: Policy;
  readonly digest: string;
  readonly revocations: Revocations;
}

/** Finds what decides about something. As it was less than 5 s ago; while the store does not answer, as it was last known. */
export interface WatchedFinder {
  of(subject: PlaySubject): Watched | Promise<Watched>;
  /** What decides about it was changed here: it is read again for the next request. */
  forget(subject: PlaySubject): void;
}

export function watchedFinder(
  kit: Pick<Kit, 'clock' | 'resources' | 'offered' | 'use' | 'config'>,
): WatchedFinder {
  const known = new Remembered<Watched>({ clock: kit.clock, fresh, most: maxKnown });
  const sources = kit.offered(playedFacts);
  const policies = policiesOf(kit);
  return {
    of: (subject) => known.get(bindingOf(subject), () => read(subject, { kit, sources, policies })),
    forget: (subject) => known.forget(bindingOf(subject)),
  };
}

/** What a pass is bound to: it opens nothing else. */
export function bindingOf({ kind, playbackId, assetId }: PlaySubject): string {
  return `${kind} ${playbackId ?? assetId ?? ''}`;
}

async function read(
  subject: PlaySubject,
  {
    kit,
    sources,
    policies,
  }: {
    kit: Pick<Kit, 'resources'>;
    sources: readonly ((subject: PlaySubject) => Promise<PlayedFacts | undefined>)[];
    policies: Policies;
  },
): Promise<Watched> {
  const { account, playbackId } = subject;
  const found = (await Promise.all(sources.map((source) => source(subject)))).filter(
    (one) => one !== undefined,
  );
  // A stream that was deleted a moment ago must not become open for that moment.
  if (found.length === 0 && subject.kind === 'live')
    return { account, names: [], policy: { type: 'signed' }, digest: 'gone', revocations: noRevocations };
  // An asset has its own policy before that of the stream that it is a recording of.
  if (subject.kind === 'asset') found.reverse();
  const own = found.map(({ fields }) => fields.playbackPolicy as Policy | undefined).find(Boolean);
  const policy = own ?? (await policies.of(account));
  const names = [...new Set([...found.flatMap((one) => one.names), ...(playbackId ? [playbackId] : [])])];
  if (!policy || isOpen(policy)) return { account, names, digest: '', revocations: noRevocations };
  return {
    ...{ account, names, policy, digest: policyDigest(policy) },
    revocations: await readRevocations(names, kit),
  };
}
