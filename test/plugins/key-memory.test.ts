import { expect, it } from 'vitest';
import type { Principal } from '../../core/auth.ts';
import { keyMemory } from '../../plugins/accounts/key-memory.ts';
import { accountLimits } from '../../plugins/accounts/limits.ts';

const principal = (keyId: string): Principal => ({
  accountId: 'account',
  isAdmin: false,
  keyId,
  keyName: 'name',
  access: {},
});

it('knows a key that was found, until it is forgotten', async () => {
  const memory = keyMemory();
  await memory.learn('hash', async () => principal('one'));
  await memory.learn('another', async () => principal('two'));
  expect(memory.get('hash')?.keyId).toBe('one');
  memory.forget('one');
  expect(memory.get('hash')).toBeUndefined();
  expect(memory.get('another')?.keyId).toBe('two');
});

it('does not remember what was read before a key was forgotten', async () => {
  const memory = keyMemory();
  const read = Promise.withResolvers<Principal>();
  const learning = memory.learn('hash', () => read.promise);
  memory.forget('one');
  read.resolve(principal('one'));
  await learning;
  expect(memory.get('hash')).toBeUndefined();
});

it('remembers no unknown key, and only so many', async () => {
  const memory = keyMemory();
  expect(await memory.learn('unknown', async () => undefined)).toBeUndefined();
  const most = accountLimits.remembered.value;
  for (let n = 0; n <= most; n += 1) await memory.learn(`hash ${n}`, async () => principal(`key ${n}`));
  expect(memory.get('hash 0')).toBeUndefined();
  expect(memory.get('hash 1')?.keyId).toBe('key 1');
  expect(memory.get(`hash ${most}`)?.keyId).toBe(`key ${most}`);
});
