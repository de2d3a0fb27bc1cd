import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type Served, served } from '../../core/http/served.ts';

const here = (path: string) => join(import.meta.dir, path);
const shared = (path: string) => join(import.meta.dir, '../../core/face', path);
const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

/** Where the files below `/docs/app/` are. */
const files: Readonly<Record<string, string>> = {
  'tokens.css': shared('tokens.css'),
  'theme.js': shared('theme.js'),
  ...Object.fromEntries(
    [
      'bar.css',
      'reference.css',
      'reference.js',
      'document.js',
      'samples.js',
      'guides.css',
      'guides.js',
      'theme-switch.js',
    ].map((name) => [name, here(`page/${name}`)]),
  ),
};

/** A pasted key can go to this server alone, and no other page can frame the one that holds it. */
const policy = [
  ...["default-src 'none'", "script-src 'self'"],
  // Scalar writes its styles into the page by script.
  "style-src 'self' 'unsafe-inline'",
  ...["connect-src 'self'", "img-src 'self' data: blob:", "media-src 'self' blob:", "font-src 'self' data:"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ');

/** The page at `/docs`. */
export function referencePage(): Served {
  return served(readFileSync(here('page/reference.html')), {
    type: 'text/html; charset=utf-8',
    headers: { 'content-security-policy': policy },
  });
}

/** What the pages below `/docs` load, by name below `/docs/app/`. Each is read when it is first asked for. */
export function pageFiles(): (name: string) => Promise<Served | undefined> {
  const made = new Map<string, Promise<Served>>();
  const make = async (name: string): Promise<Served> => {
    if (name === 'scalar.js')
      return served(await bytesOf(here('vendor/scalar.js.br')), { type: script, packed: 'br' });
    if (name === 'client.js') return served(await clientTable(), { type: script });
    const file = files[name] ?? '';
    return served(await bytesOf(file), { type: extname(file) === '.css' ? style : script });
  };
  return async (name) => {
    if (!Object.hasOwn(files, name) && name !== 'scalar.js' && name !== 'client.js') return undefined;
    const known = made.get(name);
    if (known) return known;
    const file = make(name);
    made.set(name, file);
    // The next request tries again: the system may have been out of descriptors.
    file.catch(() => made.delete(name));
    return file;
  };
}

async function bytesOf(path: string): Promise<Uint8Array> {
  return Bun.file(path).bytes();
}

/** The calls that `millrace/client` has, so that the examples name those and no others. */
async function clientTable(): Promise<Uint8Array> {
  const source = await Bun.file(here('../../sdk/client/api.ts')).text();
  return Buffer.from(new Bun.Transpiler({ loader: 'ts' }).transformSync(source));
}
