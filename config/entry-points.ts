import { join } from 'node:path';

const sdk = join(import.meta.dirname, '../sdk');
const files: Readonly<Record<string, string>> = {
  'millrace/plugin': join(sdk, 'plugin.ts'),
  'millrace/client': join(sdk, 'client/index.ts'),
};

/**
 * Gives every module of this process the running program's own `millrace/plugin`, wherever the module lies and whichever Millrace is
 * installed beside it. A second copy would have Faults that are no Faults here.
 */
export function provideEntryPoints(): void {
  Bun.plugin({
    name: 'millrace',
    setup(build) {
      for (const [name, file] of Object.entries(files)) {
        const contents = `export * from ${JSON.stringify(file)};`;
        build.module(name, () => ({ loader: 'js', contents }));
      }
    },
  });
}
