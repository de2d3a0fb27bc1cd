import type { H264Settings } from '../ffmpeg/h264.ts';

/**
 * The encoder of the deployment (`renditions.encoder`), for films too. Not that of VAAPI, which takes pictures from the memory of
 * a graphics processor alone: nothing here waits for a film, so that is encoded by libx264.
 */
export function encoderOf({
  encoder,
  preset,
}: {
  readonly encoder: string;
  readonly preset?: string;
}): H264Settings {
  const isX264 = encoder === 'libx264';
  if (encoder === 'h264_vaapi') return { encoder: 'libx264', preset: 'veryfast' };
  return { encoder, preset: preset ?? (isX264 ? 'veryfast' : undefined) };
}
