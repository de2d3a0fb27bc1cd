import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { keyProblem } from '../../../../core/plugin/blob-key.ts';
import type { BlobFacts, BlobPage, ListOptions } from '../../../../core/ports/blobs.ts';
import { absent, unless } from './disk.ts';
import { factsOf } from './etag.ts';
import type { Tree } from './tree.ts';

/** Files that are looked at, or deleted, side by side. */
export const filesAtOnce = 32;

/**
 * One page of the keys that begin with `prefix`, in their order. Only folders that may hold some of them are read, each of them
 * whole: a page costs as much as the largest folder it passes through.
 */
export async function listTree(tree: Tree, options: { prefix: string } & ListOptions): Promise<BlobPage> {
  const { prefix, limit, after = '' } = options;
  const keys: string[] = [];
  for await (const key of keysIn(tree, {
    folder: prefix.slice(0, prefix.lastIndexOf('/') + 1),
    prefix,
    after,
  })) {
    keys.push(key);
    if (keys.length > limit) break;
  }
  const page = keys.slice(0, limit);
  const blobs: BlobFacts[] = [];
  for (let at = 0; at < page.length; at += filesAtOnce) {
    const some = await Promise.all(page.slice(at, at + filesAtOnce).map((key) => factsAt(tree, key)));
    blobs.push(...some.filter((one) => one !== undefined));
  }
  return keys.length > limit ? { blobs, next: page[limit - 1] } : { blobs };
}

/** @param folder `''` or a path with a slash at its end */
async function* keysIn(
  tree: Tree,
  options: { folder: string; prefix: string; after: string },
): AsyncGenerator<string> {
  const { folder, prefix, after } = options;
  const path = await tree.folder(folder);
  if (path === undefined) return;
  const entries = await unless(absent, { what: path, work: readdir(path, { withFileTypes: true }) });
  const names = (entries ?? [])
    // With its slash a folder sorts among the others as its keys do.
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.isFile() ? entry.name : ''))
    .filter((name) => name !== '')
    .map((name) => `${folder}${name}`)
    .filter((name) => name.startsWith(prefix) || prefix.startsWith(name))
    .sort(byBytes);
  for (const name of names) {
    if (name.endsWith('/')) {
      const mayHaveLater = name > after || after.startsWith(name);
      // A folder that no key can have: hidden ones are the driver's own.
      if (mayHaveLater && keyProblem(`${name}a.a`) === undefined)
        yield* keysIn(tree, { folder: name, prefix, after });
    } else if (name > after && keyProblem(name) === undefined) yield name;
  }
}

async function factsAt(tree: Tree, key: string): Promise<BlobFacts | undefined> {
  const what = join(tree.root, key);
  const stats = await unless(absent, { what, work: lstat(what, { bigint: true }) });
  return stats?.isFile() ? factsOf(key, stats) : undefined;
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
