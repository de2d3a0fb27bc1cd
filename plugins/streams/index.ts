import { Elysia } from 'elysia';
import { milliseconds } from '../../core/base/config-fields.ts';
import { unlessRefused } from '../../core/base/fault.ts';
import { storedKinds, usages } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { streamDescribers } from '../../core/plugin/events.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import type { FieldSet } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { playables, playedFacts } from '../playback/contract.ts';
import { broadcast, lostNode } from './actor.ts';
import { acceptPublishes } from './admission.ts';
import { config, type StreamsKit } from './config.ts';
import { type StreamState, type Streams, stream, streams } from './contract.ts';
import { documentOf, owned, parent, type StreamDocument } from './document.ts';
import { internalHls } from './edge/node-routes.ts';
import { readLive } from './live-figures.ts';
import { livePublisher } from './live-publisher.ts';
import { livePlayable, playedStream } from './playable.ts';
import { presentForEvent } from './present.ts';
import { internalRefused, RefusedPublishes, refusedPublishes } from './refused-publishes.ts';
import { changeStream, routes } from './routes.ts';
import { ownFields } from './schema.ts';
import { broadcastUsage, liveUsage, streamUsage } from './usage.ts';

/** Streams, their sessions, who may publish, and live playback. */
export default definePlugin({
  id: 'streams',
  summary: 'live streams: RTMP in, HLS out',
  config,
  contradictions: ({ hold, reconnectWindow }) =>
    hold !== undefined && milliseconds(hold) > milliseconds(reconnectWindow)
      ? [`hold: expected at most plugins.streams.reconnectWindow, which is ${reconnectWindow}; it is ${hold}`]
      : [],
  needs: [authenticator, refusedPublishes, services.media, services.volatile],
  provides: [streams, refusedPublishes],
  resources: [{ ...stream, ownFields: Object.keys(ownFields) }],
  offers: [
    ...[offer(playables, livePlayable), offer(playedFacts, playedStream)],
    offer(streamDescribers, describer),
    offer(storedKinds, () => ({ kind: stream.kind })),
    ...[offer(usages, streamUsage), offer(usages, broadcastUsage), offer(usages, liveUsage)],
  ],
  actors: [broadcast],
  emits: {
    'stream.started': { meaning: 'The stream is on the air: its playlist works.', hasStream: true },
    'stream.idle': {
      meaning: 'The stream is off the air: its playlist no longer works.',
      hasStream: { isActive: false },
    },
    'session.started': {
      meaning: 'Only for plugins: a session is on the air, for the first time or again.',
      webhooks: false,
    },
    'session.idle': {
      meaning: 'Only for plugins: a session is off the air, and may come back.',
      webhooks: false,
    },
    'session.over': {
      meaning: 'Only for plugins: a session that was on the air is over and cannot come back.',
      webhooks: false,
    },
  },
  orders: {
    'order.publish.close': (order: { token: string; reason: string }, kit) =>
      kit.use(services.media).close(order.token, order.reason),
    'order.output.retire': ({ playbackId, publish }: { playbackId: string; publish?: number }, kit) =>
      kit.use(services.media).retire(playbackId, publish === undefined ? {} : { upTo: publish - 1 }),
  },
  lostNode,
  faults: {
    'stream.not_found': { status: 404, meaning: 'There is no stream or session of this id in your account.' },
    'stream.key_taken': { status: 409, meaning: 'Another stream has the key that a request brings along.' },
    'stream.too_many': {
      status: 403,
      meaning: 'The account has the maximum number of streams (plugins.streams.maxStreams).',
    },
    'session.not_found': { status: 404, meaning: 'There is no session of this id in your account.' },
    'stream.session_read_only': { status: 400, meaning: 'Sessions cannot be changed; change the parent.' },
    'playback.not_live': { status: 404, meaning: 'Nothing is being broadcast at this URL right now.' },
    'playback.not_recorded': {
      status: 404,
      meaning: 'This broadcast is not recorded, or nothing is recorded yet. Without dvr=1 it plays live.',
    },
    'playback.not_soon': {
      status: 400,
      meaning: '_HLS_msn and _HLS_part are not whole numbers, or name a part too far in the future.',
    },
    'playback.too_many_waiting': {
      status: 503,
      meaning: 'Too many requests wait for media, or no media arrives.',
    },
  },
  routes,
  nodeRoutes: (kit) => new Elysia().use(internalHls(kit)).use(internalRefused(kit)),
  async start(kit: StreamsKit) {
    const live = livePublisher(kit);
    const shown = kit.resources.fields(stream);
    kit.provide(refusedPublishes, new RefusedPublishes());
    kit.provide(streams, {
      async setFields(principal, { id, fields }) {
        const document = await parent(principal, { id, kit });
        await changeStream(document, { body: fields, principal, kit });
      },
      find: async (principal, id) => stateOf(await owned(principal, { id, kit }), shown),
      describe: describer(kit),
      async current(id) {
        const document = await stored(id, kit);
        return document && stateOf(document, shown);
      },
      async noteRecording(streamId, note) {
        await kit.actors.ask(broadcast, streamId, { type: 'recording', ...note }).catch(unlessRefused);
      },
      observe: live.observe,
    });
    if (!kit.deployment.nodes.own.roles.includes('media')) return () => live.stop();
    const close = await acceptPublishes(kit, { admitted: live.wake });
    return async () => {
      live.stop();
      await close();
    };
  },
});

async function stored(id: string, { resources }: StreamsKit): Promise<StreamDocument | undefined> {
  const row = await resources.get('stream', id);
  return row && documentOf(row);
}

function describer(kit: StreamsKit): Streams['describe'] {
  const fields = kit.resources.fields(stream);
  return async (id) => {
    const document = await stored(id, kit);
    if (!document) return undefined;
    const state = await readLive(document, kit);
    const { publicUrl: baseUrl } = kit.deployment;
    const body = presentForEvent(document, { at: kit.clock.now(), fields, state, baseUrl });
    return { ...stateOf(document, fields), body };
  };
}

function stateOf(document: StreamDocument, shown: FieldSet): StreamState {
  const { id, account, parentId, streamKey, isActive, isOver = false, nodes = [] } = document;
  const { sessionId = null, feeder, incarnation, fields } = document;
  return {
    ...{ id, account, parentId, streamKey, isActive, isOver, nodes },
    sessionId: parentId === null ? sessionId : id,
    incarnation: feeder === undefined ? incarnation : (feeder?.incarnation ?? null),
    fields: shown.present(fields),
  };
}
