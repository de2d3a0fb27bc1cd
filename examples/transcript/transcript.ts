import { type ActorType, assign, emit, job, setup } from 'millrace/plugin';

/** What is asked of the endpoint. */
export interface Task {
  readonly assetId: string;
  readonly account: string;
}

/** `key`: the blob with the WebVTT. */
export type Result = { readonly key: string } | { readonly problem: string };

interface Context extends Task {
  readonly key?: string;
  readonly problem?: string;
}

/** One per recording: made once, and gone with its asset. */
const machine = setup({
  types: {
    context: {} as Context,
    input: {} as Task,
    events: {} as { type: 'deleted'; at: number },
    emitted: {} as { type: 'transcript.ready' | 'transcript.failed' },
  },
  actors: { 'transcript.make': job<Task, Result>() },
}).createMachine({
  context: ({ input }) => input,
  initial: 'making',
  on: { deleted: '.gone' },
  states: {
    making: {
      invoke: {
        src: 'transcript.make',
        input: ({ context: { assetId, account } }) => ({ assetId, account }),
        onDone: [
          {
            guard: ({ event }) => 'key' in event.output,
            target: 'ready',
            actions: [assign(({ event }) => event.output), emit({ type: 'transcript.ready' })],
          },
          { target: 'failed', actions: assign(({ event }) => event.output) },
        ],
        onError: {
          target: 'failed',
          actions: assign(({ event }) => ({ problem: (event.error as Error).message })),
        },
      },
    },
    ready: {},
    failed: { entry: emit({ type: 'transcript.failed' }) },
    gone: { type: 'final' },
  },
});

export const kind = 'transcript';

export const transcript: ActorType<typeof machine> = {
  type: 'transcript',
  machine,
  version: 1,
  kinds: { [kind]: 'own' },
  rows({ assetId: id, account, ...rest }, state) {
    const body = state === 'gone' ? null : JSON.stringify({ state, ...rest });
    return [{ kind, id, account, createdAt: 0, name: '', body, indexes: {} }];
  },
  describe: (_, { account, assetId, problem }) => ({
    account,
    stream: '',
    body: { payload: { assetId, problem } },
  }),
};
