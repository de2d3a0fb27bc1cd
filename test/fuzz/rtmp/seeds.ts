import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AAC_48000_STEREO, AVC_360P, audioHeader, frame, sound, videoHeader } from '../../hls/feed.ts';
import {
  audio,
  chunk,
  command,
  connect,
  createStream,
  handshake,
  message,
  pattern,
  publish,
  video,
} from '../../rtmp/kit.ts';

/** The stream key in every session here. */
export const seedKey = 'fuzz-key';

/** Whole sessions as an encoder sends them: recorded ones (`record.ts`), and what no encoder here says. */
export function seeds(): Uint8Array[] {
  const folder = join(import.meta.dirname, 'seeds');
  return [
    ...readdirSync(folder)
      .sort()
      .map((name) => new Uint8Array(readFileSync(join(folder, name)))),
    ...[ordinary(), busy(), stubborn(), librtmp(), enhanced()].map((bytes) => Uint8Array.from(bytes)),
  ];
}

/** Like OBS: chunks of 4096, the FMLE commands, fmt 1 and 3 for all but the first message of a track. */
export function librtmp(): number[] {
  const out = [
    ...handshake,
    ...message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [0, 0, 16, 0]),
    ...command([
      'connect',
      1,
      {
        app: 'live',
        type: 'nonprivate',
        flashVer: 'FMLE/3.0 (compatible; FMSc/1.0)',
        tcUrl: 'rtmp://a/live',
      },
    ]),
    ...message({ fmt: 0, csid: 2, type: 5, stream: 0 }, [0, 38, 37, 160]),
    ...command(['releaseStream', 2, null, seedKey]),
    ...command(['FCPublish', 3, null, seedKey]),
    ...command(['createStream', 4, null]),
    ...command(['_checkbw', 5, null]),
    ...command(['publish', 6, null, seedKey, 'live'], { stream: 1 }),
    ...command(
      ['@setDataFrame', 'onMetaData', { width: 640, height: 360, framerate: 30, audiocodecid: 10 }],
      {
        type: 18,
        stream: 1,
      },
    ),
  ];
  const put = (first: boolean, csid: number, type: number, time: number, body: Uint8Array) =>
    out.push(...message({ fmt: first ? 0 : 1, csid, type, time }, body, { chunkSize: 4096 }));
  put(true, 4, 9, 0, videoHeader(AVC_360P));
  put(false, 4, 8, 0, audioHeader(AAC_48000_STEREO));
  for (let index = 0; index < 12; index += 1) {
    put(
      false,
      4,
      9,
      index === 0 ? 0 : 33,
      frame({ isKey: index % 6 === 0, size: index % 6 === 0 ? 5000 : 300 }),
    );
    put(false, 4, 8, 0, sound());
  }
  out.push(...command(['FCUnpublish', 7, null, seedKey]), ...command(['deleteStream', 8, null, 1]));
  return out;
}

/** Enhanced RTMP: HEVC, AV1 and Opus by FourCC, multitrack and metadata packets. */
function enhanced(): number[] {
  const four = (code: string) => [...Buffer.from(code)];
  const start = [...handshake, ...connect, ...createStream, ...publish(seedKey)];
  const tracks = ['hvc1', 'av01', 'vp09'].flatMap((code) => [
    ...video([0x90, ...four(code), ...pattern(60)], 0),
    ...video([0x91, ...four(code), 0, 0, 0, ...pattern(500)], 33),
    ...video([0xa3, ...four(code), ...pattern(200)], 66),
    ...video([0x94, ...four(code), ...pattern(30)], 70),
  ]);
  const opus = [
    ...audio([0x90, ...four('Opus'), ...Buffer.from('OpusHead'), 1, 2, 56, 1, 128, 187, 0, 0, 0, 0, 0], 0),
    ...audio([0x91, ...four('Opus'), ...pattern(80)], 20),
    ...audio([0x94, ...four('Opus'), ...pattern(8)], 40),
    ...audio([0x95, 0x10, ...four('mp4a'), 0, ...pattern(20)], 60),
  ];
  return [...start, ...opus, ...tracks, ...command(['closeStream', 0, null], { stream: 1 })];
}

export function ordinary(): number[] {
  const media = Array.from({ length: 8 }, (_, index) => [
    ...video(pattern(400, index), index * 33),
    ...audio(pattern(90, index), index * 23),
  ]);
  return [
    ...handshake,
    ...connect,
    ...command(['releaseStream', 2, null, seedKey]),
    ...command(['FCPublish', 3, null, seedKey]),
    ...createStream,
    ...publish(seedKey),
    ...command(['@setDataFrame', 'onMetaData', { width: 1280, height: 720, list: [1, 2, { a: null }] }], {
      stream: 1,
      type: 18,
    }),
    ...media.flat(),
    ...command(['FCUnpublish', 6, null, seedKey]),
    ...command(['deleteStream', 7, null, 1]),
  ];
}

/** Interleaving, every header, extended timestamps, Abort, chunk sizes. */
export function busy(): number[] {
  const size = (bytes: number) =>
    message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [0, 0, bytes >> 8, bytes & 0xff]);
  return [
    ...handshake,
    ...connect,
    ...createStream,
    ...publish(seedKey),
    ...chunk({ fmt: 0, csid: 6, length: 300, time: 0xffffff }, pattern(128)),
    ...chunk({ fmt: 0, csid: 70, length: 200, time: 1 }, pattern(128)),
    ...chunk({ fmt: 0, csid: 4, type: 8, length: 200, time: 1 }, pattern(128)),
    ...chunk({ fmt: 3, csid: 70 }, pattern(72)),
    ...chunk({ fmt: 3, csid: 6, time: 0xffffff, extended: true }, pattern(128)),
    ...message({ fmt: 0, csid: 2, type: 2, stream: 0 }, [0, 0, 0, 4]),
    ...chunk({ fmt: 3, csid: 6 }, pattern(44)),
    ...message({ fmt: 1, csid: 4, type: 8, time: 23 }, pattern(50)),
    ...message({ fmt: 2, csid: 4, type: 8, time: 23 }, pattern(50)),
    ...message({ fmt: 3, csid: 4 }, pattern(50)),
    ...size(1),
    ...message({ fmt: 0, csid: 400, type: 9, time: 5 }, pattern(40), { chunkSize: 1 }),
    ...size(4096).slice(0, 12),
    ...[0, 0xc2, 0, 0xc2, 16, 0xc2, 0],
    ...message({ fmt: 0, csid: 400, type: 9, time: 6 }, pattern(3000), { chunkSize: 4096 }),
    ...message({ fmt: 0, csid: 2, type: 4, stream: 0 }, [0, 6, 1, 2, 3, 4]),
  ];
}

/** Publishes, stops and publishes again, with media where none belongs. */
export function stubborn(): number[] {
  const end = command(['closeStream', 0, null], { stream: 1 });
  const round = [
    ...createStream,
    ...video(pattern(200)),
    ...publish(seedKey),
    ...audio(pattern(20)),
    ...video(pattern(200)),
    ...end,
  ];
  return [
    ...handshake,
    ...connect,
    ...round,
    ...round,
    ...round,
    ...publish(`${seedKey}?y=z`),
    ...publish('second'),
    ...video(pattern(200)),
  ];
}
