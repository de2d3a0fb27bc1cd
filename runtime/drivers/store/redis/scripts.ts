import { readFileSync } from 'node:fs';
import type { RedisLink } from '../../redis/link.ts';
import { RedisScripts } from '../../redis/scripts.ts';

/** Every script, with what is put before it besides `shared`. Its header says what it takes and answers. */
const parts = {
  acquire: [],
  commit: ['pending', 'rows', 'events', 'jobs'],
  write: ['pending', 'rows', 'events'],
  after: [],
  before: [],
  find: [],
  sweep: [],
  work: ['jobs'],
} as const;

export type ScriptName = keyof typeof parts;

export interface Scripts {
  load: RedisScripts<ScriptName>['load'];
  /** `isRead`: a failure says that nothing happened. */
  run(name: ScriptName, values: readonly string[], options?: { isRead?: boolean }): Promise<unknown>;
}

/** What the parts of the store share. */
export interface StoreParts {
  readonly link: RedisLink;
  readonly scripts: Scripts;
  /** The key of this name. */
  readonly key: (name: string) => string;
  /** The log has this position now. */
  onEvents(position: number): void;
}

/** @param change for tests that break a script on purpose: gets each with its name */
export function scripts(
  { link, heads }: { link: () => RedisLink; heads: string },
  change = (_: ScriptName, text: string) => text,
): Scripts {
  const names = Object.keys(parts) as ScriptName[];
  const texts = names.map((name) => [
    name,
    change(name, ['shared', ...parts[name], name].map(read).join('\n')),
  ]);
  const all = new RedisScripts<ScriptName>(Object.fromEntries(texts));
  return {
    load: (ask) => all.load(ask),
    run: (name, values, { isRead } = {}) => all.run(link(), { name, keys: [heads], values, isRead }),
  };
}

function read(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}
