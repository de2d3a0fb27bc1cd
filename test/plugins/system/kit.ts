import { definePlugin, type Plugin } from '../../../core/plugin/plugin.ts';
import type { LoggedEvent } from '../../../core/ports/store.ts';
import accounts from '../../../plugins/accounts/index.ts';
import streams from '../../../plugins/streams/index.ts';
import system from '../../../plugins/system/index.ts';
import { emitter } from '../../kit/emitter.ts';
import { type World, world } from '../../kit/world.ts';

/** A world with a plugin that reacts to `thing.happened`, and fails at what `isBroken` says. */
export async function reacting(options: { plugins?: readonly Plugin[] } = {}) {
  const { plugin: source, emit } = emitter();
  const seen: string[] = [];
  const tries: string[] = [];
  const state = { isBroken: (_: LoggedEvent) => true as boolean, error: 'a bug' };
  const plugin = definePlugin({
    id: 'reacting',
    summary: 'reacts',
    emits: { 'thing.happened': 'A thing.' },
    reactions: {
      'thing.happened': async (event) => {
        const { name } = JSON.parse(event.body).payload;
        tries.push(name);
        if (state.isBroken(event)) throw new TypeError(state.error);
        seen.push(name);
      },
    },
  });
  const plugins = [accounts, streams, system, source, plugin, ...(options.plugins ?? [])] as Plugin[];
  const w = await world({ plugins, durable: true });
  const account = (await w.request('POST', '/api/account', { body: { name: 'Theirs' } })).body.id;
  const happens = async (name: string, stream = 's') => {
    await emit({ type: 'thing.happened', account, stream, payload: { name } });
    await w.settle();
  };
  return { w, state, seen, tries, happens, account };
}

/** A day later: what failed by now is parked. The days go by while no process runs, as there is no try then. */
export async function aDayLater(w: World): Promise<void> {
  await w.advance('2m');
  await w.crash({ downFor: '24h' });
  await w.advance('10s');
}

export const listOf = async (w: World) => (await w.request('GET', '/api/system/reactions')).body;
export const issuesOf = async (w: World) => (await w.request('GET', '/health/ready')).body.issues ?? [];
export const metricsOf = async (w: World) =>
  (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
export const parkedIssue = (count: number) =>
  `Reactions of the plugin reacting failed for a day and are parked (${count}). GET /api/system/reactions lists them; resume or delete each.`;
