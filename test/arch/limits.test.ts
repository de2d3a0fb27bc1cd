import { describe, expect, it } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { milliseconds } from '../../core/base/duration.ts';
import type { LimitNote } from '../../core/base/limit-schema.ts';
import { areaOf } from '../../core/base/limit-table.ts';
import { configKeys, limitFiles, limitTables, shown } from '../../scripts/limits.ts';
import { allPlugins } from '../kit/all-plugins.ts';

const keys = [
  ...configKeys(configSchema, ''),
  ...(await allPlugins()).flatMap(({ id, config }) => (config ? configKeys(config, `plugins.${id}`) : [])),
];
/** Keys in MiB, of limits in bytes. */
const mebibytes = new Set(keys.filter(({ schema }) => schema.limit?.unit === 'MiB').map(({ key }) => key));
const tables = (
  await Promise.all(
    limitFiles().map(async (path) => (await limitTables(path)).map((table) => ({ path, table }))),
  )
).flat();

describe('the table of limits', () => {
  it.each(limitFiles())('has what %s declares', async (path) => {
    expect((await limitTables(path)).length).toBeGreaterThan(0);
  });

  it('has every number and duration of the config, or they say that they bound nothing', () => {
    const forgotten = keys.filter(({ schema }) => {
      const isNumber = schema.type === 'integer' || schema.type === 'number';
      const isDuration = schema.expected?.startsWith('a duration');
      return (isNumber || isDuration) && schema.limit === undefined && schema.isNoLimit !== true;
    });
    expect(forgotten.map(({ key }) => key)).toEqual([]);
  });

  it('says for each limit what it is of, and what happens beyond it', () => {
    const notes = keys.flatMap(({ key, schema }) => (schema.limit ? [[key, schema.limit as LimitNote]] : []));
    const limits = tables.flatMap(({ path, table }) =>
      Object.entries(table).map(([name, limit]) => [`${path} ${name}`, limit]),
    );
    expect(limits.length).toBeGreaterThan(15);
    for (const [name, { unit, beyond }] of [...notes, ...limits] as [string, LimitNote][]) {
      expect(unit, name).toMatch(/^[a-zA-Z]/);
      expect(beyond, name).toMatch(/\.$/);
    }
  });

  it('has one value for a limit that the config sets: the default of its key', () => {
    for (const { path, table } of tables) {
      for (const [name, { key, unit, value }] of Object.entries(table)) {
        if (key === undefined) continue;
        const found = keys.find((entry) => entry.key === key)?.schema.default as number | string | undefined;
        const inConfig = typeof found === 'string' ? milliseconds(found) : found;
        const scale =
          typeof found === 'string' ? (unit === 's' ? 1000 : 1) : 1 / (mebibytes.has(key) ? 1_048_576 : 1);
        expect(inConfig, `${path} ${name}: ${key}`).toBe(value * scale);
      }
    }
  });

  it('names no limit twice in one area', () => {
    const names = tables.flatMap(({ table }) => Object.keys(table).map((name) => `${areaOf(table)} ${name}`));
    expect(names).toEqual([...new Set(names)]);
  });
});

it.each([
  [{ value: 1_048_576, unit: 'bytes' }, '1 MiB'],
  [{ value: 65_535, unit: 'bytes' }, '65,535 bytes'],
  [{ value: 86_400_000, unit: 'ms' }, '24 h'],
  [{ value: 250, unit: 'ms' }, '250 ms'],
  [{ value: 20_000, unit: 'requests' }, '20,000 requests'],
  [{ value: '30s', unit: 'ms' }, '30s'],
])('%o is shown as %s', (limit, text) => {
  expect(shown(limit)).toBe(text);
});
