import type { Link } from './link.ts';
import type { ScriptName, Scripts } from './scripts.ts';

/** Runs scripts by the hash that Redis knows them by. */
export interface Engine {
  /** One of the scripts that write. Rejects as `Link.write` does. */
  change(name: ScriptName, key: string, values: readonly string[]): Promise<unknown>;
  /** One that only reads. */
  look(name: ScriptName, key: string, values: readonly string[]): Promise<unknown>;
}

export function engine(link: Link, all: Scripts): Engine {
  const run = (via: 'read' | 'write', name: ScriptName, [key, values]: [string, readonly string[]]) => {
    const { hash, text } = all[name];
    return link[via](['EVALSHA', hash, '1', key, ...values]).catch((error: Error) => {
      // Every new connection loads them, so somebody has told Redis to forget them since.
      if (!/\bNOSCRIPT\b/.test(error.message)) throw error;
      return link[via](['EVAL', text, '1', key, ...values]);
    });
  };
  return {
    change: (name, ...rest) => run('write', name, rest),
    look: (name, ...rest) => run('read', name, rest),
  };
}
