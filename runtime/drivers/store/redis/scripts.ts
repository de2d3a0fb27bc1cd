import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Every script, with those that are put before it. Its header says what it takes and answers. */
const parts = {
  bind: [],
  acquire: [],
  commit: ['rows', 'place'],
  consume: ['place'],
  write: ['rows'],
  append: [],
  after: [],
  floor: [],
  find: [],
  sweep: [],
  'sweep-log': [],
} as const;

export type ScriptName = keyof typeof parts;

export interface Script {
  readonly text: string;
  /** What Redis knows it by once it is loaded. */
  readonly hash: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

/** @param change for tests that break a script on purpose: gets each with its name */
export function scripts(change = (_: ScriptName, text: string) => text): Scripts {
  const names = Object.keys(parts) as ScriptName[];
  return Object.fromEntries(
    names.map((name) => {
      const text = change(name, [...parts[name], name].map(read).join('\n'));
      return [name, { text, hash: createHash('sha1').update(text).digest('hex') }];
    }),
  ) as Record<ScriptName, Script>;
}

function read(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}
