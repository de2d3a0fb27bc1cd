import type { LoggedEvent } from '../../../core/ports/store.ts';
import { partitionOf } from '../../../runtime/actors/actor-name.ts';
import type { RedisStore } from '../../../runtime/drivers/store/redis/index.ts';
import type { Ledger } from './ledger.ts';
import type { Record } from './records.ts';
import { count } from './writer.ts';

/** Everything that clients were told is there, on every node that can be asked. */
export async function checkLedger(
  ledger: Ledger,
  options: { urls: readonly string[]; key: string },
): Promise<void> {
  for (const url of options.urls) {
    const get = async (path: string) => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${options.key}` } });
      return { status: answer.status, text: await answer.text() };
    };
    for (const [id, entry] of ledger.streams) {
      const { status, text } = await get(`/api/stream/${id}`);
      if (entry.deletion === 'done') {
        if (status !== 404) ledger.violation(`stream ${id} was deleted, and is there on ${url}: ${status}`);
        continue;
      }
      if (entry.deletion === 'asked' && status === 404) continue;
      if (status !== 200) {
        ledger.violation(`stream ${id} (${entry.name}) is not there on ${url}: ${status} ${text}`);
        continue;
      }
      const shown = JSON.parse(text);
      const n = Number(shown.userTags.n);
      if (n < entry.count && entry.unknown.has(n)) late.add(`${id}: ${n} after ${entry.count}`);
      else if (n < entry.count || n > entry.asked)
        ledger.violation(
          `stream ${id} counts ${n}; ${entry.count} was acknowledged, ${entry.asked} asked for`,
        );
      if (shown.streamKey !== entry.streamKey)
        ledger.violation(`stream ${id} has another key than was acknowledged last`);
    }
    for (const [id, { deletion, madeAt, deletedAt = 0 }] of ledger.webhooks) {
      if (ledger.isLost(madeAt) || ledger.isLost(deletedAt)) continue;
      const { status } = await get(`/api/webhook/${id}`);
      if (deletion === 'done' && status !== 404)
        ledger.violation(`webhook ${id} was deleted and is there: ${status}`);
      if (deletion === 'none' && status !== 200) ledger.violation(`webhook ${id} is not there: ${status}`);
    }
    await checkNames(ledger, { url, key: options.key });
  }
}

/** Counters that an unanswered attempt set back after a later one was acknowledged: allowed, and worth knowing. */
export const late = new Set<string>();

/** What a repeated create made again, since a rollback took what was known of the first. */
export const twice = new Set<string>();

/** A create that was repeated made one thing. */
async function checkNames(ledger: Ledger, { url, key }: { url: string; key: string }): Promise<void> {
  const seen = new Map<string, number>();
  for (const path of ['/api/stream?streamsonly=1', '/api/webhook?']) {
    for (let cursor = ''; ; ) {
      const answer = await fetch(`${url}${path}&limit=1000${cursor && `&cursor=${cursor}`}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const page = await answer.json();
      for (const { name } of page as { name: string }[]) seen.set(name, (seen.get(name) ?? 0) + 1);
      const next = /[?&]cursor=([^&>]+)/.exec(answer.headers.get('link') ?? '')?.[1];
      if (!next) break;
      cursor = next;
    }
  }
  for (const [name, times] of seen) {
    // The record of its Idempotency-Key is a plain row, and may have gone with a rollback.
    if (times > 1 && ledger.wasRolledBack) twice.add(name);
    else if (times > 1) ledger.violation(`${name} was made ${times} times`);
    if (!ledger.names.has(name)) ledger.violation(`${name} was never asked for`);
  }
}

export interface Logs {
  readonly commands: readonly Record[];
  readonly events: readonly Record[];
  readonly dead: readonly Record[];
  readonly stored: readonly LoggedEvent[];
}

export async function storedEvents(store: RedisStore): Promise<LoggedEvent[]> {
  const all: LoggedEvent[] = [];
  for (let position = 0; ; ) {
    const page = await store.events.after(position, { limit: 1000 });
    if (page.length === 0) return all;
    all.push(...page);
    position = page.at(-1)!.position;
  }
}

/** One owner at a time, one content for each id, and every stream's events in the order of a life. */
export function checkLogs(
  { commands, events, dead, stored }: Logs,
  ledger: Ledger,
  partitions: number,
): LogFigures {
  for (const { key, value } of dead) ledger.violation(`a command is buried: ${key} ${value.slice(0, 300)}`);
  const contents = new Map<string, string>();
  let repeats = 0;
  const epochs = new Map<string, number>();
  const byOffset = new Map<number, { offset: number; epoch: number }[]>();
  for (const { key, value } of events) {
    const event = JSON.parse(value);
    const { id, cause, epoch } = event;
    const before = contents.get(id);
    if (before === undefined) contents.set(id, value);
    else if (before === value) repeats += 1;
    // After a rollback the same step is done again by another owner.
    else if (ledger.wasRolledBack && isSame(before, bodyOf(value))) repeats += 1;
    else ledger.violation(`event ${id} has two contents: ${before} and ${value}`);
    if (epoch === undefined || cause === undefined) continue;
    const known = epochs.get(cause);
    if (known !== undefined && known !== epoch && !ledger.wasRolledBack)
      ledger.violation(`cause ${cause} was done in epochs ${known} and ${epoch}`);
    epochs.set(cause, epoch);
    const logged = /^m(\d+)\.(\d+)$/.exec(cause);
    if (!logged) continue;
    const partition = Number(logged[1]);
    if (key && partitionOf(key, partitions) !== partition)
      ledger.violation(`event ${id} of ${key} was made in partition ${partition}`);
    const own = byOffset.get(partition) ?? [];
    own.push({ offset: Number(logged[2]), epoch });
    byOffset.set(partition, own);
  }
  for (const [partition, all] of byOffset) {
    all.sort((one, other) => one.offset - other.offset);
    for (let n = 1; n < all.length; n += 1) {
      // After a rollback epochs are counted from an earlier one again.
      if (all[n]!.epoch < all[n - 1]!.epoch && !ledger.wasRolledBack)
        ledger.violation(
          `partition ${partition}: offset ${all[n]!.offset} in epoch ${all[n]!.epoch}, after ${all[n - 1]!.offset} in ${all[n - 1]!.epoch}`,
        );
    }
  }

  const ids = new Set<string>();
  const lives = new Map<string, string[]>();
  for (const { id, type, stream, account, body } of stored) {
    if (ids.has(id)) ledger.violation(`event ${id} is twice in the store's log`);
    ids.add(id);
    const published = contents.get(id);
    // Those of no account are for plugins alone, and go nowhere else.
    if (account === '') {
      if (published !== undefined) ledger.violation(`event ${id}, which is for plugins alone, was published`);
    } else if (published === undefined) ledger.violation(`event ${id} was never published`);
    else if (!isSame(published, body))
      ledger.violation(`event ${id} was stored as ${body} and published as ${published}`);
    if (type === 'stream.started' || type === 'stream.idle') {
      const life = lives.get(stream) ?? [];
      life.push(type);
      lives.set(stream, life);
    }
  }
  for (const id of contents.keys())
    if (!ids.has(id)) ledger.violation(`event ${id} is not in the store's log`);
  for (const [stream, life] of lives) {
    life.forEach((type, n) => {
      if (type !== (n % 2 === 0 ? 'stream.started' : 'stream.idle'))
        ledger.violation(`stream ${stream}: ${life.join(' ')}`);
    });
    if (ledger.streams.get(stream)?.isLeftAlone && life.length > 2)
      ledger.violation(`stream ${stream} was left alone, but: ${life.join(' ')}`);
  }
  const kinds = new Map<string, number>();
  const asked = new Set<string>();
  for (const { key, value } of commands) {
    const { id, type, command } = JSON.parse(value);
    if (asked.has(id)) ledger.violation(`a command is on the log twice: ${key} ${value.slice(0, 300)}`);
    if (id !== undefined) asked.add(id);
    count(kinds, `${key.split('/', 1)[0]} ${command?.type ?? type}`);
  }
  return {
    kinds,
    commands: commands.length,
    events: contents.size,
    repeats,
    epochs: Math.max(0, ...epochs.values()),
  };
}

export interface LogFigures {
  /** Commands by actor type and what was asked. */
  readonly kinds: ReadonlyMap<string, number>;
  readonly commands: number;
  readonly events: number;
  /** Events that were published more than once, with one content. */
  readonly repeats: number;
  /** The highest epoch of any partition that an event tells of. */
  readonly epochs: number;
}

/** The counter of each stream is that of the last command about it, and every acknowledged one is on the log. */
export async function checkReplay(
  commands: readonly Record[],
  { ledger, store }: { ledger: Ledger; store: RedisStore },
): Promise<void> {
  const last = new Map<string, string>();
  const counts = new Map<string, Set<string>>();
  for (const { key, value } of commands) {
    const { id, command } = JSON.parse(value);
    if (id === undefined) continue;
    const n = command?.type === 'change' ? command.changes.userTags?.n : undefined;
    if (n === undefined) continue;
    last.set(key, n);
    const own = counts.get(key) ?? new Set();
    counts.set(key, own.add(n));
  }
  for (const [id, entry] of ledger.streams) {
    if (entry.deletion !== 'none') continue;
    const row = await store.load(`broadcast/${id}`);
    if (!row) {
      ledger.violation(`stream ${id} has no actor`);
      continue;
    }
    const { n } = JSON.parse(row.state).context.stream.userTags;
    const expected = last.get(`broadcast/${id}`) ?? '0';
    if (n !== expected) ledger.violation(`stream ${id} counts ${n}, and its log ${expected}`);
    if (entry.count > 0 && !counts.get(`broadcast/${id}`)?.has(String(entry.count)))
      ledger.violation(`${entry.count} of stream ${id} was acknowledged and is not on the log`);
  }
}

/** Nothing waits any more: neither events to be published nor orders nor jobs. */
export async function waiting(
  store: RedisStore,
  partitions: number,
): Promise<{ effects: number; orders: number; jobs: number }> {
  const effects = (await store.events.last()) - (await store.events.cursor('bus/events'));
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  // Attempts at webhooks that nobody hears go on for days.
  const left = (await store.jobs.totals()).filter(({ kind }) => kind !== 'webhook.attempt');
  const jobs = left.reduce((sum, { count }) => sum + count, 0);
  return { effects, orders: (await store.orders(all)).length, jobs };
}

function bodyOf(published: string): string {
  const { cause: _, epoch: __, ...event } = JSON.parse(published);
  return JSON.stringify(event);
}

/** The same but for what is published along. */
function isSame(published: string, body: string): boolean {
  return bodyOf(published) === JSON.stringify(JSON.parse(body));
}
