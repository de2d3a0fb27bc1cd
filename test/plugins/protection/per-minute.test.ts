import { expect, it } from 'vitest';
import { mostOfAddress, mostOfHost, PerMinute } from '../../../plugins/protection/per-minute.ts';

const asks = (rates: PerMinute, of: { host?: string; address?: string; now?: number }) =>
  rates.take({ host: of.host ?? 'a hook', account: 'a', address: of.address ?? '192.0.2.1' }, of.now ?? 0);

it('an address with ever new tokens is asked about so often a minute, and others go on', () => {
  const rates = new PerMinute();
  const taken = Array.from({ length: 2 * mostOfAddress }, () => asks(rates, {})).filter(Boolean);
  expect(taken).toHaveLength(mostOfAddress);
  expect(asks(rates, { address: '192.0.2.2' })).toBe(true);
  expect(asks(rates, { now: 60_000 })).toBe(true);
});

it('a host gets so many questions a minute, from however many addresses', () => {
  const rates = new PerMinute();
  const taken = Array.from({ length: 2 * mostOfHost }, (_, at) =>
    asks(rates, { address: `10.0.${at >> 8}.${at & 255}` }),
  );
  expect(taken.filter(Boolean)).toHaveLength(mostOfHost);
  expect(asks(rates, { host: 'another' })).toBe(true);
});
