import type { Client } from '../../sdk/client/index.ts';
import { type Here, type HereAsset, type HereStream, keyTag, originTag } from './plan.ts';

/** Reads what earlier runs have made: all pages of what has the tag of an origin, of webhooks and of aliases. */
export async function readHere(client: Client): Promise<Here> {
  const assets = new Map<string, HereAsset>();
  const streams = new Map<string, HereStream>();
  const webhooks = new Set<string>();
  const aliases = new Map<string, string>();
  const query = { limit: 100 };
  for await (const page of client.pages('listAssets', { query }))
    for (const { id, playbackId, status, userTags } of page) {
      const tag = userTags[originTag];
      // Of two, the one that plays.
      if (typeof tag === 'string' && assets.get(tag)?.status !== 'ready')
        assets.set(tag, { id, playbackId, status });
    }
  for await (const page of client.pages('listStreams', { query: { ...query, streamsonly: true } }))
    for (const { id, playbackId, userTags } of page) {
      const tag = userTags[originTag];
      if (typeof tag === 'string') streams.set(tag, { id, playbackId, hasKey: userTags[keyTag] === true });
    }
  for await (const page of client.pages('listWebhooks', { query }))
    for (const { name } of page) webhooks.add(name);
  for await (const page of client.pages('listAliases', { query }))
    for (const { alias, playbackId } of page) aliases.set(alias, playbackId);
  return { assets, streams, webhooks, aliases };
}
