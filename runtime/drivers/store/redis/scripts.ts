import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Link } from './link.ts';

/** Every script, with what is put before it besides `shared`. Its header says what it takes and answers. */
const parts = {
  acquire: [],
  commit: ['rows', 'events', 'jobs'],
  write: ['rows', 'events'],
  after: [],
  find: [],
  sweep: [],
  work: ['jobs'],
} as const;

export type ScriptName = keyof typeof parts;

export interface Scripts {
  /** What Redis must load before it can run them. */
  readonly texts: readonly string[];
  /** `isRead`: a failure says that nothing happened. */
  run(name: ScriptName, values: readonly string[], options?: { isRead?: boolean }): Promise<unknown>;
}

/** @param change for tests that break a script on purpose: gets each with its name */
export function scripts(
  { link, heads }: { link: () => Link; heads: string },
  change = (_: ScriptName, text: string) => text,
): Scripts {
  const all = new Map(
    (Object.keys(parts) as ScriptName[]).map((name) => {
      const text = change(name, ['shared', ...parts[name], name].map(read).join('\n'));
      return [name, { text, hash: createHash('sha1').update(text).digest('hex') }];
    }),
  );
  return {
    texts: [...all.values()].map(({ text }) => text),
    async run(name, values, { isRead = false } = {}) {
      const { text, hash } = all.get(name)!;
      const via = isRead ? 'read' : 'write';
      // A script that fails half way has written half: what it is given must be right before.
      const wrong = values.findIndex((value) => typeof value !== 'string');
      if (wrong >= 0) throw new TypeError(`${name} has ${typeof values[wrong]} where it needs text`);
      try {
        return await link()[via](['EVALSHA', hash, '1', heads, ...values]);
      } catch (error) {
        // Every new connection loads them, so somebody has told Redis to forget them since.
        if (!(error instanceof Error && /\bNOSCRIPT\b/.test(error.message))) throw error;
        return link()[via](['EVAL', text, '1', heads, ...values]);
      }
    },
  };
}

function read(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}
