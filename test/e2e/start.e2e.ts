import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFreePorts } from '../kit/free-ports.ts';
import { root } from './harness/server.ts';
import { until } from './harness/wait.ts';

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s to `npm start` reaches the server, which ends well',
  async (signal) => {
    await using start = await npmStart();
    await until('/health/ready', async () => (await fetch(`${start.url}/health/ready`)).status === 200, {
      within: 20_000,
    });
    start.child.kill(signal);
    expect(await start.exitCode({ within: 11_000 }), start.output()).toBe(0);
    await expect(fetch(`${start.url}/health/live`)).rejects.toThrow();
    expect(start.output()).toMatch(/"message":"stopping".*\n[\s\S]*"message":"stopped"/);
  },
);

test('SIGHUP reads the config again, and a closed terminal that reads nothing ends no server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-hang-up-'));
  const file = join(folder, 'config.json');
  const configure = (config: object) => writeFileSync(file, JSON.stringify(config));
  configure({ log: { level: 'warn' } });
  await using start = await npmStart({ MILLRACE_CONFIG: file });
  const isReady = async () => (await fetch(`${start.url}/health/ready`)).status === 200;
  await until('/health/ready', isReady, { within: 20_000 });
  const group = -(start.child.pid as number);
  const hangUp = async (line: string) => {
    process.kill(group, 'SIGHUP');
    await until(line, () => start.output().includes(line), { within: 5000 });
  };
  configure({ log: { level: 'loud' } });
  await hangUp('the config was read again and is wrong; nothing has changed');
  expect(start.output()).toContain('log.level: expected');
  expect(start.output()).not.toContain('"level":"info"');
  const outbound = { allow: ['10.0.0.0/8'] };
  configure({ log: { level: 'info' }, outbound, recording: { reserve: 2048 } });
  await hangUp('"message":"the config was read again","changed":["outbound.allow","log.level"]');
  expect(start.output()).toContain('change only with a restart","keys":["recording.reserve"]');
  start.child.stdout?.destroy();
  start.child.stderr?.destroy();
  // The line about it has nowhere to go.
  process.kill(group, 'SIGHUP');
  const isOver = () =>
    fetch(`${start.url}/health/live`).then(
      () => false,
      () => true,
    );
  await expect(until('its end', isOver, { within: 1000 })).rejects.toThrow();
  process.kill(group, 'SIGTERM');
  await until('its end', isOver, { within: 11_000 });
  rmSync(folder, { recursive: true });
});

test('a bad configuration: exit 78, every problem named', async () => {
  await using start = await npmStart({
    MILLRACE_PLUGINS__STREAMS__HOLD: 'a while',
    MILLRACE_PLUGINS__NONSENSE: '{}',
  });
  expect(await start.exitCode({ within: 15_000 }), start.output()).toBe(78);
  expect(start.output()).toMatch(/hold/);
  expect(start.output()).toMatch(/nonsense/);
});

test('a plugin whose module never ends to load: exit 78, which one and why', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-endless-'));
  const file = join(folder, 'endless.ts');
  writeFileSync(file, 'await new Promise(() => {});\nexport default {};\n');
  await using start = await npmStart({ MILLRACE_PLUGINS: JSON.stringify({ [file]: true }) });
  expect(await start.exitCode({ within: 30_000 }), start.output()).toBe(78);
  expect(start.output()).toContain(
    `plugins.${file}: ${file} could not be loaded: it took longer than 10 s; does it wait for something at its top level?\n`,
  );
  rmSync(folder, { recursive: true });
});

test('a data folder that cannot be made: exit 78, why, and what to do', async () => {
  await using start = await npmStart({ MILLRACE_DATA_DIR: join(root, 'package.json/data') });
  expect(await start.exitCode({ within: 15_000 }), start.output()).toBe(78);
  expect(start.output()).toMatch(/dataDir: .* cannot be made: .*package.json is a file.* or set dataDir/);
});

test('a port in use: exit 1, naming it', async () => {
  const other = createServer().listen(0, '0.0.0.0');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  await using start = await npmStart({ MILLRACE_HTTP__PORT: String(port) });
  expect(await start.exitCode({ within: 15_000 }), start.output()).toBe(1);
  expect(start.output()).toContain(String(port));
  other.close();
});

test('an address that is not ours: exit 1, one line that names address and port', async () => {
  await using start = await npmStart({ MILLRACE_RTMP__HOST: '203.0.113.9', MILLRACE_RTMP__PORT: '1935' });
  expect(await start.exitCode({ within: 15_000 }), start.output()).toBe(1);
  expect(start.output()).toContain('Port 1935 on 203.0.113.9 (rtmp.port, rtmp.host) cannot be opened');
  expect(start.output()).not.toMatch(/^\s+at /m);
});

test('port 0: the banner shows the ports that were taken', async () => {
  await using start = await npmStart({ MILLRACE_HTTP__PORT: '0', MILLRACE_RTMP__PORT: '0' });
  const shown = await until(
    'the banner',
    () => /rtmp:\/\/localhost:(\d+)\/live[\s\S]*Watch it at http:\/\/localhost:(\d+)\//.exec(start.output()),
    { within: 20_000 },
  );
  const [rtmp, http] = shown.slice(1).map(Number);
  expect(rtmp).toBeGreaterThan(0);
  expect((await fetch(`http://127.0.0.1:${http}/health/ready`)).status).toBe(200);
  const socket = connect(rtmp, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
});

test('alone it loads no client of any engine', async () => {
  const [httpPort, rtmpPort] = await findFreePorts(2);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-e2e-'));
  const preload = join(import.meta.dirname, 'harness/loaded-modules.ts');
  const child = spawn(process.execPath, ['--preload', preload, 'runtime/main.ts'], {
    cwd: root,
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, MILLRACE_DATA_DIR: dataDir },
      ...{ MILLRACE_HTTP__PORT: String(httpPort), MILLRACE_RTMP__PORT: String(rtmpPort) },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.on('data', (chunk) => {
      output += chunk;
    });
  }
  try {
    await until('the start', () => output.includes('"message":"ready"'), { within: 20_000 });
    child.kill('SIGUSR1');
    const line = await until('the modules', () => /^loaded: (.*)\n/m.exec(output), { within: 10_000 });
    const imports = JSON.parse(line[1]) as string[];
    // It can see what is loaded: this has been.
    expect(imports.some((one) => one.includes('/drivers/store/sqlite/'))).toBe(true);
    const clients = /(^|[ /])(redis|ioredis|kafkajs|@redis\/|@aws-sdk\/|@smithy\/)/;
    const drivers = /drivers\/(.*\/)?(redis|kafka|s3)\//;
    expect(imports.filter((one) => clients.test(one) || drivers.test(one))).toEqual([]);
  } finally {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/** `npm start` with nothing in its environment but PATH, HOME and its configuration. */
async function npmStart(env: Record<string, string> = {}) {
  const [httpPort, rtmpPort] = await findFreePorts(2);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-e2e-'));
  const child: ChildProcess = spawn('npm', ['start'], {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? tmpdir(),
      MILLRACE_HTTP__PORT: String(httpPort),
      MILLRACE_RTMP__PORT: String(rtmpPort),
      MILLRACE_DATA_DIR: dataDir,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that nothing of it stays whatever happens.
    detached: true,
  });
  const printed: string[] = [];
  for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => printed.push(String(chunk)));
  const output = () => printed.join('');
  return {
    child,
    url: `http://127.0.0.1:${httpPort}`,
    output,
    exitCode: (options: { within: number }) =>
      until(`npm start to end (it printed: ${output()})`, () => exitCodeOf(child), options),
    async [Symbol.asyncDispose]() {
      try {
        process.kill(-(child.pid as number), 'SIGKILL');
      } catch {
        // Ended already.
      }
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const exitCodeOf = (child: ChildProcess) => child.exitCode ?? child.signalCode;
