/** Preloaded into a server: on SIGUSR1 it prints what its modules have imported, as they call it, and from where. */
const imported = new Set<string>();

Bun.plugin({
  name: 'loaded modules',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, importer }) => {
      imported.add(`${importer} ${path}`);
      return undefined;
    });
  },
});

process.on('SIGUSR1', () => console.log(`loaded: ${JSON.stringify([...imported])}`));
