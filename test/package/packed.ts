import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { cp, link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');
/** Kept between runs of tests, for one checkout. Outside of it: what is installed there must find nothing of its node_modules. */
const store = join(
  tmpdir(),
  `millrace-packed-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`,
);
const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
/** ms; npm may have to download. */
const longest = 400_000;
const tenMebibytes = 10_485_760;

/** This repository as npm packs it. */
export interface Packed {
  /** The package: `millrace-<version>.tgz`. */
  readonly tarball: string;
  /** A folder in which it is installed, with nothing else. Leave it as it is: others use it. */
  readonly folder: string;
}

/** Packs and installs it once for all tests of a run, in whichever process they are. */
export async function packed(): Promise<Packed> {
  const done = join(store, contentHash());
  await mkdir(store, { recursive: true });
  for (;;) {
    if (existsSync(done)) return packedIn(done);
    const lock = join(store, 'lock');
    try {
      await mkdir(lock);
    } catch {
      await passed(lock);
      continue;
    }
    try {
      await writeFile(join(lock, 'pid'), String(process.pid));
      if (!existsSync(done)) await make(done);
    } finally {
      await rm(lock, { recursive: true, force: true });
    }
  }
}

/** A folder of its own in which it is installed, for a test that installs more. Disposing deletes it. */
export async function packedSite(): Promise<Packed & AsyncDisposable> {
  const { tarball, folder: shared } = await packed();
  // Beside the first: npm notes where the package came from in relation to the folder.
  const folder = await mkdtemp(`${shared}-`);
  const large: string[] = [];
  await cp(shared, folder, {
    ...{ recursive: true, verbatimSymlinks: true },
    filter(source) {
      const facts = lstatSync(source);
      const isLarge = facts.isFile() && facts.size > tenMebibytes;
      if (isLarge) large.push(relative(shared, source));
      return !isLarge;
    },
  });
  // Bun, twice: 200 MB that nobody writes to.
  for (const file of large) await link(join(shared, file), join(folder, file));
  return {
    ...{ tarball, folder },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** `npm` in a folder. Resolves with what it printed; rejects when it failed. */
export async function npm(folder: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', [...words, ...(words[0] === 'install' ? quiet : [])], {
    ...{ cwd: folder, env: outsideEnv(), timeout: longest, maxBuffer: 10_000_000 },
  }).catch((error: { stdout?: string; stderr?: string; message: string }) =>
    Promise.reject(new Error(`${error.message}\n${error.stdout}\n${error.stderr}`)),
  );
  return stdout;
}

/** The environment of a shell outside: nothing of vitest, of npm or of a config of Millrace. */
export function outsideEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|NODE_ENV$|npm_|MILLRACE_|TEST_|CI$)/.test(name),
  );
  return { ...(Object.fromEntries(own) as Record<string, string>), ...more };
}

async function make(done: string): Promise<void> {
  const making = `${done}.part`;
  for (const name of await readdir(store)) {
    if (name !== 'lock') await rm(join(store, name), { recursive: true, force: true });
  }
  await mkdir(join(making, 'site'), { recursive: true });
  await npm(root, ['pack', '--silent', '--pack-destination', making]);
  await writeFile(join(making, 'site/package.json'), '{"private": true}\n');
  await npm(join(making, 'site'), ['install', packedIn(making).tarball]);
  await rename(making, done);
}

function packedIn(folder: string): Packed {
  return {
    tarball: join(folder, `millrace-${packageJson.version}.tgz`),
    folder: join(folder, 'site'),
  };
}

/** Waits until another process has let go of the lock, or is gone. */
async function passed(lock: string): Promise<void> {
  while (existsSync(lock)) {
    await Bun.sleep(200);
    const pid = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => process.pid));
    if (!isAlive(pid)) await rm(lock, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Of the files that are packed, by their names, sizes and times. */
function contentHash(): string {
  const hash = createHash('sha256');
  const add = (path: string) => {
    const facts = statSync(join(root, path), { throwIfNoEntry: false });
    if (!facts) return;
    if (!facts.isDirectory()) hash.update(`${path} ${facts.size} ${facts.mtimeMs}\n`);
    else for (const name of readdirSync(join(root, path)).sort()) add(`${path}/${name}`);
  };
  const sources = packageJson.files.filter((path) => path !== 'dist');
  for (const path of ['package.json', 'package-lock.json', 'scripts', ...sources]) add(path);
  return hash.digest('hex').slice(0, 16);
}
