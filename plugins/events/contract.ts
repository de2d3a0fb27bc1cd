import type { DeclaredEvent } from '../../core/plugin/events.ts';

/** Every event of the product that clients can name, whether or not the enabled plugins emit it. */
export const eventNames: ReadonlySet<string> = new Set([
  ...['stream.started', 'stream.idle', 'stream.health'],
  ...['recording.started', 'recording.waiting', 'recording.ready'],
  ...['multistream.connected', 'multistream.error', 'multistream.disconnected'],
  ...['asset.created', 'asset.updated', 'asset.ready', 'asset.failed', 'asset.deleted'],
  ...['task.spawned', 'task.updated', 'task.completed', 'task.failed'],
  'playback.refused',
  'plugin.reaction_parked',
]);

/** Those that enabled plugins emit, for documents. A client may name the others too: a plugin may be on again tomorrow. */
export function emittedEvents(declared: readonly DeclaredEvent[]): string[] {
  return declared.filter(({ isForClients }) => isForClients).map(({ type }) => type);
}

/** Every event of the product, and what other enabled plugins emit for clients. */
export function knownEvents(declared: readonly DeclaredEvent[]): ReadonlySet<string> {
  return new Set([...eventNames, ...emittedEvents(declared)]);
}
