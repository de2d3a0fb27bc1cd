import { type AssetTerms, streams } from '../../sdk/plugin.ts';
import { fieldsOf } from './assets.ts';
import type { MuxKit } from './config.ts';
import type { MuxFields } from './fields.ts';
import { newPlaybackIds, policyFor } from './playback-ids.ts';
import { type NewAssetSettings, policiesIn } from './settings.ts';

/** What the recording of a live stream has of the `new_asset_settings` of the stream. */
export function recordingTerms(kit: MuxKit): AssetTerms {
  return async ({ source }) => {
    const of = await settingsOf(source, kit);
    if (!of) return {};
    const { settings, streamId } = of;
    const mux: MuxFields = {
      playbackIds: newPlaybackIds(policiesIn(settings)),
      ...fieldsOf(settings),
      liveStreamId: streamId,
    };
    return { mux };
  };
}

/** Who may watch it: as long as it has no playback id, nobody. */
export function recordingPolicy(kit: MuxKit): AssetTerms {
  return async ({ source }) => {
    const of = await settingsOf(source, kit);
    return of ? { playbackPolicy: policyFor(newPlaybackIds(policiesIn(of.settings))) } : {};
  };
}

/** Undefined for what was not broadcast to a live stream of Mux. */
async function settingsOf(
  source: Parameters<AssetTerms>[0]['source'],
  kit: MuxKit,
): Promise<{ readonly settings: NewAssetSettings; readonly streamId: string } | undefined> {
  if (source.type !== 'recording') return undefined;
  const session = await kit.use(streams).describe(source.sessionId);
  const mux = session?.fields.mux as MuxFields | undefined;
  if (!mux || !session?.parentId) return undefined;
  return { settings: (mux.newAssetSettings ?? {}) as NewAssetSettings, streamId: session.parentId };
}
