import { definePlugin } from '../../../core/plugin/plugin.ts';

/** A plugin for tests of the whole program that cannot be started; its error has a secret of the config in it. */
export default definePlugin({
  id: 'failing',
  contract: 3,
  summary: 'never works',
  start(kit) {
    const { bootstrapKey } = kit.deployment;
    throw new TypeError(`no disk for ${bootstrapKey}`);
  },
});
