import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const repository = join(import.meta.dirname, '../..');
/** A checkout with the start script, one dependency, one tool and a program that prints "started". */
let checkout: string;

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'millrace-checkout-'));
  for (const folder of ['runtime', 'demo', 'scripts', 'path']) mkdirSync(join(checkout, folder));
  for (const script of ['bun.sh', 'missing-packages.ts']) {
    const source = join(repository, 'scripts', script);
    if (existsSync(source)) cpSync(source, join(checkout, 'scripts', script));
  }
  for (const program of ['runtime/main.ts', 'demo/main.ts']) write(program, 'console.log("started");');
  const packages = {
    '': { version: '1.0.0' },
    'node_modules/elysia': { version: '1.4.0' },
    'node_modules/vitest': { version: '4.0.0', dev: true },
    'node_modules/@oven/bun-of-elsewhere': { version: '1.0.0', optional: true },
  };
  write('package-lock.json', JSON.stringify({ packages }));
  // In place of npm: it leaves a file, and installs nothing.
  write('path/npm', '#!/bin/sh\ntouch npm-was-called\nexit 1\n');
  chmodSync(join(checkout, 'path/npm'), 0o755);
});
afterEach(() => rmSync(checkout, { recursive: true }));

function write(path: string, text: string): void {
  writeFileSync(join(checkout, path), text);
}

/** Puts Bun and these packages into a folder of modules. */
function addModules(folder: string, packages: Record<string, string>): void {
  mkdirSync(join(checkout, folder, 'bun/bin'), { recursive: true });
  symlinkSync(process.execPath, join(checkout, folder, 'bun/bin/bun.exe'));
  for (const [name, version] of Object.entries(packages)) {
    mkdirSync(join(checkout, folder, name), { recursive: true });
    write(`${folder}/${name}/package.json`, JSON.stringify({ version }));
  }
}

function start(env: Record<string, string>, program = 'runtime/main.ts') {
  const { status, stdout, stderr } = spawnSync('sh', ['scripts/bun.sh', program], {
    cwd: checkout,
    env: { PATH: `${join(checkout, 'path')}:${process.env.PATH}`, HOME: checkout, ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr, isNpmCalled: existsSync(join(checkout, 'npm-was-called')) };
}

describe('the start script', () => {
  it('refuses to install into a node_modules that is a symbolic link, and says what to do', () => {
    addModules('modules-of-another', { elysia: '1.3.0' });
    symlinkSync('modules-of-another', join(checkout, 'node_modules'));
    const { status, stderr, isNpmCalled } = start({});
    expect({ status, isNpmCalled }).toEqual({ status: 78, isNpmCalled: false });
    expect(stderr).toContain('node_modules is a symbolic link to modules-of-another');
    expect(stderr).toContain('rm node_modules');
    expect(existsSync(join(checkout, 'modules-of-another/elysia/package.json'))).toBe(true);
  });

  it('runs with a link to what package-lock.json asks for', () => {
    addModules('modules-of-another', { elysia: '1.4.0' });
    write('modules-of-another/.package-lock.json', '{}');
    cpSync(join(checkout, 'package-lock.json'), join(checkout, 'modules-of-another/.installed-lock'));
    symlinkSync('modules-of-another', join(checkout, 'node_modules'));
    expect(start({})).toMatchObject({ status: 0, stdout: 'started\n', isNpmCalled: false });
  });

  const never = { MILLRACE_INSTALL: 'never' };

  it.each([
    ['nothing', {}, ['elysia 1.4.0\n']],
    ['another version', { elysia: '1.3.0' }, ['elysia 1.4.0 (1.3.0 is there)']],
  ])('MILLRACE_INSTALL=never installs nothing where there is %s', (_, packages, problems) => {
    addModules('node_modules', packages as Record<string, string>);
    const { status, stderr, isNpmCalled } = start(never);
    expect({ status, isNpmCalled }).toEqual({ status: 78, isNpmCalled: false });
    for (const problem of [...problems, 'npm ci --omit=dev']) expect(stderr).toContain(problem);
    expect(stderr).not.toContain('elsewhere');
    expect(stderr).not.toContain('vitest');
  });

  it('MILLRACE_INSTALL=never: the server needs no tools, whatever the times of the files; the rest does', () => {
    addModules('node_modules', { elysia: '1.4.0' });
    expect(start(never)).toMatchObject({ status: 0, stdout: 'started\n', isNpmCalled: false });
    const demo = start(never, 'demo/main.ts');
    expect(demo).toMatchObject({ status: 78, isNpmCalled: false });
    expect(demo.stderr).toContain('vitest 4.0.0');
  });

  it('MILLRACE_INSTALL=never says when there is no Bun', () => {
    const { status, stderr, isNpmCalled } = start(never);
    expect({ status, isNpmCalled }).toEqual({ status: 78, isNpmCalled: false });
    expect(stderr).toContain('node_modules has no Bun');
  });

  it('refuses another value of MILLRACE_INSTALL', () => {
    addModules('node_modules', { elysia: '1.4.0' });
    const { status, stderr, isNpmCalled } = start({ MILLRACE_INSTALL: 'no' });
    expect({ status, isNpmCalled }).toEqual({ status: 78, isNpmCalled: false });
    expect(stderr).toContain('MILLRACE_INSTALL=no: expected never');
  });
});
