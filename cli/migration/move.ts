import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, MillraceError } from '../../sdk/client/index.ts';
import { exits, Failure } from '../command.ts';
import { failureOf } from '../failure.ts';
import { type Here, keyTag, nameOf, originTag, planAsset, planStream, planWebhook } from './plan.ts';
import type { Item } from './report.ts';
import {
  type Audience,
  Immovable,
  type OldAsset,
  type OldStream,
  type OldWebhook,
  type Origin,
} from './source.ts';

/** Between two looks at an import, ms. */
const lookEvery = 500;

export interface Move {
  readonly origin: Origin;
  readonly client: Client;
  readonly here: Here;
  readonly isDry: boolean;
  /** Things that are moved at one time. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  onItem(item: Item): void;
}

/** Moves everything. Webhooks come last: so their receivers hear nothing of the imports. Rejects where it cannot go on. */
export async function moveAll(move: Move): Promise<readonly Item[]> {
  const items: Item[] = [];
  const streamIds = new Map<string, string>();
  const done = (item: Item) => {
    items.push(item);
    if (item.kind === 'stream' && item.to !== undefined) streamIds.set(item.from, item.to);
    move.onItem(item);
  };
  await inParallel(move.origin.streams(), { move, one: async (old) => done(await moveStream(old, move)) });
  await inParallel(move.origin.assets(), { move, one: async (old) => done(await moveAsset(old, move)) });
  await inParallel(move.origin.webhooks(), {
    move,
    one: async (old) => done(await moveWebhook(old, { ...move, streamIds })),
  });
  return items;
}

/** Takes the next thing when one of at most `parallel` is done. The first error ends all. */
async function inParallel<T>(
  things: AsyncIterable<T>,
  { move: { parallel, signal }, one }: { move: Move; one(thing: T): Promise<void> },
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failed: { error: unknown } | undefined;
  for await (const thing of things) {
    signal.throwIfAborted();
    if (failed) break;
    const work: Promise<void> = one(thing)
      .catch((error: unknown) => {
        failed ??= { error };
      })
      .finally(() => running.delete(work));
    running.add(work);
    if (running.size >= parallel) await Promise.race(running);
  }
  await Promise.all(running);
  if (failed) throw failed.error;
}

async function moveAsset(old: OldAsset, move: Move): Promise<Item> {
  const { origin, client, here, isDry, signal } = move;
  const tag = tagOf(origin, old.id);
  const plan = planAsset(old, { tag, here });
  const item = { kind: 'asset', from: old.id, name: old.name } as const;
  if (plan.step === 'none') return { ...item, outcome: 'impossible', reason: plan.reason, notes: [] };
  const known = 'asset' in plan ? { to: plan.asset.id, playbackId: plan.asset.playbackId } : {};
  if (plan.step === 'nothing') return { ...item, ...known, outcome: 'already', notes: [] };
  if (isDry) return { ...item, ...known, outcome: 'planned', notes: old.notes };
  return settled({ ...item, ...known }, async () => {
    let asset = plan.step === 'finish' ? plan.asset : undefined;
    if (!asset) {
      const url = await origin.film(old);
      const failed = plan.step === 'replace' ? plan.asset.id : undefined;
      if (failed !== undefined) await client.deleteAsset({ id: failed }).catch(unlessGone);
      const make = (idempotencyKey: string) =>
        client.importAsset({
          body: {
            url,
            name: nameOf(old.name),
            userTags: { [originTag]: tag },
            ...policyOf(old.audience),
          },
          idempotencyKey,
        });
      const key = failed === undefined ? tag : `${tag}/after/${failed}`;
      const made = await makeOnce(key, { make, isThere: ({ asset }) => client.getAsset({ id: asset.id }) });
      asset = made.asset;
    }
    const { id: to, playbackId } = asset;
    const notes = [...old.notes, ...(await giveAliases(plan.aliases, { playbackId, client }))];
    const { status, reason } = await ready(to, { client, signal });
    return {
      ...item,
      to,
      playbackId,
      notes,
      ...(status === 'ready' ? { outcome: 'moved' } : { outcome: 'failed', reason }),
    };
  });
}

/** Waits for the end of an import. */
async function ready(
  id: string,
  { client, signal }: { client: Client; signal: AbortSignal },
): Promise<{ status: 'ready' | 'failed'; reason: string }> {
  for (;;) {
    const { status, statusMessage: reason = 'the import failed' } = await client.getAsset({ id });
    if (status !== 'waiting') return { status, reason };
    await sleep(lookEvery, undefined, { signal });
  }
}

async function moveStream(old: OldStream, move: Move): Promise<Item> {
  const { origin, client, here, isDry } = move;
  const tag = tagOf(origin, old.id);
  const plan = planStream(old, { tag, here });
  const item = { kind: 'stream', from: old.id, name: old.name } as const;
  const known = plan.stream ? { to: plan.stream.id, playbackId: plan.stream.playbackId } : {};
  if (plan.step === 'nothing') return { ...item, ...known, outcome: 'already', notes: [] };
  if (isDry) return { ...item, ...known, outcome: 'planned', notes: old.notes };
  return settled({ ...item, ...known }, async () => {
    const make = (idempotencyKey: string) =>
      client.createStream({
        body: {
          name: nameOf(old.name),
          userTags: { [originTag]: tag },
          ...(old.record && { record: true }),
          ...(old.suspended && { suspended: true }),
          ...policyOf(old.audience),
        },
        idempotencyKey,
      });
    const { id: to, playbackId } =
      plan.stream ?? (await makeOnce(tag, { make, isThere: (made) => client.getStream({ id: made.id }) }));
    const notes = [...old.notes, ...(await giveAliases(plan.aliases, { playbackId, client }))];
    if (plan.key !== undefined) notes.push(...(await giveKey(plan.key, { id: to, tag, client })));
    return { ...item, to, playbackId, outcome: 'moved', notes };
  });
}

/** The key that encoders have. Returns why the stream has another one. */
async function giveKey(
  streamKey: string,
  { id, tag, client }: { id: string; tag: string; client: Client },
): Promise<readonly string[]> {
  const notes: string[] = [];
  try {
    await client.rotateStreamKey({ id, body: { streamKey } });
  } catch (error) {
    if (!(error instanceof MillraceError) || ![409, 422].includes(error.status)) throw error;
    notes.push(`it has a new stream key: ${error.message}`);
  }
  await client.changeStream({ id, body: { userTags: { [originTag]: tag, [keyTag]: true } } });
  return notes;
}

async function moveWebhook(
  old: OldWebhook,
  { origin, client, here, isDry, streamIds }: Move & { streamIds: ReadonlyMap<string, string> },
): Promise<Item> {
  const tag = tagOf(origin, old.id);
  const plan = planWebhook(old, { tag, here });
  const item = { kind: 'webhook', from: old.id, name: old.name } as const;
  if (plan.step === 'none') return { ...item, outcome: 'impossible', reason: plan.reason, notes: [] };
  if (plan.step === 'nothing') return { ...item, outcome: 'already', notes: [] };
  if (isDry) return { ...item, outcome: 'planned', notes: plan.notes };
  return settled(item, async () => {
    const streamId = old.streamId === undefined ? undefined : streamIds.get(old.streamId);
    // Without it, the receiver would get the events of all streams.
    if (old.streamId !== undefined && streamId === undefined)
      throw new Immovable('it is limited to a stream that was not moved');
    const { name, events } = plan;
    const body = { name, url: old.url, events, ...(streamId !== undefined && { streamId }) };
    const make = (idempotencyKey: string) => client.createWebhook({ body, idempotencyKey });
    const isThere = (made: { id: string }) => client.getWebhook({ id: made.id });
    const { id: to } = await makeOnce(tag, { make, isThere });
    return { ...item, to, outcome: 'moved', notes: plan.notes };
  });
}

/**
 * Makes a thing once, even if an earlier run was killed while it did, or another one runs now. An answer of the last 24 h that is
 * remembered, to a refused request or of a thing that was deleted since, does not count.
 */
async function makeOnce<T>(
  tag: string,
  { make, isThere }: { make(idempotencyKey: string): Promise<T>; isThere(made: T): Promise<unknown> },
): Promise<T> {
  const key = `migrate/${tag}`;
  try {
    const made = await make(key);
    await isThere(made);
    return made;
  } catch (error) {
    const isOld =
      error instanceof MillraceError &&
      [403, 404, 409, 422].includes(error.status) &&
      error.code !== 'idempotency.running';
    if (!isOld) throw error;
    return make(`${key}/${randomUUID()}`);
  }
}

/** What becomes of an error: that of one thing is in the report, and others end everything. */
async function settled(item: Omit<Item, 'outcome' | 'notes'>, work: () => Promise<Item>): Promise<Item> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Immovable)
      return { ...item, outcome: 'impossible', reason: error.message, notes: [] };
    if (
      error instanceof MillraceError
        ? error.status === 401
        : error instanceof Failure && error.exit !== exits.failed
    )
      throw error;
    if (error instanceof Error && error.name === 'AbortError') throw error;
    const reason = failureOf(error)?.message ?? (error as Error).message;
    return { ...item, outcome: 'failed', reason, notes: [] };
  }
}

/** Returns which names it does not have, and why. */
async function giveAliases(
  names: readonly string[],
  { playbackId, client }: { playbackId: string; client: Client },
): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const alias of names) {
    try {
      await client.createAlias({ body: { alias, playbackId } });
    } catch (error) {
      if (!(error instanceof MillraceError) || ![409, 422].includes(error.status)) throw error;
      notes.push(`it is not played by ${alias}: ${error.message}`);
    }
  }
  return notes;
}

function policyOf(audience: Audience) {
  if (audience.type === 'closed') return { playbackPolicy: { type: 'signed' } } as const;
  const { allowedOrigins } = audience;
  return allowedOrigins ? ({ playbackPolicy: { type: 'public', allowedOrigins } } as const) : {};
}

function tagOf({ id: origin }: Origin, id: string): string {
  return `${origin}/${id}`;
}

function unlessGone(error: unknown): void {
  if (!(error instanceof MillraceError) || error.status !== 404) throw error;
}
