import { describe, expect, it } from 'vitest';
import { encodeAmf0, readAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { AV1_360P, HEVC_360P, OPUS_STEREO, send } from '../../hls/feed.ts';
import { type Broadcast, kindOf, order, Stage, settled } from './stage.ts';

const ONE = order('one');
const code = (text: string) => [...text].map((char) => char.charCodeAt(0));
const DATA = [0, 0, 0, 3, 0x26, 1, 2];

/** What an encoder sent that begins with these bodies, as a server received it. */
async function pushed(send: (broadcast: Broadcast) => void) {
  const stage = new Stage();
  const broadcast = stage.broadcast();
  broadcast.attach();
  broadcast.want(ONE);
  await settled();
  send(broadcast);
  await settled();
  await stage.pass(1000);
  expect(broadcast.fatal).toEqual([]);
  return stage.servers.last(ONE.url).messages();
}

const bodies = (messages: Awaited<ReturnType<typeof pushed>>, type: number) =>
  messages.filter((message) => message.type === type).map(({ body }) => [...body]);

describe('bodies of Enhanced RTMP', () => {
  it.each([
    ['hvc1', HEVC_360P, [0x91, ...code('hvc1'), 0, 0, 40, ...DATA]],
    ['hvc1', HEVC_360P, [0x93, ...code('hvc1'), ...DATA]],
    ['av01', AV1_360P, [0x91, ...code('av01'), 0x12, 0, 0x0a, 1, 2, 3]],
  ])('of %s are pushed as they came', async (name, record, frame) => {
    const header = [0x90, ...code(name), ...record];
    const sound = [0x91, ...code('Opus'), 0xfc, 1, 2, 3];
    const soundHeader = [0x90, ...code('Opus'), ...OPUS_STEREO];
    const messages = await pushed(({ sink }) => {
      send(sink, 9, 0, Uint8Array.from(header));
      send(sink, 8, 0, Uint8Array.from(soundHeader));
      send(sink, 9, 0, Uint8Array.from(frame));
      send(sink, 8, 5, Uint8Array.from(sound));
    });
    expect(bodies(messages, 9)).toEqual([header, frame]);
    expect(bodies(messages, 8)).toEqual([soundHeader, sound]);
    const [{ body }] = messages;
    const fourCc = (text: string) => Buffer.from(text).readUInt32BE();
    expect(readAmf0(body, 0, body.length)[2]).toMatchObject({
      ...{ width: 640, height: 360, videocodecid: fourCc(name) },
      ...{ audiocodecid: fourCc('Opus'), audiosamplerate: 48_000 },
    });
  });

  const NAME = code('hvc1');
  const KEY = [0x91, ...NAME, 0, 0, 40, ...DATA];
  const HEADER = [0x90, ...NAME, ...HEVC_360P];
  /** ModEx: two bytes of data, of an extension that nobody knows, before the packet type `type`. */
  const extended = (body: number[]) => [0x97, 1, 9, 9, 0x10 | (body[0] & 15), ...body.slice(1)];
  const oneTrack = (body: number[]) => [0x96, body[0] & 15, ...NAME, 0, ...body.slice(5)];
  const track = (number: number, bytes: number[]) => [
    number,
    0,
    bytes.length >> 8,
    bytes.length & 255,
    ...bytes,
  ];
  const manyTracks = (body: number[]) => [
    ...[0x96, 0x10 | (body[0] & 15), ...NAME],
    ...[...track(7, [1, 2, 3, 4]), ...track(0, body.slice(5)), ...track(3, [5, 6])],
  ];
  const manyCodecs = (body: number[]) => [
    ...[0x96, 0x20 | (body[0] & 15)],
    ...[...code('av01'), ...track(7, [1]), ...NAME, ...track(0, body.slice(5))],
  ];

  it.each([
    ['an extension', extended],
    ['one track', oneTrack],
    ['many tracks', manyTracks],
    ['many codecs', manyCodecs],
    ['both', (body: number[]) => extended(oneTrack(body))],
  ])('are plain, whatever came: %s', async (_, wrap) => {
    const messages = await pushed(({ sink }) => {
      send(sink, 9, 0, Uint8Array.from(wrap(HEADER)));
      send(sink, 9, 0, Uint8Array.from(wrap(KEY)));
      send(sink, 9, 40, Uint8Array.from([0xa1, ...KEY.slice(1)]));
    });
    expect(bodies(messages, 9)).toEqual([HEADER, KEY, [0xa1, ...KEY.slice(1)]]);
  });

  it('of sound are plain as well', async () => {
    const opus = code('Opus');
    const header = [0x90, ...opus, ...OPUS_STEREO];
    const frame = [0x91, ...opus, 0xfc, 1, 2, 3];
    const wrap = (body: number[]) => [0x95, body[0] & 15, ...opus, 0, ...body.slice(5)];
    const messages = await pushed((broadcast) => {
      const said = encodeAmf0([{ audiocodecid: 1 }]);
      broadcast.sink.onMetadata(readAmf0(said, 0, said.length));
      send(broadcast.sink, 8, 0, Uint8Array.from(wrap(header)));
      send(broadcast.sink, 8, 0, Uint8Array.from(wrap(frame)));
    });
    expect(bodies(messages, 8)).toEqual([header, frame]);
  });

  it('of other tracks, and what cannot be passed on, are left out', async () => {
    const messages = await pushed(({ sink }) => {
      send(sink, 9, 0, Uint8Array.from(HEADER));
      send(sink, 9, 0, Uint8Array.from(KEY));
      send(sink, 9, 20, Uint8Array.from([0x96, 1, ...NAME, 5, 0, 0, 0, 1, 2, 3]));
      send(sink, 9, 30, Uint8Array.from([0x22, 1, 2, 3, 4, 5]));
      send(sink, 8, 30, Uint8Array.from([0x22, 1, 2, 3, 4, 5]));
      send(sink, 9, 40, Uint8Array.from([0xa1, ...KEY.slice(1)]));
    });
    expect(messages.map(kindOf)).toHaveLength(4);
    expect(bodies(messages, 9)).toHaveLength(3);
  });
});
