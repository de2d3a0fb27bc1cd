import { readFileSync } from 'node:fs';
import { Glob } from 'bun';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { enabledPlugins } from '../../config/plugins.ts';
import { coreFaults, jobFaults, startFaults } from '../../core/plugin/fault-table.ts';
import { reference } from '../../scripts/reference.ts';

const root = new URL('../../', import.meta.url).pathname;

describe('the reference', () => {
  it('is what the program is: otherwise run "bun scripts/reference.ts"', async () => {
    expect(readFileSync(`${root}docs/reference.md`, 'utf8')).toBe(await reference());
  });

  it('has every fault code that the code can throw', async () => {
    // Those of plugins that are off by default too.
    const plugged = { 'mux-compat': {}, 'studio-compat': {} };
    const config = await loadConfig({ MILLRACE_PLUGINS: JSON.stringify(plugged) });
    const plugins = await enabledPlugins(config);
    const known = new Set([
      ...Object.keys(coreFaults),
      ...Object.keys(jobFaults),
      ...Object.keys(startFaults),
      ...plugins.flatMap(({ plugin }) => Object.keys(plugin.faults ?? {})),
    ]);
    const thrown = new Set<string>();
    for (const path of new Glob('{core,config,plugins,runtime}/**/*.ts').scanSync(root)) {
      const source = readFileSync(`${root}${path}`, 'utf8');
      for (const [, code] of source.matchAll(/new Fault\(\s*'([^']+)'/g)) thrown.add(code);
    }
    expect(thrown.size).toBeGreaterThan(20);
    expect([...thrown].filter((code) => !known.has(code))).toEqual([]);
  });
});
