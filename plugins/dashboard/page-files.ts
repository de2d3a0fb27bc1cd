import { readdirSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { type Served, served } from '../../core/http/served.ts';

const pageFolder = join(import.meta.dir, 'page');
/** What all pages of the program have in common. */
const faceFolder = join(import.meta.dir, '../../core/face');
const shared: Readonly<Record<string, string>> = { 'style/tokens.css': 'tokens.css', 'theme.js': 'theme.js' };
const clientFolder = join(import.meta.dir, '../../sdk/client');
/** Libraries by the names of the import map in `index.html`. */
const libraries: Readonly<Record<string, string>> = {
  'preact.js': 'preact',
  'preact-hooks.js': 'preact/hooks',
  'signals-core.js': '@preact/signals-core',
  'signals.js': '@preact/signals',
  'htm.js': 'htm',
  'hls.js': 'hls.js/dist/hls.mjs',
  'tus.js': 'tus-js-client/dist/tus.min.js',
  'uplot.js': 'uplot/dist/uPlot.esm.js',
  'uplot.css': 'uplot/dist/uPlot.min.css',
};
const script = 'text/javascript; charset=utf-8';
const types: Readonly<Record<string, string>> = { '.js': script, '.css': 'text/css; charset=utf-8' };

/** A file of the dashboard. */
interface PageFile {
  /** A browser asks each time whether it still has the newest, so that pages fit the server after an upgrade. */
  read(): Promise<ReadFile>;
}

interface ReadFile {
  readonly plain: Uint8Array;
  readonly answer: Served;
}

export type PageFiles = ReadonlyMap<string, PageFile>;

/** By their path below `/dashboard/app/`: those beside this file, shared ones, libraries, and the client of the API. */
export function pageFiles(): PageFiles {
  const files = new Map<string, PageFile>();
  for (const path of readdirSync(pageFolder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(path)];
    if (type) files.set(path, { read: reader(join(pageFolder, path), { type }) });
  }
  for (const [name, source] of Object.entries(shared))
    files.set(name, { read: reader(join(faceFolder, source), { type: typeOf(name) }) });
  for (const [name, module] of Object.entries(libraries)) {
    const path = Bun.resolveSync(module, import.meta.dir);
    files.set(`vendor/${name}`, { read: reader(path, { type: typeOf(name) }) });
  }
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  for (const name of readdirSync(clientFolder)) {
    const change = (source: string) => transpiler.transform(source);
    files.set(`client/${name}`, { read: reader(join(clientFolder, name), { type: script, change }) });
  }
  return files;
}

function typeOf(name: string): string {
  return types[extname(name)] ?? script;
}

/** Reads a file when it is first asked for, and again after it has changed. */
function reader(
  path: string,
  { type, change }: { type: string; change?: (source: string) => Promise<string> },
): PageFile['read'] {
  let known: { modified: number; file: Promise<ReadFile> } | undefined;
  const read = async () => {
    const source = Bun.file(path);
    const plain = change ? new TextEncoder().encode(await change(await source.text())) : await source.bytes();
    return { plain, answer: served(plain, { type }) };
  };
  return () => {
    const modified = Bun.file(path).lastModified;
    if (known?.modified !== modified) known = { modified, file: read() };
    return known.file;
  };
}

/** What a module needs before it runs. `import(…)` is left out: that is loaded when it is needed. */
const staticImport = /^\s*(?:import|export)\b(?:[^'";]*?\bfrom)?\s*["']([^"']+)["']/gm;
const minifiedImport = /\b(?:import|from)\s*["']([^"'\s]+)["']/g;

/**
 * Paths of the modules that a module needs, itself first: with them a page makes a browser load all at once. Without them it would find
 * each only after it has read the one that imports it. `names`: bare names of the import map → paths.
 */
export async function modulesOf(
  files: PageFiles,
  { roots, names }: { roots: readonly string[]; names: Readonly<Record<string, string>> },
): Promise<string[]> {
  const found = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    const file = files.get(path);
    if (!file || found.has(path)) return;
    found.add(path);
    const source = new TextDecoder().decode((await file.read()).plain);
    const pattern = path.startsWith('vendor/') ? minifiedImport : staticImport;
    const next = [...source.matchAll(pattern)].map(([, to = '']) =>
      to.startsWith('.') ? posix.join(posix.dirname(path), to) : names[to],
    );
    for (const to of next) if (to) await visit(to);
  };
  for (const root of roots) await visit(root);
  return [...found];
}
