import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';

const main = join(import.meta.dirname, '../../runtime/main.ts');
const clients = 6;
const writesBeforeDeath = [40, 90, 150];

/** What a client was told is there. A write that was not answered may be there or not. */
interface Known {
  readonly id: string;
  name: string;
  /** The name that was on its way when the server died. */
  asked: string;
}

it('every acknowledged write is there after kill -9', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-killed-'));
  const known = new Map<string, Known>();
  const output: string[] = [];
  let key = '';
  try {
    for (const most of writesBeforeDeath) {
      const server = await start(folder, output);
      key = (await readFile(join(folder, 'bootstrap-key'), 'utf8')).trim();
      await compare(known, { url: server.url, key });
      await hammer(known, { url: server.url, key, most, kill: server.kill });
    }
    const server = await start(folder, output);
    await compare(known, { url: server.url, key });
    await server.kill();
    expect(known.size).toBeGreaterThan(50);
    const said = output.join('\n');
    expect(said).not.toContain(key);
    expect(said).not.toMatch(/\b[0-9a-z]{4}(-[0-9a-z]{4}){3}\b/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

interface Target {
  readonly url: string;
  readonly key: string;
}

async function start(folder: string, output: string[]): Promise<{ url: string; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      MILLRACE_DATA_DIR: folder,
      MILLRACE_HTTP__HOST: '127.0.0.1',
      MILLRACE_HTTP__PORT: '0',
      MILLRACE_RTMP__HOST: '127.0.0.1',
      MILLRACE_RTMP__PORT: '0',
      MILLRACE_LOG__LEVEL: 'debug',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (chunk) => output.push(String(chunk)));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output.at(-1)}`)));
    createInterface(child.stderr).on('line', (line) => {
      output.push(line);
      if (line.includes('"message":"ready"')) resolve((JSON.parse(line) as { http: number }).http);
    });
  });
  return { url: `http://127.0.0.1:${port}`, kill: () => kill(child) };
}

function kill(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

/** Several clients write as fast as they are answered; the server dies in the middle of it. */
async function hammer(
  known: Map<string, Known>,
  options: Target & { most: number; kill: () => Promise<void> },
): Promise<void> {
  let answered = 0;
  let death: Promise<void> | undefined;
  const isDead = () => death !== undefined;
  const count = () => {
    answered += 1;
    if (answered === options.most) death = options.kill();
  };
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let round = 0; !isDead(); round += 1) {
        const name = `c${client} r${round}`;
        const created = await send(options, { method: 'POST', path: '/api/stream', body: { name } });
        if (created?.status !== 201) return;
        const { id } = (await created.json().catch(() => ({}))) as { id?: string };
        if (id === undefined) return;
        const entry: Known = { id, name, asked: name };
        known.set(id, entry);
        count();
        for (const suffix of ['a', 'b']) {
          entry.asked = `${name}${suffix}`;
          const changed = await send(options, {
            method: 'PATCH',
            path: `/api/stream/${id}`,
            body: { name: entry.asked },
          });
          if (changed?.status !== 204) return;
          entry.name = entry.asked;
          count();
        }
      }
    }),
  );
  await death;
}

async function compare(known: Map<string, Known>, target: Target): Promise<void> {
  for (const entry of known.values()) {
    const answer = await send(target, { method: 'GET', path: `/api/stream/${entry.id}` });
    const stream = (await answer?.json()) as { name?: string };
    expect([entry.name, entry.asked]).toContain(stream.name);
    entry.name = stream.name ?? '';
    entry.asked = entry.name;
  }
}

/** Undefined when the server died over it. */
async function send(
  target: Target,
  request: { method: string; path: string; body?: unknown },
): Promise<Response | undefined> {
  return await fetch(`${target.url}${request.path}`, {
    method: request.method,
    headers: { authorization: `Bearer ${target.key}` },
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  }).catch(() => undefined);
}
