import type { Database } from 'bun:sqlite';
import { Fault } from '../../../../core/base/fault.ts';
import { database, type OpenDatabase } from './database.ts';
import { isDamage, isFull } from './errors.ts';
import type { Answer, AnswerBatch, Calls, Problem, Request, RequestBatch } from './protocol.ts';
import { type Reader, reader } from './reader.ts';
import { type Statements, statements } from './statements.ts';
import { type Writer, writer } from './writer.ts';

/** Requests in one transaction; more would make the first of them wait for the last. */
const maxGroup = 256;
/** Rows that a sweep deletes from each log in one transaction. */
const sweepChunk = 200;

const sweepAgain = Symbol('sweep again');

interface Running {
  opened: OpenDatabase;
  run(requests: readonly Request[]): Answer[];
  close(): void;
}

/** The end of the store at which the database is: requests come in by `onmessage`. */
export type Port = Pick<Worker, 'onmessage' | 'postMessage'>;

/**
 * Owns the database. What arrives while a group is being synced forms the next group; its answers leave after its
 * sync. The store has it in a thread of its own (./worker.ts).
 */
export function serve(port: Port): void {
  let queue: Request[] = [];
  let running: Running | undefined;
  let refusal: unknown;
  let isScheduled = false;
  let isBroken = false;

  port.onmessage = (message: MessageEvent<RequestBatch>) => {
    if (isBroken) return;
    queue.push(...message.data);
    schedule();
  };

  /** A turn later, so that messages which are already here come along. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      guard(turn);
    });
  }

  /** Says so before it stops for good. */
  function guard(action: () => void): void {
    if (isBroken) return;
    try {
      action();
    } catch (error) {
      isBroken = true;
      const reason = error instanceof Error ? error.message : String(error);
      send({ failed: error instanceof BrokenStore ? reason : `bug in the store's thread: ${reason}` });
    }
  }

  function turn(): void {
    const first = queue[0];
    if (!first) return;
    if (first.name === 'open' || first.name === 'close' || !running) {
      queue.shift();
      send({ answers: [lifetime(first)] });
    } else {
      const end = queue.findIndex((request) => request.name === 'close');
      const size = Math.min(maxGroup, end < 0 ? queue.length : end);
      const requests = queue.slice(0, size);
      queue = queue.slice(size);
      const unfinished = new Set<Request>();
      const answers = running.run(requests).filter((answer, index) => {
        const request = requests[index];
        if (!request || !('value' in answer) || answer.value !== sweepAgain) return true;
        unfinished.add(request);
        return false;
      });
      // A long sweep goes to the back: commits that came meanwhile pass it.
      queue.push(...unfinished);
      if (answers.length > 0) send({ answers });
    }
    if (queue.length > 0) schedule();
  }

  function lifetime(request: Request): Answer {
    try {
      if (request.name === 'open') {
        running = open((request.argument as { file: string }).file);
        const { schema, migrated } = running.opened;
        return { id: request.id, value: { schema, migrated } };
      }
      if (request.name !== 'close') throw refusal;
      running?.close();
      return { id: request.id, value: undefined };
    } catch (error) {
      refusal = error;
      return { id: request.id, problem: problem(error) };
    }
  }

  function send(batch: AnswerBatch): void {
    port.postMessage(batch);
  }
}

function open(file: string): Running {
  const opened = database(file);
  const sql = statements(opened.db);
  const handlers: Reader & Writer = { ...reader(sql), ...writer(sql) };
  const perform = (request: Request): unknown => {
    if (request.name === 'sweep') {
      const what = request.argument as Parameters<Calls['sweep']>[0];
      return handlers.sweepChunk(what, sweepChunk) ? sweepAgain : undefined;
    }
    const handler = handlers[request.name as Exclude<keyof Calls, 'open' | 'close' | 'sweep'>];
    return (handler as (argument: unknown) => unknown)(request.argument);
  };
  return {
    opened,
    run: group({ db: opened.db, sql }, perform),
    close() {
      sql.finalize();
      opened.close();
    },
  };
}

/** Thrown when the state on disk is unknown: the store must stop, not try again. */
class BrokenStore extends Error {}

/** Runs requests as one transaction with one sync, and answers each. A request that throws is undone alone. */
export function group(
  { db, sql }: { db: Database; sql: Statements },
  run: (request: Request) => unknown,
): (requests: readonly Request[]) => Answer[] {
  const begin = sql.prepare('BEGIN IMMEDIATE');
  const commit = sql.prepare('COMMIT');
  const savepoint = sql.prepare('SAVEPOINT step');
  const undo = sql.prepare('ROLLBACK TO step');
  const release = sql.prepare('RELEASE step');

  const answered = (request: Request): Answer => {
    savepoint.run();
    let answer: Answer;
    try {
      answer = { id: request.id, value: run(request) };
    } catch (error) {
      // SQLite ends the whole transaction by itself on some errors, and with it the neighbours' steps.
      if (isDamage(error) || !db.inTransaction) throw error;
      undo.run();
      answer = { id: request.id, problem: problem(error) };
    }
    release.run();
    return answer;
  };

  return (requests) => {
    try {
      begin.run();
      const answers = requests.map(answered);
      commit.run();
      return answers;
    } catch (error) {
      if (!isFull(error)) throw new BrokenStore(error instanceof Error ? error.message : String(error));
      rollback(db);
      return requests.map((request) => ({ id: request.id, problem: problem(error) }));
    }
  };
}

function problem(error: unknown): Problem {
  if (error instanceof Fault) return { message: error.message, code: error.code, status: error.status };
  if (isFull(error))
    return { message: 'the disk is full; nothing was written', code: 'store.full', status: 507 };
  return { message: error instanceof Error ? error.message : String(error) };
}

function rollback(db: Database): void {
  if (db.inTransaction) db.run('ROLLBACK');
}
