import type { AnyElysia } from '../../sdk/plugin.ts';
import { type Answered, listQuery, pageQuery, type StudioCall, segment, studioRoutes } from './calls.ts';
import type { StudioKit } from './config.ts';
import { addedTarget, streamBody, streamGiven, targetBody } from './given.ts';
import { assetShown, streamShown } from './shown.ts';

export const listed = (answer: Answered, show: (one: Record<string, unknown>) => unknown): Answered => ({
  ...answer,
  body: answer.body.map(show),
});

/** Streams, sessions and multistream targets. */
export function streamRoutes(kit: StudioKit): AnyElysia {
  const { app, declare } = studioRoutes(kit);
  declare('POST', '/stream', {
    name: 'CreateStream',
    summary: 'Creates a stream.',
    ...{ status: 201, body: streamBody },
    async run({ request, ask }) {
      const made = await ask('POST', '/api/stream', { body: streamGiven(await streamBody.read(request)) });
      return { ...made, body: streamShown(made.body) };
    },
  });
  declare('GET', '/stream', {
    ...{ name: 'ListStreams', summary: 'Lists streams and sessions, newest first.', gives: 'list' },
    query: pageQuery,
    run: async ({ request, ask }) =>
      listed(await ask('GET', `/api/stream${listQuery(request)}`), streamShown),
  });
  declare('GET', '/stream/:id', {
    ...{ name: 'GetStream', summary: 'One stream or session.' },
    async run({ params, ask }) {
      const found = await ask('GET', `/api/stream/${segment(params.id)}`);
      return { ...found, body: streamShown(found.body) };
    },
  });
  declare('PATCH', '/stream/:id', {
    ...{ name: 'UpdateStream', summary: 'Changes a stream.', gives: 'none', body: streamBody },
    async run({ request, params, ask }) {
      const body = streamGiven(await streamBody.read(request));
      return ask('PATCH', `/api/stream/${segment(params.id)}`, { body });
    },
  });
  declare('DELETE', '/stream/:id', {
    ...{ name: 'DeleteStream', summary: 'Deletes a stream.', gives: 'none' },
    run: ({ params, ask }) => ask('DELETE', `/api/stream/${segment(params.id)}`),
  });
  declare('DELETE', '/stream/:id/terminate', {
    ...{ name: 'TerminateStream', summary: 'Ends the broadcast of a stream.', gives: 'none' },
    run: ({ params, ask }) => ask('DELETE', `/api/stream/${segment(params.id)}/terminate`),
  });
  declare('GET', '/stream/:id/sessions', {
    ...{ name: 'ListStreamSessions', summary: 'Lists the sessions of a stream.', gives: 'list' },
    query: pageQuery,
    run: async ({ request, params, ask }) =>
      listed(
        await ask('GET', `/api/stream/${segment(params.id)}/sessions${listQuery(request)}`),
        streamShown,
      ),
  });
  declare('GET', '/session', {
    ...{ name: 'ListSessions', summary: 'Lists sessions.', gives: 'list', query: pageQuery },
    run: async ({ request, ask }) =>
      listed(await ask('GET', `/api/session${listQuery(request)}`), streamShown),
  });
  declare('GET', '/session/:id', {
    ...{ name: 'GetSession', summary: 'One session.' },
    async run({ params, ask }) {
      const found = await ask('GET', `/api/session/${segment(params.id)}`);
      return { ...found, body: streamShown(found.body) };
    },
  });
  for (const [kind, name] of [
    ['stream', 'Stream'],
    ['session', 'Session'],
  ] as const)
    declare('GET', `/${kind}/:id/clips`, {
      ...{ name: `List${name}Clips`, summary: 'Clips: always an empty list.', gives: 'list' },
      // This server makes none.
      run: async ({ params, ask }) => ({
        ...(await ask('GET', `/api/${kind}/${segment(params.id)}`)),
        body: [].map(assetShown),
      }),
    });
  streamTargets(declare);
  targets(declare);
  return app;
}

type Declare = ReturnType<typeof studioRoutes>['declare'];

/** Targets of one stream: our routes change all of them at once. */
function streamTargets(declare: Declare): void {
  const inTurn = turns();
  const change = ({ params, ask }: StudioCall, to: (targets: readonly Target[]) => readonly Target[]) => {
    const path = `/api/stream/${segment(params.id)}`;
    // Of two changes at one time the second must see the first.
    return inTurn(path, async () => {
      const { body } = await ask('GET', path);
      return ask('PATCH', path, { body: { multistream: { targets: to(body.multistream.targets) } } });
    });
  };
  declare('POST', '/stream/:id/create-multistream-target', {
    name: 'AddStreamTarget',
    summary: 'Adds a multistream target to a stream.',
    ...{ gives: 'none', body: addedTarget },
    async run(call) {
      const added = await addedTarget.read(call.request);
      return change(call, (known) => [...known, added]);
    },
  });
  declare('DELETE', '/stream/:id/multistream/:targetId', {
    name: 'RemoveStreamTarget',
    summary: 'Removes a multistream target from a stream. The target stays.',
    gives: 'none',
    run: (call) => change(call, (known) => known.filter(({ id }) => id !== call.params.targetId)),
  });
}

/** Runs what has one key in the order in which it was asked for, on this node. */
function turns() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(key) ?? Promise.resolve()).catch(() => {}).then(work);
    last.set(key, turn);
    const forget = () => last.get(key) === turn && last.delete(key);
    turn.then(forget, forget);
    return turn;
  };
}

interface Target {
  readonly id?: unknown;
}

function targets(declare: Declare): void {
  const at = ({ params }: StudioCall) => `/api/multistream/target/${segment(params.id)}`;
  declare('POST', '/multistream/target', {
    ...{ name: 'CreateTarget', summary: 'Creates a multistream target.', status: 201, body: targetBody },
    run: async ({ request, ask }) =>
      ask('POST', '/api/multistream/target', { body: await targetBody.read(request) }),
  });
  declare('GET', '/multistream/target', {
    ...{ name: 'ListTargets', summary: 'Lists multistream targets.', gives: 'list', query: pageQuery },
    run: ({ request, ask }) => ask('GET', `/api/multistream/target${listQuery(request)}`),
  });
  declare('GET', '/multistream/target/:id', {
    ...{ name: 'GetTarget', summary: 'One multistream target.' },
    run: (call) => call.ask('GET', at(call)),
  });
  declare('PATCH', '/multistream/target/:id', {
    ...{ name: 'UpdateTarget', summary: 'Changes a multistream target.', gives: 'none', body: targetBody },
    run: async (call) => call.ask('PATCH', at(call), { body: await targetBody.read(call.request) }),
  });
  declare('DELETE', '/multistream/target/:id', {
    ...{ name: 'DeleteTarget', summary: 'Deletes a multistream target.', gives: 'none' },
    run: (call) => call.ask('DELETE', at(call)),
  });
}
