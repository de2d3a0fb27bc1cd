import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { root } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { engineFor } from '../kit/engines.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { certificates } from '../outbound/certificates.ts';

const [redisHere, kafkaHere, s3Here] = await Promise.all([
  engineFor('redis'),
  engineFor('kafka'),
  engineFor('s3'),
]);
const isMissing = redisHere.isMissing || kafkaHere.isMissing || s3Here.isMissing;

test.skipIf(isMissing)(
  'npm run fleet: starts everything, stops everything on Ctrl-C, and finds its data again',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
    let name = '';
    try {
      for (const round of [1, 2]) {
        await using run = started('npm', ['run', '--silent', 'fleet', '--', folder, '--port', '0'], {});
        await until('the fleet', () => run.output().includes('The fleet is up'), { within: 120_000 });
        const [, a] = /^ {2}a +(http:\S+)/m.exec(run.output()) ?? [];
        const [, b] = /^ {2}b +(http:\S+)/m.exec(run.output()) ?? [];
        const [, key] = /API key +(\S+)/.exec(run.output()) ?? [];
        if (round === 1) {
          ({ name } = await apiClient(a, { key }).createStream({ name: `made in ${folder}` }));
        }
        const listed = (await (
          await apiClient(b, { key }).request('GET', '/api/stream')
        ).json()) as unknown[];
        expect(listed).toMatchObject([{ name }]);
        if (round === 1) {
          await restarts(b, { node: 'b', folder });
          expect(run.output()).not.toMatch(/has ended/);
        }
        run.child.kill('SIGINT');
        expect(await run.exit({ within: 60_000 }), run.output()).toBe(0);
        expect(run.output()).toContain('Stopped.');
        expect(run.output()).not.toMatch(/has ended/);
        await expect(fetch(`${a}/health/live`)).rejects.toThrow();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  300_000,
);

/** `kill` and `restart` of a node, from another terminal. */
async function restarts(url: string, { node, folder }: { node: string; folder: string }): Promise<void> {
  const command = async (...words: string[]) => {
    await using run = started('npm', ['run', '--silent', 'fleet', '--', ...words, folder], {});
    return { code: await run.exit({ within: 60_000 }), output: run.output() };
  };
  expect(await command('kill', node)).toMatchObject({
    code: 0,
    output: expect.stringContaining('b is killed'),
  });
  await expect(fetch(`${url}/health/live`)).rejects.toThrow();
  const again = await command('restart', node);
  expect(again).toMatchObject({ code: 0, output: expect.stringContaining('on the same ports') });
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  const nobody = await command('restart', 'meda');
  expect(nobody).toMatchObject({ code: 1, output: expect.stringContaining('did you mean media?') });
}

test('npm run fleet: a port that is taken is named, before anything starts', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
  try {
    await using run = started(
      'npm',
      ['run', '--silent', 'fleet', '--', folder, '--port', String(port - 2)],
      {},
    );
    expect(await run.exit({ within: 20_000 }), run.output()).toBe(1);
    expect(run.output()).toMatch(new RegExp(`something listens on .*${port} \\(media\\).*--port 8800`));
    await using idle = started('npm', ['run', '--silent', 'fleet', '--', 'restart', 'media', folder], {});
    expect(await idle.exit({ within: 20_000 }), idle.output()).toBe(69);
    expect(idle.output()).toContain('No fleet runs on');
  } finally {
    other.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test.skipIf(isMissing)(
  'engines that are not fit: exit 78, and what is wrong with them',
  async () => {
    const { brokers } = await kafkaHere.shared();
    const forgetful = await redisHere.start({ aof: false });
    const kafka = { MILLRACE_KAFKA__BROKERS: JSON.stringify(brokers) };
    await using unsafe = await node({ ...kafka, MILLRACE_REDIS__URL: forgetful.url });
    expect(await unsafe.exit({ within: 60_000 }), unsafe.output()).toBe(78);
    expect(unsafe.output()).toContain('appendonly yes');

    const good = await redisHere.shared();
    const s3 = await s3Here.shared();
    const secured = await kafkaHere.start({
      secure: { users: { millrace: 'word-of-passage' }, cert: certificates.good, key: certificates.key },
    });
    await using nobody = await node({
      MILLRACE_KAFKA__BROKERS: JSON.stringify(secured.withPassword),
      MILLRACE_KAFKA__SASL__MECHANISM: 'plain',
      MILLRACE_KAFKA__SASL__USERNAME: 'millrace',
      MILLRACE_KAFKA__SASL__PASSWORD: 'not-the-word-of-passage',
      MILLRACE_REDIS__URL: good.url,
    });
    expect(await nobody.exit({ within: 60_000 }), nobody.output()).toBe(78);
    expect(nobody.output()).toContain('kafka.sasl');
    expect(nobody.output()).not.toContain('word-of-passage');
    await secured.stop();

    await using stranger = await node({
      ...{ ...kafka, MILLRACE_REDIS__URL: good.url, MILLRACE_S3__ENDPOINT: s3.endpoint },
      ...{ MILLRACE_S3__BUCKET: s3.bucket, MILLRACE_S3__ACCESS_KEY_ID: s3.accessKeyId },
      MILLRACE_S3__SECRET_ACCESS_KEY: 'not-the-key-of-anybody',
    });
    expect(await stranger.exit({ within: 60_000 }), stranger.output()).toBe(78);
    expect(stranger.output()).toMatch(/s3\./);
    expect(stranger.output()).not.toContain('not-the-key-of-anybody');

    await using first = await node({ ...kafka, MILLRACE_REDIS__URL: good.url });
    await until('the start', () => first.output().includes('"ready"'), { within: 60_000 });
    await using second = await node({
      ...{ ...kafka, MILLRACE_REDIS__URL: good.url, MILLRACE_NODE__ID: 'o' },
      MILLRACE_BOOTSTRAP_KEY: 'a-key-of-its-own-alone',
    });
    expect(await second.exit({ within: 60_000 }), second.output()).toBe(78);
    expect(second.output()).toContain('bootstrapKey: differs from that of the running node "n"');
    expect(second.output()).not.toContain('a-key-of-its-own-alone');
    await using other = await node({
      ...{ ...kafka, MILLRACE_REDIS__URL: good.url },
      ...{ MILLRACE_NODE__ID: 'm', MILLRACE_KAFKA__PARTITIONS: '8' },
    });
    expect(await other.exit({ within: 60_000 }), other.output()).toBe(78);
    expect(other.output()).toContain('kafka.partitions');
  },
  240_000,
);

test('an engine that is not there: the start waits and says so, and ends at once when told to', async () => {
  const [port] = await findFreePorts(1);
  await using run = await node({ MILLRACE_REDIS__URL: `redis://:word-of-passage@127.0.0.1:${port}` });
  await until('a line', () => run.output().includes('an engine does not answer yet'), { within: 30_000 });
  expect(run.output()).toMatch(/Kafka at 127\.0\.0\.1:\d+/);
  run.child.kill('SIGTERM');
  expect(await run.exit({ within: 8000 })).toBe(0);
  expect(run.output()).not.toContain('word-of-passage');
});

/** A node of a deployment of several, with these things in its environment. */
async function node(env: Record<string, string>) {
  const [http, rtmp, kafka] = await findFreePorts(3);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-node-'));
  return started(process.execPath, ['runtime/main.ts'], {
    MILLRACE_PRESET: 'cluster',
    MILLRACE_KAFKA__BROKERS: JSON.stringify([`127.0.0.1:${kafka}`]),
    MILLRACE_NODE__ID: 'n',
    MILLRACE_NODE__SECRET: 'a-secret-of-all-nodes',
    MILLRACE_SECRETS_KEY: 'a-secrets-key-of-all-nodes',
    MILLRACE_HTTP__PORT: String(http),
    MILLRACE_RTMP__PORT: String(rtmp),
    MILLRACE_DATA_DIR: folder,
    ...env,
  });
}

function started(command: string, parameters: readonly string[], env: Record<string, string>) {
  const child: ChildProcess = spawn(command, parameters, {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed: string[] = [];
  for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => printed.push(String(chunk)));
  const output = () => printed.join('');
  return {
    child,
    output,
    async exit(options: { within: number }) {
      await until('its end', () => child.exitCode !== null || child.signalCode !== null, options).catch(
        (error) => {
          throw new Error(`${error.message}; it printed:\n${output()}`);
        },
      );
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      if (env.MILLRACE_DATA_DIR) rmSync(env.MILLRACE_DATA_DIR, { recursive: true, force: true });
    },
  };
}
