import type { Task } from '../sdk/client/index.ts';
import { type Command, exits, print } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { percent } from './progress.ts';
import { limitOf, limitOption, printRows, rowsOf } from './rows.ts';
import { facts, moment } from './table.ts';
import { completed } from './task-state.ts';

export const taskList: Command = {
  name: 'task list',
  usage: '[--limit N]',
  summary: 'lists the tasks (uploads, imports, exports, recordings, transcodes), newest first',
  options: { ...limitOption, ...serverOptions },
  async run(given) {
    const limit = limitOf(given);
    const { client, isJson } = await connectionOf(given);
    const tasks = await rowsOf(client.pages('listTasks', { query: { limit: Math.min(limit, 100) } }), limit);
    printRows(tasks, {
      isJson,
      none: 'There are no tasks.',
      head: ['ID', 'TYPE', 'STATE', 'CREATED', 'NAME'],
      cells: (task) => [task.id, task.type, stateOf(task), moment(task.createdAt), task.name],
    });
    return exits.fine;
  },
};

export const taskShow: Command = {
  name: 'task show',
  usage: '<id>',
  summary: 'shows a task and its result',
  options: serverOptions,
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const task = await client.getTask({ id: given.arguments[0] ?? '' });
    print(isJson ? JSON.stringify(task) : about(task));
    return exits.fine;
  },
};

export const taskFollow: Command = {
  name: 'task follow',
  usage: '<id>',
  summary: 'shows the progress of a task until it has ended',
  details: 'Exit code 0: it is completed. 1: it failed, or was cancelled.',
  options: serverOptions,
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const task = await completed(client, given.arguments[0] ?? '');
    print(isJson ? JSON.stringify(task) : about(task));
    return exits.fine;
  },
};

/** A task for people. */
export function about(task: Task): string {
  const { id, type, name, createdAt, inputAssetId, outputAssetId, status, output } = task;
  return facts({
    Task: `${type} ${name}`,
    Id: id,
    State: stateOf(task),
    Created: moment(createdAt),
    'Of asset': inputAssetId,
    'Makes asset': outputAssetId,
    Reason: status.errorMessage,
    Result: type === 'export' && output ? JSON.stringify(output.export) : undefined,
  });
}

function stateOf({ status: { phase, progress } }: Task): string {
  return phase === 'running' ? `running, ${percent(progress)}` : phase;
}
