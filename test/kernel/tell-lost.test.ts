import { expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { FailedPlugins } from '../../runtime/boot/failed-plugins.ts';
import { Kits } from '../../runtime/boot/kits.ts';
import { Lifetime } from '../../runtime/boot/lifetime.ts';
import { planned } from '../../runtime/boot/plan.ts';
import { tellLost } from '../../runtime/boot/plugin-starts.ts';
import { PluginTroubles } from '../../runtime/boot/plugin-troubles.ts';
import { silentLog as log } from '../kit/silent-log.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const lost = { id: 'a', lastSigns: async () => () => undefined };

/** What becomes of a lost node of a fleet, where it is told again until nobody fails. */
async function told(failing: () => Promise<void>) {
  const seen: string[] = [];
  const plugin = (id: string, lostNode: Plugin['lostNode']) => definePlugin({ id, summary: id, lostNode });
  const plan = planned(
    [
      plugin('first', async () => void seen.push('first')),
      plugin('broken', failing),
      plugin('last', async () => void seen.push('last')),
    ].map((one) => ({ plugin: one, config: true })),
  );
  const clock = virtualClock({ start: 0 });
  const failed = new FailedPlugins(plan, { log });
  const troubles = new PluginTroubles({ clock, log });
  const kits = new Kits(plan, { clock, failed, troubles });
  const life = new Lifetime({ clock, log });
  const context = { plan, kits, life, clock, failed, troubles, isOnce: false };
  const error = await tellLost(lost, context).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { seen, error, issues: troubles.issues, isOff: failed.isOff('broken'), left: clock.pending() };
}

it('a plugin that fails at a lost node keeps no other from it, and is told again', async () => {
  const failure = new TypeError('no books');
  expect(await told(() => Promise.reject(failure))).toEqual({
    ...{ seen: ['first', 'last'], error: failure, isOff: false, left: 0 },
    issues: ['The plugin broken fails: what a lost process left. The log says how.'],
  });
});

it('an engine that does not answer then is no failure of the plugin', async () => {
  const fault = new Fault('store.unreachable', { status: 503, message: 'x' });
  expect(await told(() => Promise.reject(fault))).toMatchObject({ error: fault, issues: [], isOff: false });
});
