// biome-ignore lint/suspicious/noExplicitAny: objects as our routes answer them
type Shown = Record<string, any>;

/** A stream or session as Studio shows it: times are in milliseconds. */
export function streamShown({ createdAtMs, createdAt, ...stream }: Shown): Shown {
  return { ...common(stream), createdAt: createdAtMs ?? createdAt * 1000 };
}

/** An asset, whose status is an object. */
export function assetShown({ status, statusMessage, source, ...asset }: Shown): Shown {
  const { tracks } = asset.videoSpec ?? {};
  return {
    ...common(asset),
    ...(tracks && { type: tracks.some(({ type }: Shown) => type === 'video') ? 'video' : 'audio' }),
    source: sourceShown(source),
    status: {
      ...{ phase: status, updatedAt: asset.updatedAt },
      ...(status === 'failed' && { errorMessage: statusMessage }),
    },
  };
}

/** Clients of Studio take no other types. */
function sourceShown({ type, inputAssetId, ...source }: Shown): Shown {
  return type === 'transcode' ? { type: 'directUpload', assetId: inputAssetId } : { type, ...source };
}

const taskTypes: Readonly<Record<string, string>> = {
  import: 'upload',
  recording: 'upload',
  transcode: 'transcode-file',
};

/** A task: Studio has one type for all that brings a file. */
export function taskShown({ type, params, output, ...task }: Shown): Shown {
  const shown = taskTypes[type] ?? type;
  const given = params?.[type];
  const { assetSpec: _, ...made } = output?.[type] ?? {};
  return {
    ...task,
    ...(shown !== undefined && { type: shown }),
    ...(given && { params: { [shown]: type === 'transcode' ? { profiles: [given.profile] } : given } }),
    ...(output && { output: { [shown]: made } }),
  };
}

/** Clients of Studio take no other events. */
export const studioEvents: ReadonlySet<string> = new Set([
  ...['stream.started', 'stream.idle', 'recording.started', 'recording.waiting', 'recording.ready'],
  ...['multistream.connected', 'multistream.error', 'multistream.disconnected'],
  ...['asset.created', 'asset.updated', 'asset.ready', 'asset.failed', 'asset.deleted'],
  ...['task.spawned', 'task.updated', 'task.completed', 'task.failed'],
]);

export function webhookShown({ events, format: _, ...webhook }: Shown): Shown {
  return { ...webhook, events: events.filter((event: string) => studioEvents.has(event)) };
}

/** A signing key: its halves are base64 of PEM. Those with a JWKS URL have none. */
export function keyShown({ publicKey, privateKey, ...key }: Shown): Shown {
  return {
    ...{ ...key, publicKey: publicKey === undefined ? '' : base64(publicKey) },
    ...(privateKey !== undefined && { privateKey: base64(privateKey) }),
  };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

function common({ creatorId, playbackPolicy, ...shown }: Shown): Shown {
  return {
    ...shown,
    ...(creatorId && { creatorId: { type: 'unverified', value: creatorId } }),
    ...(playbackPolicy && { playbackPolicy: policyShown(playbackPolicy) }),
  };
}

function policyShown({ type, allowedOrigins }: Shown): Shown {
  return { type: type === 'signed' ? 'jwt' : type, ...(allowedOrigins && { allowedOrigins }) };
}
