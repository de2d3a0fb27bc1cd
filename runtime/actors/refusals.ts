import { Fault } from '../../core/base/fault.ts';

/** Answers to commands that changed nothing, or whose outcome is unknown. */
export const refusals = {
  exists: (actor: string) =>
    new Fault('actor.exists', { status: 409, message: `${actor} exists already or has existed.` }),
  notFound: (actor: string) =>
    new Fault('actor.not_found', { status: 404, message: `There is no ${actor}.` }),
  notPossible: (command: string, state: unknown) =>
    new Fault('actor.not_possible', {
      status: 409,
      message: `${command} is not possible while it is ${JSON.stringify(state)}.`,
    }),
  tooBusy: () =>
    new Fault('store.busy', {
      status: 503,
      message: 'This changed too often at the same time; try again.',
      retryAfter: 1,
    }),
  stopping: (message: string) => new Fault('server.stopping', { status: 503, message, retryAfter: 1 }),
};
