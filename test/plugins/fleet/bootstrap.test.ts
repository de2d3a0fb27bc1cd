import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import { asTimePasses } from '../../kit/as-time-passes.ts';
import { fleet } from '../../kit/fleet.ts';

describe('nodes that start together', () => {
  it('have one bootstrap key: a node with another is refused while one of the others runs', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin] });
    const a = await f.start('a');
    await f.start('b');
    await f.start('m', { roles: ['media'], bootstrapKey: 'asked-of-nobody-here' });
    const with2 = (id: string) =>
      f.start(id, { bootstrapKey: 'another-bootstrap-key' }).then(
        () => 'started',
        (error) => error,
      );
    const refused = with2('c');
    expect(await asTimePasses(refused, () => f.advance('1s'))).toMatchObject({
      code: 'config.invalid',
      message: expect.stringMatching(/^bootstrapKey: differs from that of the running node "[ab]"; /),
    });
    // The same node with the right one is welcome, and nobody has been disturbed.
    await f.start('c');
    expect((await a.request('GET', '/api/api-token')).status).toBe(200);
  });

  it('take another bootstrap key once none of those that had the last one runs', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin] });
    const first = await f.start('first', { roles: ['actors'] });
    const a = await f.start('a', { roles: ['api'] });
    const b = await f.start('b', { roles: ['api'] });
    await a.booted.stop();
    // Killed: its row looks as if it lived.
    b.cut();
    const starting = f.start('c', { roles: ['api'], bootstrapKey: 'another-bootstrap-key' });
    const c = await asTimePasses(starting, () => f.advance('1s'));
    const key = 'another-bootstrap-key';
    expect((await c.request('GET', '/api/api-token', { key })).status).toBe(200);
    expect((await c.request('GET', '/api/api-token')).status).toBe(401);
    expect(first.ended).toBeUndefined();
    // Who comes with the old one is refused now.
    const late = f.start('d', { roles: ['api'] }).catch((error) => error);
    expect(await asTimePasses(late, () => f.advance('1s'))).toMatchObject({ code: 'config.invalid' });
  });

  it('that start at one time with different keys: one of them is refused', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin] });
    await f.start('first', { roles: ['actors'] });
    const outcomes = ['one-of-two-keys-here', 'two-of-two-keys-here'].map((key, n) =>
      f.start(`n${n}`, { roles: ['api'], bootstrapKey: key }).then(
        () => 'started',
        (error) => error.code,
      ),
    );
    await f.advance('15s');
    expect((await Promise.all(outcomes)).sort()).toEqual(['config.invalid', 'started']);
  });

  it('make one admin account, and one bootstrap key that all of them know', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin], bootstrapKey: null });
    const nodes = await Promise.all([f.start('a'), f.start('b'), f.start('c')]);
    const admins = await f.store.resources.list('account', { where: { role: 'admin' }, limit: 9 });
    expect(admins).toHaveLength(1);
    const keys = (await Promise.all(nodes.map(({ dataDir }) => readKey(dataDir)))).filter(
      (key) => key !== undefined,
    );
    expect(keys).toHaveLength(1);
    const key = keys[0];
    for (const node of nodes) {
      expect((await node.request('GET', '/api/api-token', { ...(key && { key }) })).status).toBe(200);
    }
  });
});

const readKey = (dataDir: string) =>
  readFile(join(dataDir, 'bootstrap-key'), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
