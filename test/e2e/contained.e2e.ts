import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** The real server with plugins of `test/kit/mistakes` that make mistakes. */
async function serverWith(names: readonly string[], config: object = {}): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-contained-'));
  const file = join(folder, 'config.json');
  const plugins = Object.fromEntries(
    names.map((name) => [join(root, `test/kit/mistakes/${name}-plugin.ts`), true]),
  );
  writeFileSync(file, JSON.stringify({ ...config, plugins }));
  try {
    return await startServer({ env: { MILLRACE_CONFIG: file } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const issuesOf = async ({ url }: Server): Promise<string[]> =>
  ((await (await fetch(`${url}/health/ready`)).json()) as { issues?: string[] }).issues ?? [];
const metricsOf = async ({ url }: Server): Promise<string> => (await fetch(`${url}/metrics`)).text();

test.concurrent('a plugin that cannot be started is off, in the boot tree too, without a secret', async () => {
  await using server = await serverWith(['failing']);
  expect((await server.api.createStream({ name: 'A' })).isActive).toBe(false);
  expect(await issuesOf(server)).toEqual([
    'The plugin failing is off, because it could not be started. Fix what the log says about it, and restart the server.',
  ]);
  expect(server.output).toMatch(/─ failing +\d+ ms {2}OFF: it could not be started: no disk for \*\*\*\n/);
  expect(server.output).toContain('Millrace is up');
  expect(server.output).not.toContain(server.key);
  expect(await server.stop()).toBe(0);
});

test.concurrent('errors of a plugin that nobody waits for are logged with its id, and end nothing', async () => {
  await using server = await serverWith(['stray']);
  const { pid } = server;
  for (const mistake of ['timer', 'promise', 'text']) {
    expect((await fetch(`${server.url}/stray/${mistake}`)).status).toBe(200);
  }
  const seen = async () => {
    const metrics = await metricsOf(server);
    return (
      metrics.includes('millrace_plugin_errors_total{plugin="stray",where="outside any call"} 2') &&
      metrics.includes('millrace_plugin_errors_total{plugin="unknown",where="outside any call"} 1')
    );
  };
  await until('all three', seen, { within: 5000 });
  expect(server.output).toMatch(
    /"a plugin failed; the rest goes on","plugin":"stray","where":"outside any call"/,
  );
  expect(await issuesOf(server)).toEqual([
    'The plugin stray fails: outside any call. The log says how.',
    'Something fails: outside any call. The log says how.',
  ]);
  expect(server.pid).toBe(pid);
  expect((await server.api.createStream({ name: 'A' })).isActive).toBe(false);
});

test.concurrent('an error of the program that nobody waits for ends it with exit code 1', async () => {
  await using server = await serverWith(['stray']);
  await fetch(`${server.url}/stray/program`);
  await until('the end', () => server.output.includes('"the server must stop"'), { within: 5000 });
  expect(server.output).toContain('"an error that nothing expected"');
  expect(await server.stop()).toBe(1);
});

test.concurrent('a plugin that computes for seconds holds everything up, which is in the log', async () => {
  await using server = await serverWith(['stray']);
  expect((await fetch(`${server.url}/stray/loop`)).status).toBe(200);
  await until(
    'the line',
    () => /"something held up the main thread, and everything with it","ms":[67]\d{3}/.test(server.output),
    {
      within: 5000,
    },
  );
  expect((await server.api.createStream({ name: 'A' })).isActive).toBe(false);
});

test.concurrent('a route that never answers: its connection is closed after 30 s, and its place is free later', async () => {
  await using server = await serverWith(['stray'], { http: { requests: 1 } });
  const began = performance.now();
  // Not `fetch`, which asks again when a connection is closed.
  const client = connect(Number(new URL(server.url).port), '127.0.0.1');
  let answer = '';
  client.on('data', (chunk) => {
    answer += chunk;
  });
  client.write('GET /stray/hang HTTP/1.1\r\nHost: x\r\n\r\n');
  client.on('error', () => {});
  await new Promise((resolve) => client.on('close', resolve));
  expect(answer).toBe('');
  const took = performance.now() - began;
  expect(took).toBeGreaterThan(29_000);
  expect(took).toBeLessThan(45_000);
  expect(server.output).toMatch(
    /"a route does not answer; the connection was closed","method":"GET","path":"\/stray\/hang","seconds":3\d/,
  );
  // One place, and the request that hangs has it.
  const ask = async () => (await fetch(`${server.url}/openapi.json`)).status;
  expect(await ask()).toBe(503);
  await until('a free place', async () => (await ask()) === 200, { within: 45_000, every: 1000 });
});
