import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { RedisClient } from './connection.ts';

/** A Lua file, run as one step that no other command comes between. Keys and answer are told in its header. */
export interface RedisScript {
  run(client: RedisClient, call: { keys: readonly string[]; args: readonly string[] }): Promise<unknown>;
}

/** For tests that break a script on purpose: gets each with the name of its file. */
export type ScriptChange = (name: string, text: string) => string;

/** @param file of one atomic operation */
export function redisScript(file: URL, change: ScriptChange = (_, text) => text): RedisScript {
  const text = change(basename(file.pathname, '.lua'), readFileSync(file, 'utf8'));
  const hash = createHash('sha1').update(text).digest('hex');
  return {
    async run(client, { keys, args }) {
      const call = { keys: [...keys], arguments: [...args] };
      try {
        return await client.evalSha(hash, call);
      } catch (error) {
        // Redis forgets scripts when it restarts.
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
        return client.eval(text, call);
      }
    },
  };
}
