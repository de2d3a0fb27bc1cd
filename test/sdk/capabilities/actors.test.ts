import { type ActorType, assign, definePlugin, effect, emit, job, regularly, setup } from 'millrace/plugin';
import { allPlugins, scriptedEffect, world } from 'millrace/testing';
import { expect, it } from 'vitest';

interface Fire {
  readonly stream: string;
  readonly account: string;
  readonly answer?: string;
}

const machine = setup({
  types: {
    context: {} as Fire,
    input: {} as Fire,
    events: {} as { type: 'light'; at: number },
    emitted: {} as { type: 'beacon.lit' } | { type: 'order.beacon.smoke' },
  },
  actors: { 'beacon.light': job<{ stream: string }, { answer: string }>() },
  delays: { burning: 60_000 },
}).createMachine({
  context: ({ input }) => input,
  initial: 'dark',
  states: {
    dark: { on: { light: 'lighting' } },
    lighting: {
      entry: emit({ type: 'order.beacon.smoke' }),
      invoke: {
        src: 'beacon.light',
        input: ({ context: { stream } }) => ({ stream }),
        onDone: {
          target: 'burning',
          actions: [assign({ answer: ({ event }) => event.output.answer }), emit({ type: 'beacon.lit' })],
        },
        onError: 'dark',
      },
    },
    burning: { after: { burning: 'dark' } },
  },
});

const beacon: ActorType<typeof machine> = {
  type: 'beacon',
  machine,
  version: 1,
  kinds: { beacon: 'own' },
  rows: ({ stream, account, answer }, state) => [
    {
      kind: 'beacon',
      id: stream,
      account,
      createdAt: 0,
      name: '',
      body: JSON.stringify({ state, answer }),
      indexes: {},
    },
  ],
  describe: (_, { account, stream, answer }) => ({
    account,
    stream,
    body: { stream: { id: stream }, payload: { answer } },
  }),
};

const smoke: string[] = [];
const beacons = definePlugin({
  id: 'beacon',
  summary: 'lights a beacon when a broadcast begins',
  contract: 3,
  actors: [beacon],
  emits: { 'beacon.lit': 'A beacon burns.' },
  effects: {
    'beacon.light': effect<{ stream: string }, { answer: string }>({
      concurrency: 1,
      timeout: 5000,
      run: async ({ input }) => ({ answer: `lit for ${input.stream}` }),
    }),
  },
  orders: { 'order.beacon.smoke': () => void smoke.push('smoke') },
  reactions: {
    async 'stream.started'({ id, stream, account }, { actors }) {
      await actors.spawn(beacon, stream, { stream, account }).catch(() => {});
      await actors.ask(beacon, stream, { type: 'light' }, { cause: id });
    },
  },
});

async function lit(options: { effects?: Parameters<typeof world>[0]['effects'] } = {}) {
  const w = await world({ plugins: [...(await allPlugins()), beacons], durable: true, ...options });
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  await w.settle();
  const row = async () => JSON.parse((await w.store.resources.get('beacon', stream.id))?.body ?? '{}');
  return { w, stream, row };
}

it('runs machines that react to events, keep rows, carry out orders and emit events', async () => {
  smoke.length = 0;
  const { w, stream, row } = await lit();
  await using _ = w;
  expect(await row()).toEqual({ state: 'burning', answer: `lit for ${stream.id}` });
  expect(smoke).toEqual(['smoke']);
  expect((await w.events()).find(({ event }) => event === 'beacon.lit')).toMatchObject({
    stream: { id: stream.id },
    payload: { answer: `lit for ${stream.id}` },
  });
  await w.advance('61s');
  expect((await row()).state).toBe('dark');
});

it('tries an effect again, with the same id, also after a crash', async () => {
  const light = scriptedEffect();
  const { w, row } = await lit({ effects: { 'beacon.light': light.run } });
  await using _ = w;
  const { id } = light.last();
  light.last().fail(new Error('wet wood'));
  await w.advance('2s');
  expect(light.last()).toMatchObject({ id, attempt: 2 });
  await w.crash({ downFor: '1m' });
  await w.advance('1s');
  expect(light.last().id).toBe(id);
  light.last().finish({ answer: 'at last' });
  await w.settle();
  expect(await row()).toMatchObject({ state: 'burning', answer: 'at last' });
});

it('hears of an effect that failed for good', async () => {
  const light = scriptedEffect();
  const { w, row } = await lit({ effects: { 'beacon.light': light.run } });
  await using _ = w;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    light.last().fail(new Error('wet wood'));
    await w.advance('60s');
  }
  expect(light.attempts).toHaveLength(5);
  expect((await row()).state).toBe('dark');
});

it('runs a singleton task, and stops it with the program', async () => {
  const turns: number[] = [];
  const watchman = definePlugin({
    id: 'watchman',
    summary: 'makes its rounds',
    contract: 3,
    duties: {
      rounds: ({ clock }) =>
        regularly(60_000, { clock, work: async () => void turns.push(clock.now()), failed: () => {} }),
    },
  });
  await using w = await world({ plugins: [...(await allPlugins()), watchman] });
  await w.advance('3m');
  expect(turns).toHaveLength(4);
});
