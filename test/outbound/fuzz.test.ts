import { expect, test } from 'vitest';
import { cidr } from '../../core/base/cidr.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { resolver } from '../../runtime/drivers/outbound/resolver.ts';
import { target } from '../../runtime/drivers/outbound/target.ts';
import { client, receiver, said } from './kit.ts';

/** Said anew here: what the guard knows is what is under test. */
const inside =
  /^(0|10|127)\.|^169\.254\.|^192\.168\.|^172\.(1[6-9]|2\d|3[01])\.|^(22[4-9]|2[3-5]\d)\.|^f|^::/;
const rounds = 4_000;
const seed = 20_261_121;
/** Where spies listen. */
const inner = ['127.0.0.2', '127.0.0.3', '::1'];
const digits = [
  ...'0123456789abcdefxX.:%[]/\\@?#-_~ \t',
  ...'０１２７①②⑦。．｡𝟏𝟐𝟕ⓧ\u00ad\u200b\u2024\u0660',
  ...[
    '%2e',
    '%30',
    '%00',
    '%25',
    '0x',
    '0x7f',
    '0177',
    '::',
    '::ffff:',
    '64:ff9b::',
    '127',
    '.0.0.2',
    '.localhost',
  ],
];

/** Every URL that the parser takes is asked for; listeners on refused addresses must never be reached. */
test('no spelling of a host reaches a refused address', async () => {
  const random = xorshift(seed);
  const spies = await Promise.all(inner.map((host) => receiver(() => said(200), { host })));
  await using open = await receiver(() => said(200));
  // Every name is an attacker's and stands for a spy.
  const lookup = async () => [inner[random(inner.length)]];
  using outbound = client({ lookup });
  const names = resolver({
    lookup,
    allow: [cidr('127.0.0.1/32')!],
    clock: systemClock(),
  });
  let parsed = 0;
  let answered = 0;
  for (let round = 0; round < rounds; round++) {
    const host = mutated([...inner, '127.0.0.1', '[::1]', '2130706434', 'a.example'], random);
    const { port } = random(4) === 0 ? open : spies[random(spies.length)];
    const url = `http://${host}:${port}/`;
    if (URL.canParse(url)) parsed++;
    const to = target(url);
    const addresses = to.ok ? await names.resolve(to) : [];
    if (Array.isArray(addresses) && addresses.some((one) => one !== '127.0.0.1')) {
      // A number that happens to be public: nobody there asked for a call from a test.
      expect(addresses, url).toEqual([expect.not.stringMatching(inside)]);
      continue;
    }
    const outcome = await outbound.request(url);
    if (!outcome.ok) continue;
    answered++;
    expect(new URL(outcome.url).host, url).toMatch(/^(127\.0\.0\.1|([^/]*\.)?localhost\.?)(:\d+)?$/);
  }
  expect(spies.map(({ connections }) => connections)).toEqual(inner.map(() => 0));
  // Otherwise it would have shown nothing.
  expect(parsed).toBeGreaterThan(rounds / 20);
  expect(answered).toBeGreaterThan(0);
  for (const spy of spies) await spy[Symbol.asyncDispose]();
}, 60_000);

function mutated(from: readonly string[], random: (below: number) => number): string {
  const host = [...from[random(from.length)]];
  for (let edits = random(4); edits > 0; edits--) {
    const piece = digits[random(digits.length)];
    host.splice(random(host.length + 1), random(2), piece);
  }
  return host.join('');
}

function xorshift(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
