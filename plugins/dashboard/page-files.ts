import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { takesGzip } from '../../core/http/accept-encoding.ts';
import { preconditions } from '../../core/http/preconditions.ts';

const compress = promisify(gzip);
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
  readonly type: string;
  read(): Promise<ReadFile>;
}

interface ReadFile {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

export type PageFiles = ReadonlyMap<string, PageFile>;

/** By their path below `/dashboard/app/`: those beside this file, shared ones, libraries, and the client of the API. */
export function pageFiles(): PageFiles {
  const files = new Map<string, PageFile>();
  for (const path of readdirSync(pageFolder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(path)];
    if (type) files.set(path, { type, read: reader(join(pageFolder, path)) });
  }
  for (const [name, source] of Object.entries(shared))
    files.set(name, { type: types[extname(name)] ?? script, read: reader(join(faceFolder, source)) });
  for (const [name, module] of Object.entries(libraries)) {
    const path = Bun.resolveSync(module, import.meta.dir);
    files.set(`vendor/${name}`, { type: types[extname(name)] ?? script, read: reader(path) });
  }
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  for (const name of readdirSync(clientFolder)) {
    const read = reader(join(clientFolder, name), (source) => transpiler.transform(source));
    files.set(`client/${name}`, { type: script, read });
  }
  return files;
}

/** Reads a file when it is first asked for, and again after it has changed. */
function reader(path: string, change?: (source: string) => Promise<string>): PageFile['read'] {
  let known: { modified: number; file: Promise<ReadFile> } | undefined;
  const read = async () => {
    const source = Bun.file(path);
    const plain = change ? new TextEncoder().encode(await change(await source.text())) : await source.bytes();
    const etag = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
    return { plain, gzip: new Uint8Array(await compress(plain)), etag };
  };
  return () => {
    const modified = Bun.file(path).lastModified;
    if (known?.modified !== modified) known = { modified, file: read() };
    return known.file;
  };
}

/** A browser asks each time whether it still has the newest, so that pages fit the server after an upgrade. */
export async function fileAnswer(file: PageFile, request: Request, headers: Record<string, string>) {
  const { plain, gzip: compressed, etag } = await file.read();
  const isCompressed = takesGzip(request.headers.get('accept-encoding'));
  const tag = isCompressed ? `${etag}-gzip` : etag;
  const all = { ...headers, vary: 'accept-encoding', etag: `"${tag}"` };
  if (preconditions(request.headers, { etag: tag }) === 'unchanged')
    return new Response(null, { status: 304, headers: all });
  return new Response(isCompressed ? compressed : plain, {
    headers: { ...all, 'content-type': file.type, ...(isCompressed && { 'content-encoding': 'gzip' }) },
  });
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
