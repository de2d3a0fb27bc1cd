import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../e2e/harness/wait.ts';
import { engineFor } from '../kit/engines.ts';

const names = ['redis', 'kafka', 's3'] as const;
const redis = await engineFor('redis');

for (const name of names) {
  const engine = await engineFor(name);
  describe.skipIf(engine.isMissing)(`${name} and the process that started it`, () => {
    it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
      'end together after %s, and leave no data',
      async (signal) => {
        const owner = spawn(process.execPath, [join(import.meta.dirname, 'owner-child.ts'), name], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const engines = await firstLine<{ pid: number; folder: string }[]>(owner);
        expect(engines.map(({ pid }) => isAlive(pid))).toEqual([true, true]);
        expect(engines.map(({ folder }) => existsSync(folder))).toEqual([true, true]);
        owner.kill(signal);
        await once(owner, 'exit');
        for (const { pid, folder } of engines) {
          await until(`${name} to end`, () => !isAlive(pid), { within: 10_000 });
          await until(`${folder} to be removed`, () => !existsSync(folder), { within: 10_000 });
        }
      },
    );
  });
}

describe.skipIf(redis.isMissing)('a start', () => {
  it('that fails shows what the engine printed, and leaves nothing', async () => {
    const reason = await redis.start({ settings: { 'no-such-setting': '1' } }).catch(String);
    expect(reason).toMatch(
      /redis did not start: it ended with 1; .*redis\.log ends:\n(.*\n)*.*Bad directive/,
    );
    const [folder] = /\S*millrace-redis-\w+/.exec(String(reason)) ?? [];
    expect(existsSync(folder as string)).toBe(false);
  });

  it('on a port that is taken says so when the port was asked for', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await expect(redis.start({ ports: [port] })).rejects.toThrow(/Address already in use/);
    server.close();
  });

  it('in a folder that was given finds what is there, and leaves it there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-engines-'));
    const first = await redis.start({ folder });
    await ask(first.port, 'SET kept yes');
    await first[Symbol.asyncDispose]();
    expect(first.isRunning).toBe(false);
    const second = await redis.start({ folder });
    expect(await ask(second.port, 'GET kept')).toContain('yes');
    await second[Symbol.asyncDispose]();
    expect(existsSync(second.logFile)).toBe(true);
    rmSync(folder, { recursive: true });
  });

  it('survives that the engine ends by itself: data stay, and it can be started again', async () => {
    const engine = await redis.start();
    await ask(engine.port, 'SET kept yes');
    process.kill(engine.pid, 'SIGKILL');
    await until('its end', () => !engine.isRunning, { within: 10_000 });
    await engine.restart();
    expect(await ask(engine.port, 'GET kept')).toContain('yes');
  });
});

async function firstLine<T>(child: ChildProcess): Promise<T> {
  let text = '';
  child.stdout?.on('data', (chunk) => (text += chunk));
  await until(
    'the first line',
    () => {
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}`);
      return text.includes('\n');
    },
    { within: 180_000 },
  );
  return JSON.parse(text) as T;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** One command in Redis' plain form. */
async function ask(port: number, command: string): Promise<string> {
  let text = '';
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_, chunk) => {
        text += chunk.toString();
      },
    },
  });
  socket.write(`${command}\r\n`);
  await until(`an answer to ${command}`, () => text.endsWith('\r\n'), { within: 10_000, every: 5 });
  socket.end();
  return text;
}
