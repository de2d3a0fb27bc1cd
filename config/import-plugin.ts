import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';

/**
 * Finds a plugin that does not ship with the program: a package, or a file or folder whose path begins with `/`, `./` or
 * `../`. `folder` is that of the config file: paths are relative to it, and packages are looked for from there first.
 * Undefined when there is nothing of this name.
 */
export function findPlugin(id: string, folder: string): string | undefined {
  if (isPath(id)) return resolved(resolve(folder, id), folder);
  for (const from of [folder, import.meta.dirname]) {
    const parent = installedIn(id, from);
    if (parent !== undefined) return resolved(id, parent);
  }
  return undefined;
}

/** What to write instead, where a path was written like the name of a package. */
export function pathHint(id: string, folder: string): string {
  if (isPath(id) || !existsSync(join(folder, id))) return '';
  return `; for the file or folder of this name write ./${id}`;
}

function isPath(id: string): boolean {
  return isAbsolute(id) || id.startsWith('./') || id.startsWith('../');
}

/** The folder, `from` or one above it, in whose `node_modules` a package is. Bun alone would try to download one that is not there. */
function installedIn(id: string, from: string): string | undefined {
  const name = /^(@[^/]+\/)?[^/]+/.exec(id)?.[0];
  if (name === undefined || /^\.+$/.test(name)) return undefined;
  if (existsSync(join(from, 'node_modules', name))) return from;
  const above = dirname(from);
  return above === from ? undefined : installedIn(id, above);
}

function resolved(id: string, from: string): string | undefined {
  try {
    const file = Bun.resolveSync(id, from);
    // A module that Node or Bun brings along (`stream`, `ws`) resolves to its own name.
    return isAbsolute(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

/** Why a module could not be imported, in one line: the message of the first error, and the place that it names. */
export function importProblem(error: unknown, file: string): string {
  // Bun collects what is wrong with the syntax of a file.
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const thrown = (first !== null && typeof first === 'object' ? first : {}) as Thrown;
  const [message] = String(thrown.message ?? first).split('\n', 1);
  const place = placeOf(thrown);
  return `${file} could not be loaded: ${message}${place === undefined ? '' : ` (${place})`}`;
}

/** Errors of Bun's parser have a position, all others a stack; frames of the runtime itself name no file. */
function placeOf({ position, stack }: Thrown): string | undefined {
  if (position) return `${position.file}:${position.line}:${position.column}`;
  const frames = typeof stack === 'string' ? stack.split('\n').map((line) => line.trim()) : [];
  return frames.find((frame) => frame.startsWith('at ') && frame.includes('/'));
}

interface Thrown {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly position?: { readonly file: string; readonly line: number; readonly column: number } | null;
}
