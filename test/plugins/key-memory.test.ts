import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Principal } from '../../core/http/auth.ts';
import { keyMemory, maxRemembered } from '../../plugins/accounts/key-memory.ts';

const principal = (keyId: string): Principal => ({
  accountId: 'account',
  isAdmin: false,
  keyId,
  keyName: 'name',
  access: {},
});

const hash = (key: string) => createHash('sha256').update(key).digest();

it('knows a key that was found, until it is forgotten', async () => {
  const memory = keyMemory();
  await memory.learn(hash('one'), async () => principal('one'));
  await memory.learn(hash('two'), async () => principal('two'));
  expect(memory.get(hash('one'))?.keyId).toBe('one');
  memory.forget('one');
  expect(memory.get(hash('one'))).toBeUndefined();
  expect(memory.get(hash('two'))?.keyId).toBe('two');
});

it('does not remember what was read before a key was forgotten', async () => {
  const memory = keyMemory();
  const read = Promise.withResolvers<Principal>();
  const learning = memory.learn(hash('one'), () => read.promise);
  memory.forget('one');
  read.resolve(principal('one'));
  await learning;
  expect(memory.get(hash('one'))).toBeUndefined();
});

it('remembers no unknown key, and only so many', async () => {
  const memory = keyMemory();
  expect(await memory.learn(hash('unknown'), async () => undefined)).toBeUndefined();
  const most = maxRemembered;
  for (let n = 0; n <= most; n += 1) await memory.learn(hash(`key ${n}`), async () => principal(`key ${n}`));
  expect(memory.get(hash('key 0'))).toBeUndefined();
  expect(memory.get(hash('key 1'))?.keyId).toBe('key 1');
  expect(memory.get(hash(`key ${most}`))?.keyId).toBe(`key ${most}`);
});
