import type { DeclaredEvent } from '../../core/plugin/events.ts';

/** Every event of the product that clients can name, whether or not the enabled plugins emit it. */
export const eventNames: ReadonlySet<string> = new Set([
  ...['stream.started', 'stream.idle', 'stream.health'],
  ...['recording.started', 'recording.waiting', 'recording.ready'],
  ...['multistream.connected', 'multistream.error', 'multistream.disconnected'],
  ...['asset.created', 'asset.updated', 'asset.ready', 'asset.failed', 'asset.deleted'],
  ...['task.spawned', 'task.updated', 'task.completed', 'task.failed'],
  'plugin.reaction_parked',
]);

/** The same, and what other enabled plugins emit for clients. */
export function knownEvents(declared: readonly DeclaredEvent[]): ReadonlySet<string> {
  const others = declared.filter(({ isForClients }) => isForClients).map(({ type }) => type);
  return new Set([...eventNames, ...others]);
}
