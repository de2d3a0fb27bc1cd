import type { EventWrite, ResourceCommit, StepCommit } from '../../../../core/ports/store.ts';
import { redisLimits } from './limits.ts';
import { headerOf } from './rows.ts';

/** The arguments of `lua/commit.lua`. */
export function stepArguments(step: StepCommit): string[] {
  const { consumed, cause, orders, rows } = step;
  checkRows(rows.length);
  // A job is in another engine here, so a step that finishes one happens once because its cause is remembered.
  const isRemembered = step.counter === undefined && !consumed?.isCause;
  const hasEntry = step.events.length > 0 || step.jobs.length > 0 || step.cancels.length > 0;
  const list = [
    String(step.epoch),
    consumed ? String(consumed.from) : '',
    consumed ? String(consumed.to) : '',
    cause,
    isRemembered ? 'n' : '',
    step.counter === undefined ? '' : String(step.counter),
    String(step.at),
    step.actor,
    String(step.sequence),
    step.state === null ? '' : `${step.sequence + 1} ${step.version} ${step.state}`,
    timersOf(step),
    hasEntry ? entryOf(step) : '',
    String(orders.length),
  ];
  for (const { id, type, body } of orders) list.push(id, `${type}\n${body}`);
  for (const row of rows) list.push(row.kind, row.id, headerOf(row), row.body ?? '');
  return checked(list);
}

/** The arguments of `lua/write.lua`. */
export function writeArguments({ at, rows, events }: ResourceCommit): string[] {
  checkRows(rows.length);
  const plain = { epoch: 0, cause: '', actor: '', at, events, jobs: [], cancels: [] };
  const list = [events.length > 0 ? entryOf(plain) : ''];
  for (const row of rows) {
    list.push(row.kind, row.id, String(row.revision), headerOf(row), row.body ?? '');
  }
  return checked(list);
}

/** The arguments of `lua/append.lua` for one event. */
export function eventArguments({ id, type, account, stream, body }: EventWrite, at: number): string[] {
  return checked([String(at), id, type, account, stream, body]);
}

function timersOf({ timers, state }: StepCommit): string {
  if (timers.length === 0 || state === null) return '';
  // As text, because the numbers of JSON in Redis have 14 digits.
  return JSON.stringify(
    Object.fromEntries(timers.map(({ name, due }) => [name.toWellFormed(), due !== null && String(due)])),
  );
}

type Left = Pick<StepCommit, 'epoch' | 'cause' | 'actor' | 'at' | 'events' | 'jobs' | 'cancels'>;

function entryOf({ epoch, cause, actor, at, events, jobs, cancels }: Left): string {
  return JSON.stringify({ epoch, cause, actor, at, events, jobs, cancels });
}

/** A script that fails half way has written half: what it is given must be right before. */
function checked(list: string[]): string[] {
  const wrong = list.findIndex((value) => typeof value !== 'string');
  if (wrong >= 0) throw new TypeError(`a commit has ${typeof list[wrong]} where it needs text`);
  return list;
}

function checkRows(count: number): void {
  const most = redisLimits.rows;
  if (count > most) throw new RangeError(`${count} rows in one commit; at most ${most}`);
}
