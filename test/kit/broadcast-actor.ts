import type { ActorType } from '../../core/plugin/actor.ts';
import { type BroadcastEvent, broadcastMachine } from '../../machines/broadcast.ts';
import type { StreamSettings } from '../../machines/broadcast-context.ts';
import { rowsOf } from '../../plugins/streams/document.ts';

/** The broadcast as the streams plugin runs it, with events that need no kit. */
export const bareBroadcast: ActorType<typeof broadcastMachine, undefined> = {
  type: 'broadcast',
  machine: broadcastMachine,
  version: 1,
  kinds: { stream: 'any' },
  rows: rowsOf,
  describe: (emitted, context) => ({
    account: emitted.type.startsWith('session.') ? '' : context.stream.account,
    stream: context.stream.id,
    body: { emitted, isActive: context.isActive },
  }),
};

export const settings: StreamSettings = {
  id: 'stream-1',
  account: 'account-1',
  name: 'A stream',
  streamKey: 'aaaa-bbbb-cccc-dddd',
  playbackId: '0123456789abcdef',
  createdAt: 1_000_000,
  createdByTokenName: 'bootstrap',
  suspended: false,
  holdSeconds: null,
  userTags: {},
  fields: { recordings: { record: false } },
};

type Command = BroadcastEvent extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;

export const publish = (token: string): Command & { type: 'publish' } => ({
  type: 'publish',
  streamKey: settings.streamKey,
  token,
  node: 'local',
  incarnation: 'i1',
  sessionId: `session-${token}`,
  busyKey: 'takeover',
  hold: 30_000,
  reconnectWindow: 360_000,
});

export const figures = (lastMediaAt: number) => ({
  bytes: 1000,
  segments: 2,
  duration: 4,
  lastMediaAt,
  targetDuration: 4,
});

/** A broadcast with a reconnect and a loss, whose media came at `began`: commands for a caller that repeats them. */
export const broadcastScript = (began: number): Command[] => [
  publish('p1'),
  { type: 'playable', token: 'p1', figures: figures(began) },
  { type: 'closed', token: 'p1', isClean: false, figures: figures(began) },
  publish('p2'),
  { type: 'playable', token: 'p2', figures: figures(began) },
  { type: 'closed', token: 'p2', isClean: true, figures: figures(began) },
  publish('p3'),
  { type: 'playable', token: 'p3', figures: figures(began) },
  { type: 'delete' },
];
