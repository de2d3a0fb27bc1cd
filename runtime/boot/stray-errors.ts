import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { Fault } from '../../core/base/fault.ts';

/** The folder of the program. */
const root = resolve(import.meta.dirname, '../..');
/** Folders with code of its own that is no plugin, and those with its plugins. */
const ownFolders = ['core', 'runtime', 'config', 'machines'].map((name) => join(root, name) + sep);
const shippedFolder = join(root, 'plugins') + sep;

/** Where an error comes from that no call was answered with. */
export interface Origin {
  /** Undefined: of none, or it cannot be told. */
  readonly plugin: string | undefined;
  /** Of the program itself: what it knows may be wrong from now on. */
  readonly isOwn: boolean;
}

/**
 * Tells from its stack where an error comes from: of the first plugin whose files are in it. A Fault is an answer that
 * nobody waited for, and no bug of whoever made it.
 *
 * @param plugins each with the file that it was loaded from: absolute, or in the folder of the program
 */
export function originOf(
  error: unknown,
  plugins: readonly { readonly plugin: { readonly id: string }; readonly file?: string }[],
): Origin {
  const files = stackOf(error).flatMap((line) => fileOf(line) ?? []);
  for (const file of files) {
    const plugin = ownerOf(file, plugins);
    if (plugin !== undefined) return { plugin, isOwn: false };
  }
  const isOwn =
    !(error instanceof Fault) && files.some((file) => ownFolders.some((own) => file.startsWith(own)));
  return { plugin: undefined, isOwn };
}

function stackOf(error: unknown): string[] {
  return error instanceof Error ? (error.stack ?? '').split('\n') : [];
}

/** `at name (/folder/file.ts:1:2)` or `at /folder/file.ts:1:2`. */
function fileOf(line: string): string | undefined {
  const place = /^\s*at (?:.*\()?(?:file:\/\/)?(\/[^()]*?|[A-Za-z]:[^()]*?):\d+:\d+\)?$/.exec(line);
  return place?.[1];
}

/** The plugin with the longest folder that a file is in. */
function ownerOf(file: string, plugins: Parameters<typeof originOf>[1]): string | undefined {
  let owner: string | undefined;
  let most = 0;
  for (const { plugin, file: main } of plugins) {
    if (main === undefined) continue;
    const folder = folderOf(main);
    const isIts = file === main || isIn(folder, file);
    const fit = file === main ? Number.POSITIVE_INFINITY : folder.length;
    if (!isIts || fit <= most) continue;
    owner = plugin.id;
    most = fit;
  }
  return owner;
}

/** The folder of a deployment may have a plugin beside the packages of the program and of other plugins. */
function isIn(folder: string, file: string): boolean {
  if (!file.startsWith(folder + sep)) return false;
  if (folder.startsWith(shippedFolder)) return true;
  const isOfProgram = [...ownFolders, shippedFolder].some((own) => file.startsWith(own));
  return !isOfProgram && !file.slice(folder.length).includes(`${sep}node_modules${sep}`);
}

/** Of a package all of it; of a file its folder. */
function folderOf(main: string): string {
  if (!isAbsolute(main)) return join(root, main);
  const [inPackage] = /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(main) ?? [];
  return inPackage ?? dirname(main);
}
