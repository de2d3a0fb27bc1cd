import { webhookLimits } from './limits.ts';

/** Every event of the product, whether or not the enabled plugins emit it yet. */
export const eventNames: ReadonlySet<string> = new Set([
  ...['stream.started', 'stream.idle', 'stream.health'],
  ...['recording.started', 'recording.waiting', 'recording.ready'],
  ...['multistream.connected', 'multistream.error', 'multistream.disconnected'],
  ...['asset.created', 'asset.updated', 'asset.ready', 'asset.failed', 'asset.deleted'],
  ...['task.spawned', 'task.updated', 'task.completed', 'task.failed'],
]);

/** What is wrong with names of events, or undefined. Repeats a few of the unknown ones, shortened. */
export function eventProblem(names: readonly string[]): string | undefined {
  const unknown = [...new Set(names)].filter((name) => !eventNames.has(name));
  if (unknown.length === 0) return undefined;
  const { namedUnknown: most, namedLength: length } = webhookLimits;
  const shown = unknown.slice(0, most).map((name) => JSON.stringify(name.slice(0, length)));
  const more = unknown.length > most ? ` and ${unknown.length - most} more` : '';
  return `there is no event ${shown.join(', ')}${more}; the events are ${[...eventNames].join(', ')}`;
}
