/**
 * Writes docs/reference.md from the program itself: routes, config, limits, events, errors.
 * `bun scripts/reference.ts` writes it; test/arch/reference.test.ts fails when it is out of date.
 */
import { writeFile } from 'node:fs/promises';
import { type TSchema, Type } from '@sinclair/typebox';
import { loadConfig } from '../config/load.ts';
import { enabledPlugins } from '../config/plugins.ts';
import { configSchema } from '../config/schema.ts';
import type { LimitNote } from '../core/base/limit-schema.ts';
import { coreFaults, jobFaults, startFaults } from '../core/plugin/fault-table.ts';
import type { FaultTable, Plugin } from '../core/plugin/plugin.ts';
import { world } from '../test/kit/world.ts';
import { allLimits, shown } from './limits.ts';
import { pluginNeeds } from './plugin-needs.ts';

export async function reference(): Promise<string> {
  const plugins = (await enabledPlugins(await loadConfig({}))).map(({ plugin }) => plugin);
  const sections = [
    '# Reference',
    'Made by `bun scripts/reference.ts` from the program itself. What the objects hold and how a stream behaves is told in [api.md](api.md).',
    '## Routes',
    'Parameters, bodies, answers and errors of each are in `/openapi.json` of a running server, and to be read at `/docs`. HEAD is answered where GET is.',
    await routes(plugins),
    '## Plugins',
    'Each is on unless `plugins.<id>` is `false`. One that others need can only be switched off together with all of these; a start that would lack something is refused with the whole list.',
    pluginTable(plugins),
    '## Config',
    'A file named by `MILLRACE_CONFIG` (`.json`, `.yaml`, `.ts`), then the environment: `MILLRACE_HTTP__PORT=80` sets `http.port`.',
    table(['key', 'default', 'meaning'], configRows(configSchema, '')),
    ...plugins.flatMap((plugin) =>
      plugin.config
        ? [
            `### plugins.${plugin.id}`,
            table(['key', 'default', 'meaning'], configRows(plugin.config, `plugins.${plugin.id}.`)),
          ]
        : [],
    ),
    '## Limits',
    'Every bound of the program. One that has the name of a config key is set there; the others are fixed.',
    await limits(plugins),
    '## Events',
    table(
      ['event', 'when', 'plugin'],
      plugins.flatMap(({ id, emits }) =>
        Object.entries(emits ?? {}).map(([event, when]) => [`\`${event}\``, when, id]),
      ),
    ),
    '## Errors',
    'Every error is `{"errors": ["…"], "code": "…"}`.',
    faults('core', coreFaults),
    ...plugins.flatMap(({ id, faults: own }) => (own ? [faults(id, own)] : [])),
    '### Ends of attempts at jobs',
    'Given to machines and to signals, and logged; never sent.',
    faultTable(jobFaults),
    '### Problems at start',
    'Printed, never sent.',
    faultTable(startFaults),
  ];
  return `${sections.join('\n\n')}\n`;
}

if (import.meta.main) {
  await writeFile(new URL('../docs/reference.md', import.meta.url), await reference());
}

async function routes(plugins: readonly Plugin[]): Promise<string> {
  await using w = await world({ plugins });
  const rows = Object.entries(w.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'head' && method !== 'options')
      .map(([method, one]) => {
        const { summary, security, tags } = one as { summary: string; security: unknown[]; tags: string[] };
        return [
          `\`${method.toUpperCase()} ${path}\``,
          summary,
          security.length > 0 ? 'yes' : '',
          tags.join(', '),
        ];
      }),
  );
  return table(['route', 'what it does', 'key', 'plugin'], rows);
}

function pluginTable(plugins: readonly Plugin[]): string {
  const summaries = new Map(plugins.map(({ id, summary }) => [id, summary]));
  const named = (ids: readonly string[]) => ids.map((id) => `\`${id}\``).join(', ');
  return table(
    ['plugin', 'what it does', 'needs', 'is needed by', 'adds to, where they are on'],
    pluginNeeds(plugins).map(({ id, needs, neededBy, addsTo }) => [
      ...[`\`${id}\``, summaries.get(id) ?? ''],
      ...[named(needs), named(neededBy), named(addsTo)],
    ]),
  );
}

async function limits(plugins: readonly Plugin[]): Promise<string> {
  const rows = await allLimits([
    ['', configSchema],
    ...plugins.map(({ id, config }) => [`plugins.${id}`, config ?? Type.Object({})] as const),
  ]);
  const areas = [...new Set(rows.map(({ area }) => area))];
  return areas
    .map((area) => {
      const own = rows.filter((row) => row.area === area);
      const lines = own.map(({ name, limit }) => [`\`${name}\``, limit.meaning, shown(limit), limit.beyond]);
      return `### Limits: ${area}\n\n${table(['limit', 'what it bounds', 'default', 'beyond it'], lines)}`;
    })
    .join('\n\n');
}

function configRows(schema: TSchema, prefix: string): string[][] {
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([name, inner]) =>
    inner.properties
      ? configRows(inner, `${prefix}${name}.`)
      : [[`\`${prefix}${name}\``, defaultOf(inner), meaningOf(inner)]],
  );
}

function meaningOf({ description = '', limit }: TSchema): string {
  return limit === undefined ? description : `${description} ${(limit as LimitNote).beyond}`;
}

function defaultOf(schema: TSchema): string {
  return schema.default === undefined ? '–' : `\`${JSON.stringify(schema.default)}\``;
}

function faults(owner: string, own: FaultTable): string {
  return `### ${owner}\n\n${faultTable(own)}`;
}

function faultTable(own: FaultTable): string {
  return table(
    ['code', 'status', 'meaning'],
    Object.entries(own).map(([code, { status, meaning }]) => [`\`${code}\``, String(status), meaning]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
