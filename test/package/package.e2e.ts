import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { until } from '../e2e/harness/wait.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { npm, outsideEnv, packed, packedSite } from './packed.ts';

// npm writes hundreds of megabytes, while other tests use the disk.
vi.setConfig({ testTimeout: 600_000 });

const key = 'package-bootstrap-key-0123456789';

function commandOf(folder: string): string {
  return join(folder, 'node_modules/.bin/millrace');
}

/** A server that the command of the package runs. `await using` ends it. */
async function startServer(folder: string, options: { command?: readonly string[]; config?: string } = {}) {
  const { command = [commandOf(folder), 'start'], config } = options;
  const [http, rtmp] = await findFreePorts(2);
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-package-'));
  const url = `http://127.0.0.1:${http}`;
  const env = outsideEnv({
    MILLRACE_HTTP__PORT: String(http),
    MILLRACE_RTMP__PORT: String(rtmp),
    MILLRACE_PUBLIC_URL: url,
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_BOOTSTRAP_KEY: key,
  });
  const [program = '', ...words] = [...command, ...(config === undefined ? [] : ['--config', config])];
  const child: ChildProcess = spawn(program, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'exit');
  await until('the server', async () => child.exitCode !== null || (await fetch(`${url}/health/ready`)).ok, {
    within: 60_000,
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null) child.kill(signal);
    return (await ended)[0] as number | null;
  };
  return {
    ...{ url, dataDir, stop },
    get output() {
      return output;
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Runs a program of Node itself, below the folder that has the package. */
async function runInNode(folder: string, source: string, words: readonly string[] = []): Promise<string> {
  const file = join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`);
  await writeFile(file, source);
  const { stdout } = await promisify(execFile)('node', [file, ...words], { cwd: folder, env: outsideEnv() });
  return stdout;
}

describe('the package, installed in an empty folder', () => {
  it('starts the server with npx millrace start, which ends well when npx is ended', async () => {
    const { folder } = await packed();
    await using server = await startServer(folder, { command: ['npx', 'millrace', 'start'] });
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
    expect((await fetch(`${server.url}/watch/x`)).status).toBe(200);
    // npx itself dies of the signal, and the shell that it started before it could hand it on.
    await server.stop();
    await until('the end', () => server.output.includes('"stopped"'), { within: 10_000 });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s', async (signal) => {
    const { folder } = await packed();
    await using server = await startServer(folder);
    expect(await server.stop(signal)).toBe(0);
    expect(server.output).toContain('"stopped"');
    expect(await readdir(server.dataDir)).toContain('millrace.db');
  });

  it('ends with the exit code of the server', async () => {
    const { folder } = await packed();
    await using server = await startServer(folder);
    const config = join(server.dataDir, 'config.yaml');
    await writeFile(config, 'http: {port: nonsense}\n');
    const refused = spawn(commandOf(folder), ['start', '--config', config], { env: outsideEnv() });
    expect((await once(refused, 'exit'))[0]).toBe(78);
  });

  it('is called from Node by millrace/client', async () => {
    const { folder } = await packed();
    await using server = await startServer(folder);
    const printed = await runInNode(
      folder,
      `
        import { MillraceError, millrace } from 'millrace/client';
        const [baseUrl, key] = process.argv.slice(2);
        const client = millrace({ baseUrl, key });
        const stop = new AbortController();
        const events = client.events({ signal: stop.signal });
        const heard = events.next();
        for (const name of ['a', 'b', 'c']) await client.createStream({ body: { name } });
        await client.requestUpload({ body: { name: 'film' } });
        const pages = [];
        for await (const page of client.pages('listStreams', { query: { limit: 2, order: 'name-false' } }))
          pages.push(page.map(({ name }) => name));
        const error = await client.getStream({ id: 'none' }).catch((error) => error);
        const event = (await heard).value.event;
        stop.abort();
        console.log(JSON.stringify({
          runtime: typeof Bun, pages, code: error.code, isOurs: error instanceof MillraceError, event,
        }));
      `,
      [server.url, key],
    );
    expect(JSON.parse(printed)).toEqual({
      runtime: 'undefined',
      pages: [['a', 'b'], ['c']],
      code: 'stream.not_found',
      isOurs: true,
      event: expect.stringMatching(/^(asset|task)\./),
    });
  });

  it('has a command that says what it knows', async () => {
    const { folder } = await packed();
    const run = (words: readonly string[]) =>
      promisify(execFile)(commandOf(folder), words, { env: outsideEnv() });
    expect(JSON.parse((await run(['version', '--json'])).stdout)).toMatchObject({ contract: 3 });
    await expect(run(['strat'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean start?'),
    });
  });

  it('broadcasts the clip of the demo to a server, and uploads a film', async () => {
    const { folder } = await packed();
    await using server = await startServer(folder);
    const env = outsideEnv({ MILLRACE_URL: server.url, MILLRACE_KEY: key, XDG_CONFIG_HOME: server.dataDir });
    // It needs Node, and finds no ffmpeg.
    const node = join(server.dataDir, 'bin');
    await mkdir(node);
    await symlink(Bun.which('node') ?? '', join(node, 'node'));
    const push = spawn(commandOf(folder), ['push', '--test-pattern'], {
      env: { ...env, PATH: node },
    });
    let printed = '';
    for (const pipe of [push.stdout, push.stderr]) pipe.on('data', (chunk) => (printed += chunk));
    await until('the broadcast', () => printed.includes('On the air.') || push.exitCode !== null, {
      within: 30_000,
    });
    push.kill('SIGINT');
    expect([(await once(push, 'exit'))[0], printed]).toEqual([0, expect.stringContaining('On the air.')]);
    // tus-js-client is there, and says what the server says.
    const film = join(server.dataDir, 'film.mp4');
    await writeFile(film, 'This is no film.');
    await expect(promisify(execFile)(commandOf(folder), ['upload', film], { env })).rejects.toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('millrace upload: ') },
    });
  });
});

describe('a plugin that plugin new wrote', () => {
  it('passes its tests and its check at once, and runs in a server', async () => {
    await using site = await packedSite();
    await promisify(execFile)(commandOf(site.folder), ['plugin', 'new', '@acme/greeter'], {
      cwd: site.folder,
      env: outsideEnv(),
    });
    const folder = join(site.folder, 'greeter');
    await npm(folder, ['install']);
    expect(await npm(folder, ['test'])).toMatch(/3 passed/);
    expect(await npm(folder, ['run', 'check'])).toMatch(
      /greeter fits: .*\n {2}routes: GET \/api\/greeter\/\{id\}/,
    );

    // As its users install it: packed, and named in the config beside which it lies.
    await npm(folder, ['pack', '--silent']);
    await npm(site.folder, ['install', join(folder, 'acme-greeter-0.1.0.tgz')]);
    const config = join(site.folder, 'config.yaml');
    await writeFile(config, 'plugins: {"@acme/greeter": {greeting: Good morning}}\n');
    await using server = await startServer(site.folder, { config });
    const headers = { authorization: `Bearer ${key}` };
    const body = JSON.stringify({ name: 'A stream' });
    const created = await fetch(`${server.url}/api/stream`, { method: 'POST', headers, body });
    const { id } = (await created.json()) as { id: string };
    const answer = await fetch(`${server.url}/api/greeter/${id}`, { headers });
    expect(await answer.json()).toEqual({ greeting: `Good morning, ${id}`, isActive: false });
    const gone = await fetch(`${server.url}/api/greeter/none`, { headers });
    expect([gone.status, ((await gone.json()) as { code: string }).code]).toEqual([404, 'stream.not_found']);
  });
});

describe('types', () => {
  const plugin = `
import { definePlugin, Elysia, Fault, job, json, says, setup, streams, Type, type Kit } from 'millrace/plugin';
const config = Type.Object({ most: Type.Integer({ default: 3 }) });
const machine = setup({ actors: { 'x.do': job<{ a: number }, { b: string }>() } }).createMachine({ id: 'x' });
export const most = (kit: Kit<typeof config>): number => kit.config.most;
export default definePlugin({
  id: 'typed', contract: 3, summary: 'x', config, needs: [streams],
  actors: [{ type: 'x', machine, version: 1, rows: () => [], describe: () => ({ account: '', stream: '', body: {} }) }],
  routes: (kit) => new Elysia().get('/typed', async () => {
    const state = await kit.use(streams).current('a');
    if (!state) throw new Fault('stream.not_found', { status: 404, message: String(most(kit)) });
    // @ts-expect-error: there is no such field
    void state.nonsense;
    return Response.json({ isActive: state.isActive });
  }, says('x', { name: 'getTyped', answers: { 200: json(Type.Object({}), 'x') } })),
});
`;
  const test = `
import { allPlugins, scriptedEffect, world } from 'millrace/testing';
import { millrace, MillraceError, type Stream } from 'millrace/client';
import typed from './plugin.js';
await using w = await world({ plugins: [...(await allPlugins()), typed], config: { typed: { most: 4 } } });
const { body } = await w.request('GET', '/typed');
const effect = scriptedEffect<{ a: number }, { b: string }>();
effect.last().finish({ b: String(body) });
// @ts-expect-error: a duration is a text
await w.advance(10);
const client = millrace({ baseUrl: 'http://localhost' });
const stream: Stream = await client.createStream({ body: { name: 'a' } });
for await (const page of client.pages('listStreams', { query: { active: true } })) page.map(({ name }) => name);
// @ts-expect-error: there is no such field
stream.nonsense;
// @ts-expect-error: id is missing
await client.getStream({});
console.log(MillraceError.name);
`;

  it.each([
    ['nodenext', 'nodenext'],
    ['bundler', 'preserve'],
  ])('are those that a strict project needs, with moduleResolution %s', async (moduleResolution, module) => {
    const { folder: site } = await packed();
    const folder = join(site, `types-${moduleResolution}`);
    await mkdir(folder, { recursive: true });
    // Of tsc --init, and stricter.
    const compilerOptions = {
      ...{ module, moduleResolution, target: 'esnext', lib: ['esnext', 'dom'], types: [], strict: true },
      ...{ noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noEmit: true },
      ...{ verbatimModuleSyntax: true, isolatedModules: true, moduleDetection: 'force', skipLibCheck: true },
    };
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    await writeFile(join(folder, 'plugin.ts'), plugin);
    await writeFile(join(folder, 'plugin.test.ts'), test);
    const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
    const { stdout } = await promisify(execFile)('node', [tsc, '--pretty', 'false'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    await rm(folder, { recursive: true });
    expect(stdout).toBe('');
  });
});
