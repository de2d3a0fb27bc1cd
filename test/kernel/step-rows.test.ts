import { expect, it } from 'vitest';
import { begin } from '../../core/plugin/step.ts';
import { stepCommit } from '../../runtime/actors/step-commit.ts';
import { bareBroadcast, settings } from '../kit/broadcast-actor.ts';

const actor = `broadcast/${settings.id}`;

/** The first step of a broadcast, whose type names these kinds. */
function rowsWith(kinds: typeof bareBroadcast.kinds, of = actor) {
  const { kinds: _, ...rest } = bareBroadcast;
  const type = { ...rest, ...(kinds && { kinds }) };
  const step = begin(bareBroadcast as never, settings, 0);
  return stepCommit(
    { type: type as never, tools: undefined },
    { actor: of, cause: 'c', at: 0, sequence: 0, step },
  );
}

it('a step writes only rows that its type names', () => {
  expect(rowsWith({ stream: 'own' }).commit.rows).toHaveLength(1);
  expect(rowsWith({ stream: 'any' }, 'broadcast/other').commit.rows).toHaveLength(1);
  const others: (typeof bareBroadcast.kinds)[] = [undefined, {}, { asset: 'any' }];
  for (const kinds of others) {
    expect(() => rowsWith(kinds)).toThrow('writes a row of stream, which its kinds do not name');
  }
});

it('a row of a kind with the ids of actors has the one of its own', () => {
  expect(() => rowsWith({ stream: 'own' }, 'broadcast/other')).toThrow("say that it has the actor's id");
});
