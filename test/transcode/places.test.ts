import { expect, it } from 'vitest';
import { ConversionPlaces } from '../../runtime/media/transcode/places.ts';

const { signal } = new AbortController();

/** Asks for places, and notes who has one. */
function asked(places: ConversionPlaces) {
  const held: string[] = [];
  const leave = new Map<string, () => void>();
  const take = (account: string, name = account) =>
    void places.take(account, signal).then((given) => {
      if (given === 'full') throw new Error('full');
      held.push(name);
      leave.set(name, given);
    });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { held, take, settled, leave: (name: string) => leave.get(name)?.() };
}

it('keeps nobody waiting who has no conversion, whatever another account holds', async () => {
  const places = new ConversionPlaces({ running: 2, waiting: 10 });
  const { held, take, settled, leave } = asked(places);
  for (const name of ['a1', 'a2', 'a3']) take('a', name);
  take('b');
  take('c');
  await settled();
  // There is one place more, and no second one.
  expect(held).toEqual(['a1', 'a2', 'b']);
  expect([places.running, places.waiting]).toEqual([3, 2]);
  leave('a1');
  await settled();
  expect(held.at(-1)).toBe('c');
  leave('b');
  await settled();
  // Two run, and that is all for whoever has one already.
  expect([held.length, places.running]).toEqual([4, 2]);
  leave('a2');
  await settled();
  expect(held.at(-1)).toBe('a3');
});

it('refuses when too many wait, and forgets who gives up', async () => {
  const places = new ConversionPlaces({ running: 1, waiting: 1 });
  expect(typeof (await places.take('a', signal))).toBe('function');
  const leaving = new AbortController();
  const waiting = places.take('a', leaving.signal);
  expect(await places.take('a', signal)).toBe('full');
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect([places.running, places.waiting]).toEqual([1, 0]);
});
