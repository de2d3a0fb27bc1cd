/**
 * Gives every module of this process the running program's own `millrace/plugin`, wherever the module lies and whichever Millrace is
 * installed beside it. A second copy would have Faults that are no Faults here.
 */
export async function provideEntryPoints(): Promise<void> {
  const entryPoints = {
    'millrace/plugin': await import('../sdk/plugin.ts'),
    'millrace/client': await import('../sdk/client/index.ts'),
  };
  Bun.plugin({
    name: 'millrace',
    setup(build) {
      for (const [name, exports] of Object.entries(entryPoints)) {
        build.module(name, () => ({ loader: 'object', exports }));
      }
    },
  });
}
