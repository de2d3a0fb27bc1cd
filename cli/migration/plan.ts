import type { OldAsset, OldStream, OldWebhook } from './source.ts';

/** Name of the tag by which a moved thing is found again; its value is `mux/<id>`. */
export const originTag = 'migratedFrom';
/** Of a stream that has the key which it had: later runs leave its key alone. */
export const keyTag = 'migratedKey';
const mostNameCharacters = 500;

/** What the server has of earlier runs. */
export interface Here {
  readonly assets: ReadonlyMap<string, HereAsset>;
  readonly streams: ReadonlyMap<string, HereStream>;
  /** Names of webhooks. */
  readonly webhooks: ReadonlySet<string>;
  /** Alias → playback id. */
  readonly aliases: ReadonlyMap<string, string>;
}

export interface HereAsset {
  readonly id: string;
  readonly playbackId: string;
  readonly status: 'waiting' | 'ready' | 'failed';
}

export interface HereStream {
  readonly id: string;
  readonly playbackId: string;
  /** Its key was set. */
  readonly hasKey: boolean;
}

export type AssetPlan =
  | { readonly step: 'none'; readonly reason: string }
  | { readonly step: 'make'; readonly aliases: readonly string[] }
  /** It failed in an earlier run. */
  | { readonly step: 'replace'; readonly asset: HereAsset; readonly aliases: readonly string[] }
  /** It is there; perhaps its import, or an alias, is missing. */
  | { readonly step: 'finish' | 'nothing'; readonly asset: HereAsset; readonly aliases: readonly string[] };

export function planAsset(old: OldAsset, { tag, here }: { tag: string; here: Here }): AssetPlan {
  const asset = here.assets.get(tag);
  const aliases = missingAliases(old.names, { playbackId: asset?.playbackId, here });
  // What came over stays, even if the old one is gone meanwhile.
  if (asset && asset.status !== 'failed') {
    const isDone = asset.status === 'ready' && aliases.length === 0;
    return { step: isDone ? 'nothing' : 'finish', asset, aliases };
  }
  if (old.problem !== undefined) return { step: 'none', reason: old.problem };
  return asset ? { step: 'replace', asset, aliases: [...old.names] } : { step: 'make', aliases };
}

export interface StreamPlan {
  readonly step: 'make' | 'finish' | 'nothing';
  readonly stream?: HereStream;
  readonly aliases: readonly string[];
  /** The key that it gets. */
  readonly key?: string;
}

export function planStream(old: OldStream, { tag, here }: { tag: string; here: Here }): StreamPlan {
  const stream = here.streams.get(tag);
  const aliases = missingAliases(old.names, { playbackId: stream?.playbackId, here });
  const key = old.streamKey !== undefined && !stream?.hasKey ? { key: old.streamKey } : {};
  if (!stream) return { step: 'make', aliases, ...key };
  const isDone = aliases.length === 0 && key.key === undefined;
  return { step: isDone ? 'nothing' : 'finish', stream, aliases, ...key };
}

/** Events that this platform has, by the names that Livepeer gives them too. */
const events = [
  ...['stream.started', 'stream.idle', 'recording.started', 'recording.waiting', 'recording.ready'],
  ...['multistream.connected', 'multistream.error', 'multistream.disconnected'],
  ...['asset.created', 'asset.updated', 'asset.ready', 'asset.failed', 'asset.deleted'],
  ...['task.spawned', 'task.updated', 'task.completed', 'task.failed'],
] as const;
export type KnownEvent = (typeof events)[number];

export type WebhookPlan =
  | { readonly step: 'none'; readonly reason: string }
  | {
      readonly step: 'make' | 'nothing';
      readonly name: string;
      readonly events: readonly KnownEvent[];
      readonly notes: readonly string[];
    };

export function planWebhook(old: OldWebhook, { tag, here }: { tag: string; here: Here }): WebhookPlan {
  const suffix = ` (${tag})`;
  const name = nameOf(old.name, mostNameCharacters - suffix.length) + suffix;
  const wanted = new Set(old.events);
  const known = events.filter((event) => wanted.delete(event));
  if (here.webhooks.has(name)) return { step: 'nothing', name, events: known, notes: [] };
  if (old.problem !== undefined) return { step: 'none', reason: old.problem };
  if (known.length === 0) return { step: 'none', reason: 'it has no event that Millrace has' };
  const notes = [...old.notes, ...[...wanted].map((event) => `there is no event ${event.slice(0, 60)}`)];
  return { step: 'make', name, events: known, notes };
}

/** As a name may be here: `nameSchema` of core/base/name.ts. */
export function nameOf(name: string, most = mostNameCharacters): string {
  const text = name.toWellFormed().replaceAll('\u0000', '').slice(0, most).toWellFormed();
  return text === '' ? 'without a name' : text;
}

function missingAliases(
  names: readonly string[],
  { playbackId, here }: { playbackId: string | undefined; here: Here },
): readonly string[] {
  return names.filter((name) => playbackId === undefined || here.aliases.get(name) !== playbackId);
}
