/**
 * Lets tests and examples import `millrace/*` as packages outside do, also from a folder with its own package.json, where the
 * repository would not be found by its name. Each is loaded when it is first imported.
 */
const entryPoints = {
  'millrace/plugin': () => import('../../sdk/plugin.ts'),
  'millrace/client': () => import('../../sdk/client/index.ts'),
  'millrace/testing': () => import('../../sdk/testing.ts'),
};

Bun.plugin({
  name: 'millrace in this repository',
  setup(build) {
    for (const [name, load] of Object.entries(entryPoints)) {
      build.module(name, async () => ({ loader: 'object', exports: await load() }));
    }
  },
});
