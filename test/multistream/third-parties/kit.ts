import { Database } from 'bun:sqlite';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NewStream } from '../../e2e/harness/api.ts';
import type { Events } from '../../e2e/harness/events.ts';
import { type HookReceiver, startHookReceiver } from '../../e2e/harness/hook-receiver.ts';
import { type Server, startServer } from '../../e2e/harness/server.ts';
import { until } from '../../e2e/harness/wait.ts';
import { certificates } from '../../outbound/certificates.ts';
import { type FarSide, startFarSide } from '../far-side.ts';
import type { Received } from '../received.ts';
import { type Pushed, type Targets, targetsOf } from '../targets.ts';

let attempts = 0;
/** Keys, in each URL: no line, answer, event or row may hold one. Of each attempt at a test its own. */
export function secrets(): (name: string) => string {
  attempts += 1;
  const attempt = attempts;
  return (name) => `k3y-${name}-${attempt}-5ecr3t`;
}

const told = [
  'stream.started',
  'stream.idle',
  'multistream.connected',
  'multistream.error',
  'multistream.disconnected',
];

/** Of the file whose tests run, from its `oneServer` on. */
export let server: Server;
export let targets: Targets;
export let far: FarSide;
export let folder: string;
let events: Events;
let hooks: HookReceiver;
/** Whole answers of the API about what the tests made. */
export const answers: string[] = [];

/** One server of ours for the tests of a file, and a far side at `host` that takes whatever comes. */
export function oneServer(options: { host: string }): void {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-multistream-'));
    await writeFile(join(folder, 'authority.pem'), certificates.authority);
    hooks = await startHookReceiver();
    far = startFarSide(options);
    server = await startServer({
      env: {
        MILLRACE_LOG__LEVEL: 'debug',
        MILLRACE_PLUGINS__STREAMS__HOLD: '6s',
        MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '20s',
        NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
      },
    });
    events = await server.openEvents();
    targets = targetsOf(server, events);
    const hook = { name: 'all', url: hooks.urls.ok, events: [...told] };
    expect((await server.api.request('POST', '/api/webhook', hook)).status).toBe(201);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await Promise.all([far, hooks].map((one) => one?.[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  });
}

/** The last test, behind all the others. `more`: addresses and ports of targets, which nothing else has. */
export function givesNothingAway(more: () => readonly string[]): void {
  test('no URL of a target, nor a part of one, is in anything that this run gave away', {
    retry: 0,
    timeout: 60_000,
  }, async () => {
    for (const path of [
      '/api/stream',
      '/api/session',
      '/api/multistream/target',
      '/metrics',
      '/health/ready',
    ]) {
      const answer = await server.api.request('GET', path);
      answers.push(JSON.stringify([...answer.headers]), await answer.text());
    }
    const deliveries = () => hooks.received('ok').filter(({ body }) => body.includes('multistream.'));
    const told = new Set(
      events.seen.filter(({ event }) => event.startsWith('multistream.')).map(({ id }) => id),
    );
    await until('the webhooks', () => deliveries().length >= told.size, { within: 30_000 });
    await server.stop();
    const given: Record<string, string> = {
      printed: server.output,
      answered: answers.join('\n'),
      events: JSON.stringify(events.seen),
      webhooks: JSON.stringify(hooks.received('ok')),
      stored: rowsOf(join(server.dataDir, 'millrace.db')),
    };
    // What is searched is what was meant.
    for (const [where, part] of [
      ['printed', 'push'],
      ['answered', 'millrace_'],
      ['events', 'multistream.error'],
      ['webhooks', 'multistream.disconnected'],
      ['stored', 'multistream.connected'],
    ])
      expect(given[where], where).toContain(part);
    const parts = ['k3y-', '5ecr3t', `:${far.port}`, ...more()];
    for (const [where, text] of Object.entries(given)) {
      for (const part of parts) {
        const at = text.indexOf(part);
        expect(at < 0 ? 'nowhere' : text.slice(Math.max(0, at - 300), at + 60), `${part}, ${where}`).toBe(
          'nowhere',
        );
      }
    }
  });
}

/** It began with a key frame, lacks nothing since, and has the last picture. */
export function expectAll({ runs }: Received, { sent }: { sent: number }): void {
  expect(runs).toHaveLength(1);
  expect(runs[0][1]).toBe(sent - 1);
}

/** What the API says of a stream and its targets at its end. */
export async function keep(stream: NewStream, pushed: readonly Pushed[]): Promise<void> {
  const paths = [
    `/api/stream/${stream.id}`,
    `/api/stream/${stream.id}/sessions`,
    `/api/stream/${stream.id}/health`,
    ...pushed.map(({ id }) => `/api/multistream/target/${id}`),
  ];
  for (const path of paths) answers.push(await (await server.api.request('GET', path)).text());
}

/** Every row of a database but the targets', which are where their URLs belong. */
function rowsOf(file: string): string {
  const database = new Database(file, { readonly: true });
  try {
    const tables = database.query(`SELECT name FROM sqlite_master WHERE type = 'table'`).all() as {
      name: string;
    }[];
    return tables
      .flatMap(({ name }) => database.query(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[])
      .filter((row) => row.kind !== 'multistream-target')
      .map((row) =>
        Object.values(row)
          .map((value) =>
            value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
          )
          .join('\t'),
      )
      .join('\n');
  } finally {
    database.close();
  }
}
