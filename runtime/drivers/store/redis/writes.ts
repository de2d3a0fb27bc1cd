import type {
  BatchOutcome,
  BatchStep,
  CommitOutcome,
  EventWrite,
  StepCommit,
  Store,
} from '../../../../core/ports/store.ts';
import { headerOf } from './rows.ts';
import type { StoreParts } from './scripts.ts';

/** Rows of one step or write. More are a bug, and would stop Redis for everybody. */
const maxRows = 4096;

/** The writes, each one script: all or nothing. */
export function writes({ scripts, onEvents }: StoreParts): Pick<Store, 'commit' | 'commitAll' | 'write'> {
  /** The positions of so many events, the last of which has this one. */
  const positions = (count: number, last: string): number[] => {
    if (count > 0) onEvents(Number(last));
    return Array.from({ length: count }, (_, index) => Number(last) - count + 1 + index);
  };

  const commit = async (place: readonly string[], steps: readonly (BatchStep | StepCommit)[]) => {
    const values = [...place, String(steps.length)];
    for (const step of steps) addStep(values, step);
    const answer = (await scripts.run('commit', values)) as [BatchOutcome['outcome'], string, string];
    const [outcome, value, why] = answer;
    switch (outcome) {
      case 'ok': {
        const count = steps.reduce((sum, { events }) => sum + events.length, 0);
        return { outcome, events: positions(count, value) };
      }
      case 'gap':
        return { outcome, offset: Number(value) };
      case 'refused':
        return { outcome, step: Number(value), why: why as 'duplicate' | 'lost' | 'conflict' };
      default:
        return { outcome };
    }
  };

  return {
    async commit(step) {
      const outcome = await commit([String(step.partition), String(step.epoch), '', ''], [step]);
      return outcome.outcome === 'refused' ? { outcome: outcome.why } : (outcome as CommitOutcome);
    },

    commitAll: ({ partition, epoch, from, to, steps }) =>
      commit([partition, epoch, from, to].map(String), steps),

    async write({ at, rows, events, isOnce = false }) {
      checkRows(rows.length);
      const values = [String(at), isOnce ? '1' : '', String(rows.length)];
      for (const row of rows) {
        values.push(row.kind, row.id, String(row.revision), headerOf(row), row.body ?? '');
      }
      addEvents(values, events);
      const answer = await scripts.run('write', values);
      const [outcome, last] = answer as ['ok' | 'conflict' | 'duplicate', string];
      return outcome === 'ok' ? { outcome, events: positions(events.length, last) } : { outcome };
    },
  };
}

/** The arguments of `lua/commit.lua` for one step. */
function addStep(values: string[], step: BatchStep | StepCommit): void {
  const { at, actor, sequence, state, version, finish, orders, rows, cancels, jobs } = step;
  checkRows(rows.length);
  const counter = 'counter' in step ? step.counter : undefined;
  const isLogged = 'isLogged' in step && step.isLogged;
  const isRemembered = counter === undefined && !isLogged && !finish;
  values.push(step.cause, isRemembered ? '1' : '', counter === undefined ? '' : String(counter));
  values.push(String(at), actor, String(sequence));
  values.push(state === null ? '' : `${sequence + 1} ${version} ${state}`);
  values.push(finish?.id ?? '', finish?.owner ?? '', String(cancels.length), ...cancels);
  values.push(String(step.timers.length));
  for (const { name, due } of step.timers) values.push(name.toWellFormed(), due === null ? '' : String(due));
  addEvents(values, step.events);
  values.push(String(orders.length));
  for (const { id, type, body } of orders) values.push(id, `${type}\n${body}`);
  values.push(String(rows.length));
  for (const row of rows) values.push(row.kind, row.id, headerOf(row), row.body ?? '');
  values.push(String(jobs.length));
  for (const { id, child, input, due } of jobs) values.push(id, child, input.toWellFormed(), String(due));
}

function addEvents(values: string[], events: readonly EventWrite[]): void {
  values.push(String(events.length));
  for (const { id, type, account, stream, body } of events) values.push(id, type, account, stream, body);
}

function checkRows(count: number): void {
  if (count > maxRows) throw new RangeError(`${count} rows in one commit; at most ${maxRows}`);
}
