import type { Database } from 'bun:sqlite';
import { Fault } from '../../../../core/base/fault.ts';
import { isDamage, isFull } from './errors.ts';
import type { Answer, Problem, Request } from './protocol.ts';
import type { Statements } from './statements.ts';

/** Thrown when the state on disk is unknown: the store must stop, not try again. */
export class BrokenStore extends Error {}

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

export function problem(error: unknown): Problem {
  if (error instanceof Fault) return { message: error.message, code: error.code, status: error.status };
  if (isFull(error))
    return { message: 'the disk is full; nothing was written', code: 'store.full', status: 507 };
  return { message: error instanceof Error ? error.message : String(error) };
}

function rollback(db: Database): void {
  if (db.inTransaction) db.run('ROLLBACK');
}
