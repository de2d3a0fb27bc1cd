import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

/** Characters, dashes not counted: random ones of so many are beyond guessing. */
const leastCharacters = 16;
/** Different ones: what has fewer was typed, not made. */
const leastDifferent = 8;
/** A key whose claim is this new may not be in its stream yet, ms. */
const claimTime = 60_000;
const kind = 'stream-key';

/** A key that its owner brings along, such as one of another platform that encoders already have. */
export const ownKeySchema = Type.String({
  minLength: leastCharacters,
  maxLength: 128,
  pattern: '^[A-Za-z0-9_-]{16,128}$',
  expected: '16 to 128 letters, digits, _ and -',
  description:
    'A key that encoders have already, such as one of another platform. It needs 16 letters or digits, 8 of them different, and no other stream may have it. Default: a new random key.',
  examples: ['x3k9-a8fh-20pq-7mzc'],
});

interface Claim {
  readonly streamId: string;
}

/**
 * Takes a key for a stream, so that no other one gets it. Faults: `body.invalid` (422) for one that could be guessed,
 * `stream.key_taken` (409). May be repeated.
 */
export async function claimKey(
  key: string,
  { streamId, account, kit }: { streamId: string; account: string; kit: Pick<Kit, 'resources' | 'clock'> },
): Promise<void> {
  const counted = key.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (counted.length < leastCharacters || new Set(counted).size < leastDifferent)
    throw new Fault('body.invalid', {
      status: 422,
      message: `streamKey: expected at least ${leastCharacters} letters or digits, ${leastDifferent} of them different: this key could be guessed`,
    });
  const { resources, clock } = kit;
  const owner = await resources.find('stream', 'streamKey', key);
  if (owner?.id === streamId) return;
  if (owner) throw taken();
  // Two streams that take the same key at the same moment write the same row: one of them fails.
  const id = derivedId(`stream key ${key}`);
  const before = await resources.get(kind, id);
  if (before) {
    const { streamId: claimer } = JSON.parse(before.body) as Claim;
    if (claimer !== streamId && clock.now() - before.createdAt < claimTime) throw taken();
  }
  const body = JSON.stringify({ streamId } satisfies Claim);
  const row = { kind, id, account, createdAt: clock.now(), name: '', body, indexes: {} };
  const written = await resources.write({ rows: [{ ...row, revision: before?.revision ?? 0 }], events: [] });
  if (written === 'conflict') throw taken();
}

function taken(): Fault {
  return new Fault('stream.key_taken', {
    status: 409,
    message: 'Another stream has this key. Use another one, or none for a new random key.',
  });
}
