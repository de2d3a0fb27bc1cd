/**
 * Every bound of the program, for the reference: the tables in each `limits.ts`, and the keys of the config that
 * carry a `limit`. Nothing is registered anywhere: a new `limits.ts` is found by its name.
 */
import type { TSchema } from '@sinclair/typebox';
import { Glob } from 'bun';
import type { LimitNote } from '../core/base/limit-schema.ts';
import { areaOf, type Limit, type LimitTable } from '../core/base/limit-table.ts';

const root = new URL('../', import.meta.url).pathname;

/** One line of the table. */
export interface LimitRow {
  readonly area: string;
  readonly name: string;
  readonly limit: Omit<Limit, 'value'> & { readonly value: number | string };
}

/** Paths of the files that declare limits. */
export function limitFiles(): string[] {
  return [...new Glob('{core,config,machines,plugins,runtime}/**/limits.ts').scanSync(root)].sort();
}

/** The tables that a file exports. */
export async function limitTables(path: string): Promise<LimitTable[]> {
  const module = (await import(`${root}${path}`)) as Record<string, unknown>;
  return Object.values(module).filter((value): value is LimitTable => areaOf(value) !== undefined);
}

/** @param schemas of the config, each with the path of its section: `''`, `plugins.streams` */
export async function allLimits(schemas: readonly (readonly [string, TSchema])[]): Promise<LimitRow[]> {
  const inConfig = schemas.flatMap(([path, schema]) => configLimits(schema, path));
  const keys = new Set(inConfig.map(({ limit }) => limit.key));
  const tables = (await Promise.all(limitFiles().map(limitTables))).flat();
  const inCode = tables.flatMap((table) =>
    Object.entries(table)
      // Its line is that of the config key.
      .filter(([, { key }]) => key === undefined || !keys.has(key))
      .map(([name, limit]) => ({ area: areaOf(table) as string, name, limit })),
  );
  return [...inConfig, ...inCode].sort((a, b) => (a.area < b.area ? -1 : a.area > b.area ? 1 : 0));
}

/** Bounds among the keys of the config. */
function configLimits(schema: TSchema, path: string): LimitRow[] {
  return configKeys(schema, path).flatMap(({ key, schema: inner }) => {
    const note = inner.limit as LimitNote | undefined;
    if (note === undefined) return [];
    const area = key.split('.').at(key.startsWith('plugins.') ? 1 : 0) as string;
    const meaning = inner.description ?? '';
    return [
      { area, name: key, limit: { ...note, meaning, key, value: (inner.default ?? '–') as string | number } },
    ];
  });
}

/** The leaves of a config schema. */
export function configKeys(schema: TSchema, path: string): { key: string; schema: TSchema }[] {
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([name, inner]) => {
    const key = path === '' ? name : `${path}.${name}`;
    return inner.properties ? configKeys(inner, key) : [{ key, schema: inner }];
  });
}

/** `1 MiB`, `10 s`, `500 connections`. */
export function shown({ value, unit }: Pick<LimitRow['limit'], 'value' | 'unit'>): string {
  if (typeof value === 'string') return value;
  if (unit === 'bytes') return scaled(value, { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 });
  if (unit === 'ms') return scaled(value, { ms: 1, s: 1000, min: 60_000, h: 3_600_000, days: 86_400_000 });
  return `${grouped(value)} ${unit}`;
}

/** In the greatest unit that leaves a whole number; hours are read more easily than one day. */
function scaled(value: number, units: Readonly<Record<string, number>>): string {
  const fitting = Object.entries(units).filter(
    ([name, size]) => size === 1 || (value % size === 0 && value / size >= (name === 'days' ? 2 : 1)),
  );
  const [name, size] = fitting[fitting.length - 1];
  return `${grouped(value / size)} ${name}`;
}

function grouped(value: number): string {
  return value.toLocaleString('en-US');
}
