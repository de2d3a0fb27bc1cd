import { type AnyElysia, Elysia } from 'elysia';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import type { Principal } from '../../core/http/auth.ts';
import type { Caller } from '../../core/http/caller.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json } from '../../core/http/operation.ts';
import type { TasksKit } from './config.ts';
import { type Renewal, taskKinds, taskSchema } from './contract.ts';
import { longestWait, presentTask, type TaskDocument, task, taskKind, taskOf } from './task.ts';

/** `/api/task`: list, read, retry, cancel. */
export function routes(kit: TasksKit): AnyElysia {
  const { resources, actors } = kit;
  const { keyed, once } = keyedRoutes(kit);
  const list = resourceList({ kind: taskKind, fields, caller: kit.caller, resources });
  const owned = async ({ accountId }: Principal, id: string): Promise<TaskDocument> => {
    const row = await resources.get(taskKind, id);
    return row?.account === accountId ? taskOf(row) : Promise.reject(notFound(id));
  };
  const ask = async (id: string, command: { type: 'cancel' } | { type: 'retry'; deadline: number }) => {
    await actors.ask(task, id, command).catch(async (error: unknown) => {
      if (hasCode(error, 'actor.not_found')) throw notFound(id);
      if (!hasCode(error, 'actor.not_possible')) throw error;
      const row = await resources.get(taskKind, id);
      throw row ? notPossible(taskOf(row), command.type) : notFound(id);
    });
  };
  const shown = async (principal: Principal, id: string) => presentTask(await owned(principal, id));

  return new Elysia()
    .get(
      '/api/task',
      keyed(({ request, principal: { accountId: account } }) =>
        list(request, { account, present: (row) => presentTask(taskOf(row)) }),
      ),
      says('Lists tasks, newest first; parameters as for streams.', {
        name: 'listTasks',
        query: listParameters(fields),
        answers: { 200: listAnswer(taskSchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/task/:id',
      keyed(async ({ params: { id }, principal }) => Response.json(await shown(principal, id))),
      says('One task: its progress and its result.', {
        name: 'getTask',
        answers: { 200: json(taskSchema, 'The task.') },
        faults: ['task.not_found'],
      }),
    )
    .post(
      '/api/task/:id/retry',
      once(async ({ params: { id }, principal, isRepeat, caller }) => {
        const document = await owned(principal, id);
        const renew = async () => {
          const renewal = await renewed(document, { kit, caller, keyId: principal.keyId });
          const { deadline = kit.clock.now() + longestWait } = renewal;
          await ask(id, { type: 'retry', deadline });
          return renewal;
        };
        const renewal = await renew().catch(unlessDone(isRepeat));
        const answer = await shown(principal, id);
        if (!renewal?.params) return Response.json(answer);
        const { type, params } = document;
        return Response.json({ ...answer, params: { [type]: { ...params, ...renewal.params } } });
      }),
      says(
        'Retries a failed or cancelled task. For an upload, send the file again to the URLs in `params.upload`.',
        {
          name: 'retryTask',
          answers: { 200: json(taskSchema, 'The task.') },
          faults: ['task.not_found', 'task.not_possible'],
        },
      ),
    )
    .post(
      '/api/task/:id/cancel',
      once(async ({ params: { id }, principal, isRepeat }) => {
        await owned(principal, id);
        await ask(id, { type: 'cancel' }).catch(unlessDone(isRepeat));
        return Response.json(await shown(principal, id));
      }),
      says('Cancels a task that has not ended. The asset that waits for it fails.', {
        name: 'cancelTask',
        answers: { 200: json(taskSchema, 'The task.') },
        faults: ['task.not_found', 'task.not_possible'],
      }),
    );
}

/** Fields by which lists are filtered, as the object shows them; `phase` is that of its status. */
const fields = {
  id: { type: 'string' },
  type: { type: 'string' },
  name: { type: 'string' },
  createdAt: { type: 'number' },
  phase: { type: 'string' },
  userId: { type: 'string', path: ['account'] },
  inputAssetId: { type: 'string' },
  outputAssetId: { type: 'string' },
} as const satisfies Record<string, { type: string; path?: [keyof TaskDocument] }>;

function renewed(
  document: TaskDocument,
  { kit, ...by }: { kit: TasksKit; caller: Caller; keyId: string | undefined },
): Promise<Renewal> {
  const { id, type, phase, account, inputAssetId, outputAssetId } = document;
  const kind = kit.offered(taskKinds).find((one) => one.type === type);
  const isEnded = phase === 'failed' || phase === 'cancelled';
  if (!isEnded || !kind) return Promise.reject(notPossible(document, 'retry'));
  return kind.renew({ id, phase, account, inputAssetId, outputAssetId }, by);
}

/** An earlier attempt of the same request may have done it already. */
function unlessDone(isRepeat: boolean): (error: unknown) => undefined {
  return (error) => {
    if (isRepeat && hasCode(error, 'task.not_possible')) return undefined;
    throw error;
  };
}

function notFound(id: string): Fault {
  return new Fault('task.not_found', { status: 404, message: `There is no task ${idOrNone(id)}.` });
}

function notPossible({ phase }: TaskDocument, what: 'retry' | 'cancel'): Fault {
  const expected = what === 'retry' ? 'failed or cancelled tasks' : 'tasks that have not ended';
  const message = `The task is ${phase}; ${what} is for ${expected}.`;
  return new Fault('task.not_possible', { status: 409, message });
}
