import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { broadcastMachine } from '../../machines/broadcast.ts';
import { diagram, machines } from '../../scripts/machines.ts';

const root = new URL('../../', import.meta.url).pathname;

describe('the drawings of the machines', () => {
  it('are what the machines are: otherwise run "sh scripts/bun.sh scripts/machines.ts"', async () => {
    expect(readFileSync(`${root}docs/machines.md`, 'utf8')).toBe(await machines());
  });

  it('have every state and every way between two of them', () => {
    const lines = diagram(broadcastMachine).split('\n');
    expect(lines).toContain('  off --> starting : publish [mayPublish]');
    expect(lines).toContain('  onAir_held --> recent : after hold');
    expect(lines).toContain('  any_state --> deleted : delete');
    expect(lines).toContain('    state "held" as onAir_held');
    expect(lines).toContain('  deleted --> [*]');
  });

  it('name no state that is not declared', async () => {
    const drawn = (await machines())
      .split('```mermaid\n')
      .slice(1)
      .map((text) => text.split('```')[0]);
    expect(drawn.length).toBeGreaterThan(4);
    for (const text of drawn) {
      const declared = new Set([...text.matchAll(/ as (\w+)/g)].map(([, id]) => id));
      const named = [...text.matchAll(/^ *(\S+) --> (\S+)/gm)].flatMap(([, from, to]) => [from, to]);
      expect(named.filter((id) => id !== '[*]' && !declared.has(id))).toEqual([]);
      expect(text.match(/\{/g)?.length).toBe(text.match(/\}/g)?.length);
    }
  });
});
