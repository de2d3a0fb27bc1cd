import { expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import streams from '../../plugins/streams/index.ts';
import { emitter } from '../kit/emitter.ts';
import { world } from '../kit/world.ts';

it('reactions that fail in a thousand streams keep the plugin from further ones, until some are done', async () => {
  const { plugin: source, emit } = emitter();
  const tried = new Set<string>();
  const seen: string[] = [];
  let isBroken = true;
  const plugin = definePlugin({
    id: 'reacting',
    summary: 'reacts',
    reactions: {
      '*': async ({ stream }) => {
        tried.add(stream);
        if (isBroken) throw new Error('not yet');
        seen.push(stream);
      },
    },
  });
  await using w = await world({ plugins: [accounts, streams, source, plugin] as Plugin[] });
  const ids = Array.from({ length: 1250 }, (_, index) => `s${index}`);
  for (const stream of ids) await emit({ type: 'stream.started', account: 'one', stream });
  await w.advance('3s');
  expect([tried.size, seen.length]).toEqual([1000, 0]);
  isBroken = false;
  await w.advance('2s');
  expect(seen.toSorted()).toEqual(ids.toSorted());
});
