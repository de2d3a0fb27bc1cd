import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFreePorts } from '../kit/free-ports.ts';
import { root } from './harness/server.ts';
import { until } from './harness/wait.ts';

test.concurrent('the demo finds the server by the config file: ports, data folder and with it the key; and starts none', async () => {
  await using place = await configured();
  const server = place.run('runtime/main.ts');
  await until('the server', () => server.output().includes('"message":"ready"'), { within: 20_000 });
  const demo = place.run('demo/main.ts');
  await until('the link', () => demo.output().includes(`Watch  http://127.0.0.1:${place.http}/watch/`), {
    within: 20_000,
  });
  expect(demo.output()).not.toContain('starts one');
  // As Ctrl-C under npm: from the terminal and from npm.
  for (const _ of [1, 2]) demo.child.kill('SIGINT');
  await until('its end', () => demo.output().includes('Stopped.'), { within: 10_000 });
  expect((await fetch(`http://127.0.0.1:${place.http}/health/ready`)).status).toBe(200);
});

test.concurrent('the demo starts the configured server where none answers, and the environment wins over the file', async () => {
  await using place = await configured();
  const [http] = await findFreePorts(1);
  const demo = place.run('demo/main.ts', { MILLRACE_HTTP__PORT: String(http) });
  await until('the link', () => demo.output().includes(`Watch  http://127.0.0.1:${http}/watch/`), {
    within: 20_000,
  });
  expect(demo.output()).toContain(`No server answers at http://127.0.0.1:${http}, so this starts one.`);
  demo.child.kill('SIGINT');
  await until('its end', () => demo.output().includes('Stopped.'), { within: 15_000 });
  await expect(fetch(`http://127.0.0.1:${http}/health/live`)).rejects.toThrow();
});

/** A config file with ports and a data folder of its own, and what runs by it. */
async function configured() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-demo-'));
  const [http, rtmp] = await findFreePorts(2);
  const file = join(folder, 'config.json');
  const dataDir = join(folder, 'data');
  writeFileSync(file, JSON.stringify({ http: { port: http }, rtmp: { port: rtmp }, dataDir }));
  const children: ChildProcess[] = [];
  return {
    http,
    run(program: string, env: Record<string, string> = {}) {
      const child = spawn(process.execPath, [program], {
        cwd: root,
        env: { PATH: process.env.PATH, HOME: process.env.HOME, MILLRACE_CONFIG: file, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      children.push(child);
      let output = '';
      for (const pipe of [child.stdout, child.stderr]) {
        pipe.on('data', (chunk) => {
          output += chunk;
        });
      }
      return { child, output: () => output };
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGTERM');
      await until(
        'their end',
        () => children.every(({ exitCode, signalCode }) => (exitCode ?? signalCode) !== null),
        {
          within: 15_000,
        },
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
