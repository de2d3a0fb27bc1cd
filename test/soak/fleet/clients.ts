import { randomUUID } from 'node:crypto';
import { partitionOf } from '../../../runtime/actors/actor-name.ts';
import type { Ledger, StreamEntry } from './ledger.ts';
import { type WriterOptions, write } from './writer.ts';

/** Made by `POST /api/stream`, and entered in the ledger. Undefined when the signal came first. */
export async function createStream(
  name: string,
  options: WriterOptions & { isLeftAlone?: boolean },
): Promise<string | undefined> {
  const { ledger, isLeftAlone = true } = options;
  ledger.names.set(name, 'asked');
  const made = await write(
    {
      method: 'POST',
      path: '/api/stream',
      body: { name, userTags: { n: '0' } },
      idempotencyKey: randomUUID(),
    },
    options,
  );
  if (!made) return undefined;
  if (made.status !== 201) {
    ledger.violation(`POST /api/stream was answered ${made.status} ${JSON.stringify(made.body)}`);
    return undefined;
  }
  ledger.names.set(name, 'made');
  const { id, streamKey, playbackId } = made.body;
  if (ledger.streams.has(id)) ledger.violation(`two creates were answered with the same stream ${id}`);
  ledger.streams.set(id, {
    ...{ name, streamKey, playbackId, isLeftAlone },
    ...{ count: 0, asked: 0, unknown: new Set(), deletion: 'none' },
  });
  return id;
}

/** Sets the counter of a stream to the next number. */
export async function countUp(
  id: string,
  entry: StreamEntry,
  options: WriterOptions & { partitions: number },
): Promise<void> {
  const { ledger, partitions } = options;
  entry.asked += 1;
  const n = entry.asked;
  const done = await write(
    {
      ...{ method: 'PATCH', path: `/api/stream/${id}`, body: { userTags: { n: String(n) } } },
      partition: partitionOf(id, partitions),
    },
    { ...options, onUnknown: () => entry.unknown.add(n) },
  );
  if (!done) return void entry.unknown.add(n);
  if (done.status === 204) entry.count = n;
  else ledger.violation(`PATCH of ${id} to ${n} was answered ${done.status} ${JSON.stringify(done.body)}`);
}

/** Deletes it; one that is not there any more is deleted, if an attempt before may have done it. */
export async function deleteStream(
  id: string,
  entry: StreamEntry,
  options: WriterOptions & { partitions: number },
): Promise<void> {
  entry.deletion = 'asked';
  const done = await write(
    { method: 'DELETE', path: `/api/stream/${id}`, partition: partitionOf(id, options.partitions) },
    options,
  );
  if (!done) return;
  const isGone = done.status === 204 || (done.status === 404 && done.isRepeat);
  if (isGone) entry.deletion = 'done';
  else options.ledger.violation(`DELETE of ${id} was answered ${done.status} ${JSON.stringify(done.body)}`);
}

/** Stops its broadcast, or gives it another key; the encoder comes back. */
export async function disturb(
  id: string,
  entry: StreamEntry,
  options: WriterOptions & { partitions: number; how: 'terminate' | 'rotate' },
): Promise<void> {
  const { ledger, how } = options;
  const partition = partitionOf(id, options.partitions);
  const path = `/api/stream/${id}/${how === 'terminate' ? 'terminate' : 'rotate-key'}`;
  const done = await write(
    how === 'terminate'
      ? { method: 'DELETE', path, partition }
      : { method: 'POST', path, partition, idempotencyKey: randomUUID() },
    options,
  );
  if (!done) return;
  if (done.status >= 300)
    ledger.violation(`${how} of ${id} was answered ${done.status} ${JSON.stringify(done.body)}`);
  else if (how === 'rotate') entry.streamKey = done.body.streamKey;
}

/** A webhook that nobody listens to: a plain resource. */
export async function createWebhook(name: string, options: WriterOptions): Promise<string | undefined> {
  const { ledger } = options;
  ledger.names.set(name, 'asked');
  const url = `http://127.0.0.1:18999/${name}`;
  const body = { name, url, events: ['stream.health'] };
  const made = await write(
    { method: 'POST', path: '/api/webhook', body, idempotencyKey: randomUUID() },
    options,
  );
  if (!made) return undefined;
  if (made.status !== 201) {
    ledger.violation(`POST /api/webhook was answered ${made.status} ${JSON.stringify(made.body)}`);
    return undefined;
  }
  ledger.names.set(name, 'made');
  ledger.webhooks.set(made.body.id, { url, madeAt: performance.now(), deletion: 'none' });
  return made.body.id;
}

export async function deleteWebhook(id: string, options: WriterOptions): Promise<void> {
  const entry = options.ledger.webhooks.get(id);
  if (!entry) return;
  entry.deletion = 'asked';
  const done = await write({ method: 'DELETE', path: `/api/webhook/${id}` }, options);
  if (!done) return;
  entry.deletedAt = performance.now();
  const isGone = done.status === 404 && (done.isRepeat || options.ledger.isLost(entry.madeAt));
  if (done.status === 204 || isGone) entry.deletion = 'done';
  else options.ledger.violation(`DELETE of webhook ${id}: ${done.status} ${JSON.stringify(done.body)}`);
}

/**
 * Steady writes: for each partition a stream whose counter is set again and again, and clients that create, delete,
 * stop, rotate and subscribe. Resolves when every write that was begun has its answer, once it is told to stop.
 */
export async function steadyWrites(options: {
  readonly ledger: Ledger;
  readonly writer: WriterOptions;
  readonly clients: number;
  readonly partitions: number;
  /** Streams that are on the air and may be disturbed. */
  readonly disturbed: readonly string[];
  /** From then on nothing new is begun. */
  readonly over: AbortSignal;
}): Promise<void> {
  const { ledger, writer, clients, partitions, disturbed, over } = options;
  const within = { ...writer, partitions };
  const counters = await countersOf(partitions, writer);
  const counting = [...counters].map(async (id) => {
    const entry = ledger.streams.get(id)!;
    while (!over.aborted) {
      await countUp(id, entry, within);
      await Bun.sleep(150 + Math.random() * 100);
    }
  });
  const working = Array.from({ length: clients }, async (_, client) => {
    const own: string[] = [];
    const hooks: string[] = [];
    const mine = disturbed.filter((_, n) => n % clients === client);
    for (let n = 0; !over.aborted; n += 1) {
      const kind = n % 10;
      if (kind === 0 || kind === 3) own.push(...one(await createStream(`c${client}-${n}`, writer)));
      else if (kind === 6 && own.length > 5) {
        const id = own.shift()!;
        await deleteStream(id, ledger.streams.get(id)!, within);
      } else if (kind === 4) hooks.push(...one(await createWebhook(`h${client}-${n}`, writer)));
      else if (kind === 8 && hooks.length > 3) await deleteWebhook(hooks.shift()!, writer);
      else if (kind === 9 && mine.length > 0 && n % 40 === 9) {
        const id = mine[Math.floor(Math.random() * mine.length)]!;
        const how = Math.random() < 0.5 ? 'terminate' : 'rotate';
        await disturb(id, ledger.streams.get(id)!, { ...within, how });
      } else {
        const id = own[Math.floor(Math.random() * own.length)];
        if (id) await countUp(id, ledger.streams.get(id)!, within);
      }
      await Bun.sleep(100 + Math.random() * 200);
    }
  });
  await Promise.all([...counting, ...working]);
}

/** One stream for each partition. */
async function countersOf(partitions: number, writer: WriterOptions): Promise<string[]> {
  const found = new Map<number, string>();
  for (let n = 0; found.size < partitions; n += 1) {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, k) => createStream(`counter-${n}-${k}`, writer)),
    );
    for (const id of made.flatMap(one)) {
      const partition = partitionOf(id, partitions);
      if (!found.has(partition)) found.set(partition, id);
    }
  }
  return [...found.values()];
}

const one = (id: string | undefined): string[] => (id === undefined ? [] : [id]);
