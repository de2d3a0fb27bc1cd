import { Type } from '@sinclair/typebox';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { Derivation } from '../../core/plugin/resource.ts';
import { assetResource } from '../assets/contract.ts';
import { stream } from '../streams/contract.ts';
import { cuesName, thumbnailName } from './films.ts';

const example = 'https://video.example.com';
const link = (description: string, path: string) =>
  Type.String({ description, examples: [`${example}${path}`] });

/** The addresses are shown even without ffmpeg: another node may have it, and one that is installed later is found by itself. */
export const streamFields: Derivation<Kit> = {
  resource: stream,
  schemas: {
    thumbnailUrl: link(
      'While active: a current picture, a public JPEG.',
      `/hls/6pukxh2m0ydr9h3q/${thumbnailName}`,
    ),
  },
  of({ isActive, playbackId }, { caller }) {
    if (isActive !== true) return undefined;
    return { values: { thumbnailUrl: `${caller.baseUrl}/hls/${playbackId}/${thumbnailName}` } };
  },
};

/** Of assets that are ready, have pictures, and can be cut. */
export const assetFields: Derivation<Kit> = {
  resource: assetResource,
  schemas: {
    thumbnailUrl: link(
      'When ready and playable over HLS: a public JPEG; `?time=` is the moment in seconds.',
      `/asset/6pukxh2m0ydr9h3q/${thumbnailName}`,
    ),
    storyboardUrl: link(
      'Likewise: WebVTT with pictures of the whole film on one sheet, for the seek bar of a player.',
      `/asset/6pukxh2m0ydr9h3q/${cuesName}`,
    ),
  },
  of({ playbackUrl, playbackId, videoSpec }, { caller }) {
    if (playbackUrl === undefined || !hasVideo(videoSpec)) return undefined;
    const base = `${caller.baseUrl}/asset/${playbackId}`;
    return { values: { thumbnailUrl: `${base}/${thumbnailName}`, storyboardUrl: `${base}/${cuesName}` } };
  },
};

function hasVideo(spec: unknown): boolean {
  const { tracks = [] } = (spec ?? {}) as { tracks?: readonly { type: string }[] };
  return tracks.some(({ type }) => type === 'video');
}
