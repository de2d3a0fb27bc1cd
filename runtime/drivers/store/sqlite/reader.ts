import type { SQLQueryBindings, Statement } from 'bun:sqlite';
import type { JobTotals } from '../../../../core/ports/jobs.ts';
import type {
  EventRead,
  LoadedActors,
  LoggedEvent,
  Order,
  StoredActor,
  StoredResource,
  StoredTimer,
} from '../../../../core/ports/store.ts';
import { jobSql } from './job-rows.ts';
import { listSql } from './list-sql.ts';
import { type Counted, type CountQuery, checkLimit, listing, type Walk, type WalkQuery } from './listing.ts';
import type { Statements } from './statements.ts';

/** Everything that only reads; runs on the main thread for a file and in the worker for `:memory:`. */
export interface Reader {
  isConsumed(cause: string): boolean;
  load(actor: string): StoredActor | undefined;
  loadAll(asked: { actors: readonly string[]; causes: readonly string[] }): LoadedActors;
  /** Null: of all partitions. */
  timers(partitions: readonly number[] | null): StoredTimer[];
  orders(partitions: readonly number[] | null): Order[];
  get(key: { kind: string; id: string }): StoredResource | undefined;
  find(key: { kind: string; index: string; value: string }): StoredResource | undefined;
  walk(query: WalkQuery): Walk;
  countRows(query: CountQuery): Counted;
  after(query: EventRead & { position: number }): LoggedEvent[];
  before(query: EventRead & { position: number }): LoggedEvent[];
  position(id: string): number | undefined;
  last(scope: null): number;
  cursor(consumer: string): number;
  nextJob(kinds: readonly string[]): number | undefined;
  jobTotals(scope: null): JobTotals[];
}

const columns = 'r.id, r.account, r.created_at AS createdAt, r.name, r.body, r.revision';
const ofPartitions = '(?1 IS NULL OR partition IS NULL OR partition IN (SELECT value FROM json_each(?1)))';
const event = 'position, id, type, account, stream, body, at';

/** The reads: answered at once by our own connection, or later by the worker. */
export type Reads = {
  [Name in keyof Reader]: (
    argument: Parameters<Reader[Name]>[0],
  ) => ReturnType<Reader[Name]> | Promise<ReturnType<Reader[Name]>>;
};

export function reader(sql: Statements): Reader {
  const load = sql.prepare<StoredActor>('SELECT state, version, sequence FROM actors WHERE actor = ?');
  const consumed = sql.prepare<{ cause: string }>('SELECT cause FROM causes WHERE cause = ?');
  const ended = sql.prepare('SELECT 1 FROM ended WHERE actor = ?');
  const timers = sql.prepare<StoredTimer>(
    `SELECT actor, name, due FROM timers WHERE ${ofPartitions} ORDER BY due, actor, name`,
  );
  const orders = sql.prepare<Order>(
    `SELECT id, type, body FROM orders WHERE ${ofPartitions} ORDER BY number`,
  );
  const get = sql.prepare<StoredResource>(`SELECT ${columns} FROM resources r WHERE kind = ? AND id = ?`);
  const find = sql.prepare<StoredResource>(
    listSql({ byEntry: true, hasAccount: false, hasAfter: false, others: 0 }),
  );
  const after = sql.prepare<LoggedEvent>(
    `SELECT ${event} FROM events WHERE position > ? ORDER BY position LIMIT ?`,
  );
  const afterOfAccount = sql.prepare<LoggedEvent>(
    `SELECT ${event} FROM events INDEXED BY events_account
     WHERE account = ? AND position > ? ORDER BY position LIMIT ?`,
  );
  const before = sql.prepare<LoggedEvent>(
    `SELECT ${event} FROM events WHERE position < ? ORDER BY position DESC LIMIT ?`,
  );
  const beforeOfAccount = sql.prepare<LoggedEvent>(
    `SELECT ${event} FROM events INDEXED BY events_account
     WHERE account = ? AND position < ? ORDER BY position DESC LIMIT ?`,
  );
  const position = sql.prepare<{ position: number }>(
    'SELECT position FROM events WHERE id = ? ORDER BY position LIMIT 1',
  );
  const last = sql.prepare<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'events'");
  const cursor = sql.prepare<{ position: number }>('SELECT position FROM cursors WHERE consumer = ?');
  const nextJob = sql.prepare<{ ready: number }>(jobSql.next);
  const jobTotals = sql.prepare<JobTotals>(jobSql.totals);
  const { walk, countRows } = listing(sql);

  return {
    isConsumed: (cause) => consumed.get(cause) !== null,
    load: (actor) => load.get(actor) ?? undefined,
    loadAll: ({ actors, causes }) => ({
      actors: new Map(
        actors.flatMap((actor) => {
          const stored = load.get(actor) ?? (ended.get(actor) ? null : undefined);
          return stored === undefined ? [] : [[actor, stored] as const];
        }),
      ),
      consumed: new Set(causes.filter((cause) => consumed.get(cause) !== null)),
    }),
    timers: (partitions) => timers.all(partitions && JSON.stringify(partitions)),
    orders: (partitions) => orders.all(partitions && JSON.stringify(partitions)),
    get: ({ kind, id }) => get.get(kind, id) ?? undefined,
    find: (key) => find.get(key.kind, key.index, key.value, 1) ?? undefined,
    walk,
    countRows,
    after(query) {
      checkLimit(query.limit, 1000);
      return eventsIn(query, { all: after, ofAccount: afterOfAccount });
    },
    before(query) {
      checkLimit(query.limit, 1000);
      return eventsIn(query, { all: before, ofAccount: beforeOfAccount });
    },
    position: (id) => position.get(id)?.position,
    last: () => last.get()?.seq ?? 0,
    cursor: (consumer) => cursor.get(consumer)?.position ?? 0,
    nextJob(kinds) {
      const times = kinds.flatMap((kind) => nextJob.get(kind)?.ready ?? []);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    jobTotals: () => jobTotals.all(),
  };
}

type EventStatement = Statement<LoggedEvent, SQLQueryBindings[]>;

function eventsIn(
  { position, account, limit, characters }: EventRead & { position: number },
  { all, ofAccount }: { all: EventStatement; ofAccount: EventStatement },
): LoggedEvent[] {
  const values = account === undefined ? [position, limit] : [account, position, limit];
  const statement = account === undefined ? all : ofAccount;
  if (characters === undefined) return statement.all(...values);
  const events: LoggedEvent[] = [];
  let left = characters;
  for (const event of statement.iterate(...values)) {
    events.push(event);
    left -= event.body.length;
    if (left < 0) break;
  }
  return events;
}
