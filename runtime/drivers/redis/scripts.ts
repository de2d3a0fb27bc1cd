import { createHash } from 'node:crypto';
import type { RedisLink } from './link.ts';

/** Lua scripts by their names. A script is one step that no other command comes between. */
export class RedisScripts<Name extends string> {
  readonly #scripts: ReadonlyMap<Name, { readonly text: string; readonly hash: string }>;

  constructor(texts: Readonly<Record<Name, string>>) {
    const entries = Object.entries(texts) as [Name, string][];
    this.#scripts = new Map(
      entries.map(([name, text]) => [name, { text, hash: createHash('sha1').update(text).digest('hex') }]),
    );
  }

  /** Has Redis load them: each new connection does so before it is used. */
  async load(ask: (command: readonly string[]) => Promise<unknown>): Promise<void> {
    for (const { text } of this.#scripts.values()) await ask(['SCRIPT', 'LOAD', text]);
  }

  /** `isRead`: a failure says that nothing happened. */
  async run(
    link: RedisLink,
    call: { name: Name; keys: readonly string[]; values: readonly string[]; isRead?: boolean | undefined },
  ): Promise<unknown> {
    const { name, keys, values, isRead = false } = call;
    const { text, hash } = this.#scripts.get(name)!;
    const via = isRead ? 'read' : 'write';
    // A script that fails half way has written half: what it is given must be right before.
    const wrong = values.findIndex((value) => typeof value !== 'string');
    if (wrong >= 0) throw new TypeError(`${name} has ${typeof values[wrong]} where it needs text`);
    const rest = [String(keys.length), ...keys, ...values];
    try {
      return await link[via](['EVALSHA', hash, ...rest]);
    } catch (error) {
      // Somebody has told Redis to forget them since.
      if (!(error instanceof Error && /\bNOSCRIPT\b/.test(error.message))) throw error;
      return link[via](['EVAL', text, ...rest]);
    }
  }
}
