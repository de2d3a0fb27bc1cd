import { expect } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import assets from '../../plugins/assets/index.ts';
import recordings from '../../plugins/recordings/index.ts';
import streams from '../../plugins/streams/index.ts';
import tasks from '../../plugins/tasks/index.ts';
import { type World, world } from '../kit/world.ts';

export const plugins = [accounts, streams, tasks, assets, recordings] as unknown as Plugin[];

/** Its name, and the query that says so. */
export const walks = [
  ['in the default order', ''],
  ['oldest first', '&order=createdAt-false'],
  ['by name', '&name=asc'],
  ['by name, backwards', '&order=name-true'],
  ['ranked by name', '&name=name%201'],
  ['filtered', `&filters=${encodeURIComponent('[{"id":"name","value":"name"}]')}`],
] as const;

/** Path and query of the next page. */
export function nextOf(headers: Headers): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const [, path] = /^<http:\/\/localhost:8080(\/[^>]*)>; rel="next"$/.exec(link) ?? [];
  if (!path) throw new Error(`no link: ${link}`);
  return path;
}

/** Goes through a list of so many streams, seven at a time, while others insert and delete. */
export async function walk(query: string, size: number): Promise<void> {
  await using w = await world({ plugins });
  const names = Array.from({ length: size }, (_, index) => `name ${(index * 7) % 100}`);
  const created: string[] = [];
  for (const [index, name] of names.entries()) {
    created.push((await w.given.stream({ name })).id);
    if (index % 10 === 0) await w.advance('1s');
  }
  const gone = new Set<string>();
  const seen: string[] = [];
  let turn = 0;
  for (let path: string | undefined = `/api/stream?limit=7${query}`; path; turn += 1) {
    const { headers, body }: Awaited<ReturnType<World['request']>> = await w.request('GET', path);
    seen.push(...body.map(({ id }: { id: string }) => id));
    path = nextOf(headers);
    if (path) expect(body).toHaveLength(7);
    // Some just shown, among them the one that the cursor names; some far ahead or behind; and new ones all over.
    const leaving = [turn % 3 === 0 ? body.at(-1).id : undefined, created[(turn * 37) % size]];
    for (const id of leaving) {
      if (id === undefined || gone.has(id)) continue;
      gone.add(id);
      await w.request('DELETE', `/api/stream/${id}`);
    }
    if (turn < size / 5) await w.given.stream({ name: `name ${(turn * 13) % 100}` });
    if (turn > size * 0.4) throw new Error('the walk does not end');
  }
  const count = new Map<string, number>();
  for (const id of seen) count.set(id, (count.get(id) ?? 0) + 1);
  expect([...count].filter(([, times]) => times > 1)).toEqual([]);
  expect(created.filter((id) => !gone.has(id) && !count.has(id))).toEqual([]);
  expect(gone.size).toBeGreaterThan(size / 10);
}
