/** What an event says, and the page of what it is about. */
export function eventText({ event, stream, payload = {} }) {
  const { asset, task, target, session, health } = payload;
  const name = task?.name ?? asset?.name ?? stream?.name ?? session?.name ?? '';
  const detail = detailOf(event, { target, task, asset, health, error: payload.error ?? payload.reason });
  const about = task
    ? `/dashboard/task/${task.id}`
    : asset
      ? `/dashboard/asset/${asset.id}`
      : stream
        ? `/dashboard/stream/${stream.id}`
        : payload.assetId && `/dashboard/asset/${payload.assetId}`;
  return { name, detail, about };
}

function detailOf(event, { target, task, asset, health, error }) {
  if (target) return error ? `${target.name}: ${error}` : target.name;
  if (health) return health.isHealthy ? 'healthy again' : health.issues[0];
  if (event === 'playback.refused') return error;
  if (event === 'task.failed') return task?.status.errorMessage;
  if (event === 'asset.failed') return asset?.statusMessage;
  return task ? `${task.type}, ${task.status.phase}` : undefined;
}

/** Sign and colour of an event, as `Dot` has them. */
export function kindOfEvent({ event, payload }) {
  if (event.endsWith('.failed') || event.endsWith('.error')) return 'bad';
  if (event === 'stream.health') return payload?.health?.isHealthy ? 'good' : 'warn';
  if (event === 'playback.refused') return 'warn';
  if (event === 'stream.started') return 'on-air';
  return event.endsWith('.ready') || event.endsWith('.completed') || event.endsWith('.connected')
    ? 'good'
    : 'quiet';
}
