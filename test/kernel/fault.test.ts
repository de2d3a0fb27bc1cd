import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { expect, it } from 'vitest';
import { Fault, hasCode, isRefusal } from '../../core/base/fault.ts';
import { says } from '../../core/http/http.ts';
import { json } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { world } from '../kit/world.ts';

/** The Fault of a package that a plugin brings along. */
async function anotherFault(): Promise<typeof Fault> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-fault-'));
  const path = join(folder, 'fault.ts');
  await copyFile(new URL('../../core/base/fault.ts', import.meta.url), path);
  try {
    return ((await import(path)) as { Fault: typeof Fault }).Fault;
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('a Fault of a second copy of the package is a Fault, and nothing else is', async () => {
  const Another = await anotherFault();
  expect(Another).not.toBe(Fault);
  const fault = new Another('captions.busy', { status: 409, message: 'busy' });
  expect([fault instanceof Fault, new Fault('x', { status: 400, message: 'x' }) instanceof Another]).toEqual([
    true,
    true,
  ]);
  expect([hasCode(fault, 'captions.busy'), isRefusal(fault)]).toEqual([true, true]);
  for (const other of [
    new Error('x'),
    { code: 'x', status: 409 },
    null,
    undefined,
    'x',
    Object.create(null),
  ]) {
    expect(other instanceof Fault).toBe(false);
  }
});

it('a route that throws one is answered as the Fault says', async () => {
  const Another = await anotherFault();
  const plugin = definePlugin({
    id: 'captions',
    summary: 'captions',
    faults: { 'captions.busy': { status: 409, meaning: 'Busy.' } },
    routes: () =>
      new Elysia().get(
        '/captions',
        () => {
          throw new Another('captions.busy', { status: 409, message: 'The captions are busy.' });
        },
        says('Captions.', {
          ...{ name: 'getCaptions', isOpen: true, faults: ['captions.busy'] },
          answers: { 200: json(Type.Object({})) },
        }),
      ),
  });
  await using w = await world({ plugins: [plugin] });
  expect(await w.request('GET', '/captions')).toMatchObject({
    status: 409,
    body: { errors: ['The captions are busy.'], code: 'captions.busy' },
  });
});
