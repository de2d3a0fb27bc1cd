import { expect, it } from 'vitest';
import { encoderOf } from '../../runtime/media/transcode/command.ts';

it.each([
  [{ encoder: 'libx264' }, { encoder: 'libx264', preset: 'veryfast' }],
  [
    { encoder: 'libx264', preset: 'slow' },
    { encoder: 'libx264', preset: 'slow' },
  ],
  [{ encoder: 'h264_nvenc' }, { encoder: 'h264_nvenc', preset: undefined }],
  // Its preset is in the words of another encoder.
  [
    { encoder: 'h264_vaapi', preset: '7' },
    { encoder: 'libx264', preset: 'veryfast' },
  ],
])('films are encoded for %j by %j', (config, settings) => {
  expect(encoderOf(config)).toEqual(settings);
});
