import { object, optional, Type } from '../../sdk/plugin.ts';
import { present } from './api.ts';
import type { NativeAsset } from './asset.ts';

export const inputInfoSchema = Type.Array(
  object({
    settings: object({ url: optional.string() }),
    file: Type.Optional(
      object({
        container_format: Type.String(),
        tracks: Type.Array(
          object({
            ...{ type: Type.String(), encoding: optional.string(), duration: optional.number() },
            ...{ width: optional.number(), height: optional.number(), frame_rate: optional.number() },
            ...{ channels: optional.number(), sample_rate: optional.number() },
          }),
        ),
      }),
    ),
  }),
);

/** The file that an asset was made of: what is in it, and where it came from, without secrets. */
export function inputInfo({ source, videoSpec }: NativeAsset): unknown[] {
  const file = videoSpec && {
    container_format: videoSpec.format,
    tracks: (videoSpec.tracks ?? []).map(
      ({ type, codec, duration, width, height, fps, channels, sampleRate }) =>
        present({
          type,
          encoding: codec,
          duration,
          width,
          height,
          frame_rate: fps,
          channels,
          sample_rate: sampleRate,
        }),
    ),
  };
  return [{ settings: present({ url: source.url }), ...(file && { file }) }];
}
