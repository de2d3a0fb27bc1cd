import { expect, it } from 'vitest';
import { sealing } from '../../../runtime/base/sealing.ts';

const secrets = sealing(Buffer.from('a key of this deployment'));
const other = sealing(Buffer.from('a key of another deployment'));
const place = 'webhook/1/secret';

it('opens what it sealed, and only at its place', () => {
  const sealed = secrets.seal('whsec_ä😀', place);
  expect(sealed).toMatch(/^millrace:sealed:1:[\w-]+$/);
  expect(sealed).not.toContain('whsec');
  expect(secrets.open(sealed, place)).toBe('whsec_ä😀');
  expect(secrets.open(sealed, 'webhook/2/secret')).toBeUndefined();
  expect(other.open(sealed, place)).toBeUndefined();
  expect(sealing(Buffer.from('a key of this deployment')).open(sealed, place)).toBe('whsec_ä😀');
});

it('seals one text twice in different words, and an empty one', () => {
  expect(secrets.seal('same', place)).not.toBe(secrets.seal('same', place));
  expect(secrets.open(secrets.seal('', place), place)).toBe('');
});

it('opens nothing that was changed or cut', () => {
  const sealed = secrets.seal('a secret', place);
  const head = 'millrace:sealed:1:'.length;
  for (let at = head; at < sealed.length - 1; at += 1) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    expect(secrets.open(changed, place)).toBeUndefined();
    expect(secrets.open(sealed.slice(0, at), place)).toBeUndefined();
  }
});

it('returns the text of an older version, and seals again what looks sealed', () => {
  expect(secrets.open('plain of old', place)).toBe('plain of old');
  const twice = secrets.seal(secrets.seal('a', place), place);
  expect(secrets.open(secrets.open(twice, place) ?? '', place)).toBe('a');
});

it('has a key of its own for each purpose, the same at each call', () => {
  const key = secrets.keyFor('sessions');
  expect(key).toHaveLength(32);
  expect(secrets.keyFor('sessions')).toEqual(key);
  expect(secrets.keyFor('session')).not.toEqual(key);
  expect(other.keyFor('sessions')).not.toEqual(key);
  key.fill(0);
  expect(secrets.keyFor('sessions')).not.toEqual(key);
});

it('remembers a bounded number of keys', () => {
  const first = secrets.keyFor('0');
  for (let at = 0; at < 3000; at += 1) secrets.keyFor(String(at));
  expect(secrets.keyFor('0')).toEqual(first);
});
