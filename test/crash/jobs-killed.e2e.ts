import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';

const rounds = 8;
const child = join(import.meta.dirname, 'jobs-child.ts');

it(`no job is lost or done by two at once over kill -9, ${rounds} rounds`, { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-jobs-killed-'));
  try {
    const asked: string[] = [];
    const taken: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // Counted in work, not in time: a slow machine gets as far.
      const lines = await runUntil(folder, { taken: 10 + Math.floor(Math.random() * 60) });
      for (const line of lines) {
        const [what, parcel = ''] = line.split(' ');
        (what === 'taken' ? taken : asked).push(parcel);
      }
    }
    await drain(folder);

    const store = sqliteStore({ file: join(folder, 'store.db') });
    const events = await allEvents(store);
    const couriers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => store.load(`courier/c${index}`)),
    );
    expect(await store.jobs.totals()).toEqual([]);
    await store.close();

    const delivered = events.map(
      ({ body }) => (JSON.parse(body) as { emitted: { parcel: string } }).emitted.parcel,
    );
    // The machine was told of each once, of what was acknowledged for certain, and of nothing that nobody asked for.
    expect(new Set(delivered).size).toBe(delivered.length);
    expect(taken.filter((parcel) => !delivered.includes(parcel))).toEqual([]);
    expect(delivered.filter((parcel) => !asked.includes(parcel))).toEqual([]);
    expect(taken.length).toBeGreaterThan(rounds * 10 - 1);
    for (const courier of couriers) {
      if (!courier) continue;
      expect(JSON.parse(courier.state)).toMatchObject({
        value: 'idle',
        context: { parcels: [] },
        children: {},
      });
    }
    const { repeats } = checkWork(await readFile(join(folder, 'work.log'), 'utf8'));
    expect(repeats).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** What the work itself saw: one id for each parcel whatever happened, and never two of one job at one time. */
function checkWork(log: string): { repeats: number } {
  const ids = new Map<string, string>();
  let atWork = new Set<string>();
  let repeats = 0;
  for (const line of log.trim().split('\n')) {
    const [what, , id = '', parcel = ''] = line.split(' ');
    // Whatever a former process was at, it is dead.
    if (what === 'start') atWork = new Set();
    if (what === 'begin') {
      if (ids.has(parcel)) repeats += 1;
      expect(ids.get(parcel) ?? id).toBe(id);
      ids.set(parcel, id);
      expect(atWork.has(id)).toBe(false);
      atWork.add(id);
    }
    if (what === 'end') atWork.delete(id);
  }
  expect(new Set(ids.values()).size).toBe(ids.size);
  return { repeats };
}

async function runUntil(folder: string, options: { taken: number }): Promise<string[]> {
  const { process: server, closed, problems } = start(folder, 'carry');
  let output = '';
  let taken = 0;
  server.stdout.on('data', (chunk) => {
    output += String(chunk);
    taken = output.split('taken ').length - 1;
    if (taken >= options.taken) server.kill('SIGKILL');
  });
  const [, signal] = await closed;
  expect({ signal, problems: problems() }).toEqual({ signal: 'SIGKILL', problems: '' });
  // The last line may be cut short by the kill.
  return output.split('\n').slice(0, -1);
}

async function drain(folder: string): Promise<void> {
  const { closed, problems } = start(folder, 'drain');
  const [code] = await closed;
  expect({ code, problems: problems() }).toEqual({ code: 0, problems: '' });
}

function start(folder: string, mode: string) {
  const server = spawn(process.execPath, [child, folder, mode], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  server.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  return { process: server, closed: once(server, 'close'), problems: () => errors };
}

async function allEvents(store: ReturnType<typeof sqliteStore>) {
  const all = [];
  for (let position = 0; ; ) {
    const events = await store.events.after(position, { limit: 1000 });
    const last = events.at(-1);
    if (!last) return all;
    all.push(...events);
    position = last.position;
  }
}
