import { expect, test } from 'vitest';
import {
  AUDIO_AAC,
  AUDIO_OPUS,
  AudioMessage,
  NOTHING,
  OTHER_TRACK,
  VIDEO_AV1,
  VIDEO_AVC,
  VIDEO_HEVC,
  VideoMessage,
} from '../../runtime/media/flv/message.ts';

const code = (text: string) => [...text].map((char) => char.charCodeAt(0));
const NAMES = ['nothing', 'header', 'frame', 'other track'];

/** What is read of a body that lies somewhere in an arena. */
function video(body: number[]) {
  const message = new VideoMessage();
  message.read(Uint8Array.from([9, 9, 9, ...body, 8, 8, 8, 8]), 3, 3 + body.length);
  const { kind, codec, at, end, cts, isKey } = message;
  return { kind: NAMES[kind], codec, body: kind === NOTHING ? [] : body.slice(at - 3, end - 3), cts, isKey };
}
function audio(body: number[]) {
  const message = new AudioMessage();
  message.read(Uint8Array.from([9, 9, 9, ...body, 8, 8, 8, 8]), 3, 3 + body.length);
  const { kind, codec, at, end } = message;
  return { kind: NAMES[kind], codec, body: kind === NOTHING ? [] : body.slice(at - 3, end - 3) };
}

const [avc1, hvc1, av01, Opus, mp4a] = ['avc1', 'hvc1', 'av01', 'Opus', 'mp4a'].map(code);

test.each([
  ['old header', [0x17, 0, 0, 0, 0, 1, 2], { kind: 'header', codec: VIDEO_AVC, body: [1, 2] }],
  ['old key frame', [0x17, 1, 0, 0, 66, 7], { kind: 'frame', isKey: true, cts: 66, body: [7] }],
  ['old, negative time', [0x27, 1, 0xff, 0xff, 0xbe, 7], { kind: 'frame', isKey: false, cts: -66 }],
  ['old end', [0x17, 2, 0, 0, 0], { kind: 'nothing' }],
  ['old H.265', [0x1c, 1, 0, 0, 33, 7], { kind: 'frame', codec: VIDEO_HEVC, cts: 33, body: [7] }],
  ['old command', [0x57, 1, 0, 0, 0, 0], { kind: 'nothing' }],
  ['other codec', [0x12, 0], { kind: 'frame', codec: 2 }],
  ['start', [0x90, ...hvc1, 1, 2], { kind: 'header', codec: VIDEO_HEVC, isKey: true, body: [1, 2] }],
  ['coded', [0xa1, ...hvc1, 0, 0, 40, 5, 6], { kind: 'frame', isKey: false, cts: 40, body: [5, 6] }],
  ['coded, negative', [0xa1, ...avc1, 0xff, 0xff, 0xff, 5], { kind: 'frame', cts: -1, body: [5] }],
  ['coded X', [0xa3, ...avc1, 5, 6], { kind: 'frame', codec: VIDEO_AVC, cts: 0, body: [5, 6] }],
  ['AV1 has no time', [0x91, ...av01, 1, 2, 3], { kind: 'frame', codec: VIDEO_AV1, cts: 0, body: [1, 2, 3] }],
  ['AV1 delimiter', [0x91, ...av01, 0x12, 0, 0x0a], { kind: 'frame', body: [0x0a] }],
  ['end', [0x92, ...avc1], { kind: 'nothing' }],
  ['metadata', [0x94, ...hvc1, 2, 0], { kind: 'nothing' }],
  ['MPEG-2 start', [0x95, ...av01, 2, 0], { kind: 'nothing' }],
  ['command', [0xd1, 0], { kind: 'nothing' }],
  ['ModEx', [0x97, 2, 1, 2, 3, 0x01, ...hvc1, 0, 0, 9, 5], { kind: 'frame', cts: 9, body: [5] }],
  ['ModEx twice', [0x97, 0, 1, 0x07, 0, 1, 0x03, ...avc1, 5], { kind: 'frame', body: [5] }],
  ['ModEx, long', [0x97, 255, 0, 2, 1, 2, 3, 0x03, ...avc1, 5], { kind: 'frame', body: [5] }],
  ['one track', [0x96, 0x03, ...avc1, 0, 5, 6], { kind: 'frame', codec: VIDEO_AVC, body: [5, 6] }],
  ['one other track', [0x96, 0x03, ...avc1, 1, 5, 6], { kind: 'other track' }],
  [
    'many tracks',
    [0x96, 0x13, ...avc1, 1, 0, 0, 2, 9, 9, 0, 0, 0, 1, 5, 2, 0, 0, 1, 7],
    { kind: 'frame', body: [5] },
  ],
  [
    'many codecs',
    [0x96, 0x20, ...avc1, 1, 0, 0, 2, 9, 9, ...hvc1, 0, 0, 0, 1, 5],
    { kind: 'header', codec: VIDEO_HEVC, body: [5] },
  ],
])('video: %s', (_name, body, expected) => {
  expect(video(body)).toMatchObject(expected);
});

test.each([
  ['old header', [0xaf, 0, 0x11, 0x90], { kind: 'header', codec: AUDIO_AAC, body: [0x11, 0x90] }],
  ['old frame', [0xaf, 1, 7], { kind: 'frame', body: [7] }],
  ['MP3', [0x2f, 7], { kind: 'frame', codec: 2 }],
  ['start', [0x90, ...Opus, 1], { kind: 'header', codec: AUDIO_OPUS, body: [1] }],
  ['coded', [0x91, ...mp4a, 1, 2], { kind: 'frame', codec: AUDIO_AAC, body: [1, 2] }],
  ['end', [0x92, ...Opus], { kind: 'nothing' }],
  ['channels', [0x94, ...Opus, 1, 2, 3], { kind: 'nothing' }],
  ['one track', [0x95, 0x01, ...Opus, 0, 5], { kind: 'frame', codec: AUDIO_OPUS, body: [5] }],
  ['other track', [0x95, 0x01, ...Opus, 2, 5], { kind: 'other track' }],
])('audio: %s', (_name, body, expected) => {
  expect(audio(body)).toMatchObject(expected);
});

test('whatever the bytes, what is read lies inside the message', () => {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const readers = { video: new VideoMessage(), audio: new AudioMessage() };
  for (let round = 0; round < 50_000; round += 1) {
    const bytes = Uint8Array.from({ length: 4 + random(40) }, () => random(round % 2 ? 8 : 256));
    // Most of them enhanced, so that the longer paths are walked.
    const [start, end] = [2, bytes.length - 2];
    for (const [kind, message] of Object.entries(readers)) {
      bytes[start] = (kind === 'video' ? 0x80 : 0x90) | random(random(2) ? 8 : 128);
      message.read(bytes, start, end);
      if (message.kind === NOTHING || message.kind === OTHER_TRACK || message.codec < 16) continue;
      expect(message.at).toBeGreaterThan(start);
      expect(message.at).toBeLessThanOrEqual(end);
      expect(message.end).toBeLessThanOrEqual(end);
      expect(message.end).toBeGreaterThanOrEqual(message.at);
    }
  }
});
