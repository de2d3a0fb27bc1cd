import { Fault } from '../../../../core/base/fault.ts';
import type {
  BatchOutcome,
  BatchStep,
  CommitOutcome,
  EventWrite,
  Lease,
  ResourceCommit,
  StepBatch,
} from '../../../../core/ports/store.ts';
import { jobRows, type StepJobs } from './job-rows.ts';
import type { Writes } from './protocol.ts';
import { type Rows, rows } from './rows.ts';
import type { Statements } from './statements.ts';

export type Writer = Omit<Writes, 'sweep'> & {
  /** Deletes at most `chunk` rows of each log; false when there is nothing left to delete. */
  sweepChunk(what: Parameters<Writes['sweep']>[0], chunk: number): boolean;
};

/**
 * The writes, each to be run inside a transaction that the caller owns. A commit makes all its checks before
 * or with its first statement, so every outcome but `ok` leaves the transaction as it was.
 */
export function writer(sql: Statements): Writer {
  const removeOrder = sql.prepare('DELETE FROM orders WHERE id = ?');
  const advance = sql.prepare('INSERT OR REPLACE INTO cursors (consumer, position) VALUES (?, ?)');
  const sweepEvents = sql.prepare(
    'DELETE FROM events WHERE position IN (SELECT position FROM events WHERE at < ? AND position <= ? ORDER BY at LIMIT ?)',
  );
  const sweeps = [
    'DELETE FROM causes WHERE cause IN (SELECT cause FROM causes WHERE at < ? ORDER BY at LIMIT ?)',
    'DELETE FROM ended WHERE actor IN (SELECT actor FROM ended WHERE at < ? ORDER BY at LIMIT ?)',
  ].map((text) => sql.prepare(text));
  const resources = rows(sql);
  const logEvents = eventWriter(sql);
  const findEvent = sql.prepare('SELECT 1 FROM events WHERE id = ? LIMIT 1');
  const { canFinish, write: writeJobs, ...jobs } = jobRows(sql);

  return {
    ...jobs,
    acquire: acquirer(sql),
    ...stepWriter(sql, { resources, logEvents, canFinish, writeJobs }),

    write(write: ResourceCommit): CommitOutcome {
      if (write.isOnce && write.events.some(({ id }) => findEvent.get(id))) return { outcome: 'duplicate' };
      const isCurrent = write.rows.every((row) => resources.revision(row) === row.revision);
      if (!isCurrent) return { outcome: 'conflict' };
      for (const row of write.rows) resources.write(row);
      return { outcome: 'ok', events: logEvents(write.events, write.at) };
    },

    acknowledge(orderIds) {
      for (const id of orderIds) removeOrder.run(id);
    },

    advance({ consumer, position }) {
      advance.run(consumer, position);
    },

    sweepChunk({ before, upTo }, chunk) {
      let isMore = sweepEvents.run(before, upTo, chunk).changes === chunk;
      for (const sweep of sweeps) isMore = sweep.run(before, chunk).changes === chunk || isMore;
      return isMore;
    },
  };
}

function acquirer(sql: Statements): Writer['acquire'] {
  const leases = sql.prepare<Lease>(
    'SELECT partition, epoch, counter, consumed AS offset FROM partitions ORDER BY partition',
  );
  const addPartition = sql.prepare('INSERT INTO partitions (partition, epoch, counter) VALUES (?, 0, 0)');
  const takeOver = sql.prepare('UPDATE partitions SET epoch = epoch + 1 WHERE partition = ?');
  const addFact = sql.prepare('INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const fact = sql.prepare<{ value: string }>('SELECT value FROM facts WHERE name = ?');

  return ({ count, partitions, log }) => {
    const stored = leases.all().length;
    if (stored > 0 && stored !== count) {
      throw new Fault('store.partitions', {
        status: 500,
        message: `the data has ${stored} partitions, which is fixed for its life; ${count} are configured`,
      });
    }
    if (log !== undefined) addFact.run('log', log);
    const own = fact.get('log')?.value;
    if (log !== undefined && own !== log) {
      throw new Fault('store.log', {
        status: 500,
        message: `the data was filled from the command log ${own}; this one is ${log}`,
      });
    }
    for (let partition = stored; partition < count; partition++) addPartition.run(partition);
    const all = leases.all();
    const wanted = all.filter(({ partition }) => partitions?.includes(partition) ?? true);
    for (const { partition } of wanted) takeOver.run(partition);
    return wanted.map((lease) => ({ ...lease, epoch: lease.epoch + 1 }));
  };
}

/** Appends events to the log; their positions. */
function eventWriter(sql: Statements): (events: readonly EventWrite[], at: number) => number[] {
  const add = sql.prepare(
    'INSERT INTO events (id, type, account, stream, body, at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return (events, at) =>
    events.map(({ id, type, account, stream, body }) =>
      Number(add.run(id, type, account, stream, body, at).lastInsertRowid),
    );
}

interface StepParts {
  readonly resources: Rows;
  readonly logEvents: ReturnType<typeof eventWriter>;
  readonly canFinish: StepJobs['canFinish'];
  readonly writeJobs: StepJobs['write'];
}

function stepWriter(sql: Statements, parts: StepParts): Pick<Writer, 'commit' | 'commitAll'> {
  const owned = sql.prepare<{ epoch: number; offset: number }>(
    'SELECT epoch, consumed AS offset FROM partitions WHERE partition = ?',
  );
  const consume = sql.prepare('UPDATE partitions SET consumed = ?2 WHERE partition = ?1');
  const count = sql.prepare('UPDATE partitions SET counter = ?2 WHERE partition = ?1 AND counter < ?2');
  const savepoint = sql.prepare('SAVEPOINT batch');
  const undo = sql.prepare('ROLLBACK TO batch');
  const release = sql.prepare('RELEASE batch');
  const take = stepTaker(sql, parts);

  const takeAll = ({ partition, steps }: StepBatch): BatchOutcome => {
    const events: number[] = [];
    for (const [index, step] of steps.entries()) {
      const outcome = take(step, { partition, isUnique: step.isLogged === true });
      if (outcome.outcome === 'fenced') return outcome;
      if (outcome.outcome !== 'ok') return { outcome: 'refused', step: index, why: outcome.outcome };
      events.push(...outcome.events);
    }
    return { outcome: 'ok', events };
  };

  return {
    commit(step) {
      const { partition, epoch, counter } = step;
      if (owned.get(partition)?.epoch !== epoch) return { outcome: 'fenced' };
      const outcome = take(step, { partition, isUnique: counter !== undefined });
      if (outcome.outcome === 'ok' && counter !== undefined) count.run(partition, counter);
      return outcome;
    },

    commitAll(batch) {
      const { partition, epoch, from, to } = batch;
      const stored = owned.get(partition);
      if (stored?.epoch !== epoch) return { outcome: 'fenced' };
      const { offset } = stored;
      if (offset !== from)
        return from < to && offset >= to ? { outcome: 'duplicate' } : { outcome: 'gap', offset };
      savepoint.run();
      const outcome = takeAll(batch);
      if (outcome.outcome !== 'ok') undo.run();
      release.run();
      if (outcome.outcome === 'ok') consume.run(partition, to);
      return outcome;
    },
  };
}

/** Checks and writes one step, whose owner is the right one. */
function stepTaker(
  sql: Statements,
  parts: StepParts,
): (step: BatchStep, by: { partition: number; isUnique: boolean }) => CommitOutcome {
  const findCause = sql.prepare('SELECT 1 FROM causes WHERE cause = ?');
  const addCause = sql.prepare('INSERT INTO causes (cause, at) VALUES (?, ?)');
  const setTimer = sql.prepare(
    'INSERT OR REPLACE INTO timers (actor, name, due, partition) VALUES (?, ?, ?, ?)',
  );
  const removeTimer = sql.prepare('DELETE FROM timers WHERE actor = ? AND name = ?');
  // An order's id names the effect, so an order that is still pending is the same one.
  const addOrder = sql.prepare(
    'INSERT INTO orders (id, type, body, partition) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
  );
  const move = actorMover(sql);

  return (step, { partition, isUnique }) => {
    const isRemembered = !isUnique && !step.finish;
    if (isRemembered && findCause.get(step.cause)) return { outcome: 'duplicate' };
    if (!parts.canFinish(step)) return { outcome: 'lost' };
    if (!move(step)) return { outcome: 'conflict' };

    if (isRemembered) addCause.run(step.cause, step.at);
    for (const row of step.rows) parts.resources.write(row);
    for (const { name, due } of step.state === null ? [] : step.timers) {
      if (due === null) removeTimer.run(step.actor, name);
      else setTimer.run(step.actor, name, due, partition);
    }
    const events = parts.logEvents(step.events, step.at);
    for (const { id, type, body } of step.orders) addOrder.run(id, type, body, partition);
    parts.writeJobs(step);
    return { outcome: 'ok', events };
  };
}

/** Moves the actor's row; false: it is not where the step began. */
function actorMover(sql: Statements): (step: BatchStep) => boolean {
  const isEnded = sql.prepare('SELECT 1 FROM ended WHERE actor = ?');
  const hasActor = sql.prepare('SELECT 1 FROM actors WHERE actor = ?');
  const add = sql.prepare(
    'INSERT INTO actors (actor, state, version, sequence) VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING',
  );
  const update = sql.prepare(
    'UPDATE actors SET state = ?, version = ?, sequence = sequence + 1 WHERE actor = ? AND sequence = ?',
  );
  const remove = sql.prepare('DELETE FROM actors WHERE actor = ? AND sequence = ?');
  const addEnded = sql.prepare('INSERT OR REPLACE INTO ended (actor, at) VALUES (?, ?)');
  const removeTimers = sql.prepare('DELETE FROM timers WHERE actor = ?');

  return ({ actor, sequence, state, version, at }) => {
    if (sequence > 0) {
      const { changes } =
        state === null ? remove.run(actor, sequence) : update.run(state, version, actor, sequence);
      if (changes === 0) return false;
    } else {
      if (isEnded.get(actor)) return false;
      if (state === null) {
        if (hasActor.get(actor)) return false;
      } else if (add.run(actor, state, version).changes === 0) return false;
    }
    if (state === null) {
      addEnded.run(actor, at);
      removeTimers.run(actor);
    }
    return true;
  };
}
