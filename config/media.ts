import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../core/base/config-fields.ts';
import { mebibytes, port, section } from './sections.ts';

export const rtmp = section({
  host: Type.String({ default: '0.0.0.0', description: 'Address the RTMP server listens on.' }),
  port: port({ default: 1935, description: 'Port encoders connect to. 0: any free port.' }),
  tlsPort: Type.Optional(port({ description: 'Port for RTMPS; needs `tls`.' })),
  connectionsPerAddress: limitSchema({
    default: 500,
    unit: 'connections',
    description: 'RTMP connections of one address, or one /64 of IPv6. Further ones are closed at once.',
  }),
  connections: limitSchema({
    default: 10_000,
    unit: 'connections',
    description: 'RTMP connections in all. Further ones are closed at once.',
  }),
  publishTimeout: durationSchema({
    default: '10s',
    atLeast: '1s',
    description: 'Time an encoder has from connecting to publishing; then it is disconnected. At least 1s.',
  }),
  idleTimeout: durationSchema({
    default: '10s',
    atLeast: '1s',
    description:
      'How long an encoder may send nothing; then it is disconnected and its broadcast ends uncleanly. At least 1s.',
  }),
  messageSize: limitSchema({
    default: 10,
    // RTMP stores the length in 24 bits.
    maximum: 16,
    unit: 'MiB',
    description: 'Size of one RTMP message, which is one picture. A larger one ends the connection.',
  }),
});

export const tls = Type.Object(
  {
    cert: Type.String({ description: 'Path of the certificate chain, PEM.' }),
    key: Type.String({ description: 'Path of the private key, PEM.' }),
  },
  { additionalProperties: false },
);

export const hls = section({
  part: durationSchema({
    default: '350ms',
    atLeast: '200ms',
    atMost: '500ms',
    description:
      'Longest part of a segment, 200ms to 500ms. Viewers are three to four parts behind live; each part costs a request.',
  }),
  window: durationSchema({
    default: '12s',
    atLeast: '12s',
    description: 'Length of a live playlist, at least 12s. From 26s on playlists are updated by deltas.',
  }),
  waitingRequests: limitSchema({
    default: 20_000,
    unit: 'requests',
    description: 'Blocked playlist and part requests of one stream. Further ones get 503 with `Retry-After`.',
  }),
  memory: mebibytes(
    64,
    'Memory of live media in all. Beyond it new broadcasts are refused and growing ones ended. Default: half of the memory of the machine.',
  ),
});

export const recording = section({
  queue: limitSchema({
    default: 64,
    unit: 'MiB',
    description:
      'Media of all recordings that waits for the disk. Beyond it parts are left out of a recording up to the next key frame.',
  }),
  queuePerTake: limitSchema({ default: 16, unit: 'MiB', description: 'The same for one recording.' }),
  sync: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description:
      'How often a growing recording is synced: a power failure loses at most this much. A crash of the process loses at most a second.',
  }),
  reserve: limitSchema({
    default: 512,
    unit: 'MiB',
    description:
      'Disk space that recordings leave free for the database. Below it nothing is recorded, and `issues` of the stream say so.',
  }),
  uploads: limitSchema({
    default: 4,
    unit: 'parts',
    description: 'Concurrent uploads of recording parts of 16 MiB each to S3. Further parts wait on disk.',
  }),
  direct: Type.Optional(
    Type.Boolean({ description: 'Accepted and ignored since 0.2.0: recordings are buffered writes.' }),
  ),
});

export const push = section({
  queue: limitSchema({
    default: 8,
    unit: 'MiB',
    description:
      'Media that waits for one multistream target. Beyond it media is dropped up to the newest key frame.',
  }),
  memory: mebibytes(
    16,
    'Media that waits for all multistream targets. Beyond it the targets with the most drop theirs. Default: an eighth of the memory of the machine.',
  ),
  batch: durationSchema({
    default: '100ms',
    atLeast: '10ms',
    atMost: '1s',
    description: 'How long media is collected for one write, 10ms to 1s. Shorter costs more CPU.',
  }),
  stall: durationSchema({
    default: '90s',
    atLeast: '5s',
    description: 'A target that takes no data for this long is disconnected and tried again. At least 5s.',
  }),
  retryFirst: durationSchema({
    default: '1s',
    atLeast: '100ms',
    description: 'Wait before a target is tried again; it doubles with each attempt. At least 100ms.',
  }),
  retryMost: durationSchema({
    default: '60s',
    atLeast: '1s',
    description: 'Longest wait between two attempts. At least 1s.',
  }),
  targets: limitSchema({
    default: 1000,
    unit: 'targets',
    description:
      'Concurrent multistream pushes of this node; one account has at most three quarters of them. Further ones fail and are tried again.',
  }),
});

export const ffmpeg = section({
  path: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'The ffmpeg program, for SRT, renditions, stills and conversions. Default: the one on the PATH.',
    }),
  ),
  processes: limitSchema({
    default: 50,
    unit: 'processes',
    description:
      'Concurrent ffmpeg processes of this node: one for each SRT push, broadcast with renditions, and picture. Renditions take at most three quarters, pushes of one account a part of the last quarter. Work beyond it is tried again later.',
  }),
});

export const renditions = section({
  encoder: Type.String({
    default: 'libx264',
    pattern: '^[a-z0-9_]{1,40}$',
    expected: 'the name of an H.264 encoder of ffmpeg, such as libx264 or h264_nvenc',
    description:
      'H.264 encoder of ffmpeg: `libx264`, or a hardware one such as `h264_nvenc`, `h264_vaapi`, `h264_qsv` or `h264_videotoolbox`.',
  }),
  preset: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9]{1,20}$',
      expected: 'a preset of that encoder, such as veryfast',
      description: 'Preset of the encoder. Default: `veryfast` for libx264, else the default of the encoder.',
    }),
  ),
  device: Type.Optional(
    Type.String({
      pattern: '^/dev/[a-zA-Z0-9/_-]{1,100}$',
      expected: 'a device, such as /dev/dri/renderD128',
      description: 'Graphics device of `h264_vaapi`. Default: /dev/dri/renderD128.',
    }),
  ),
  capacity: Type.Optional(
    limitSchema({
      unit: 'megapixels/s',
      description:
        'Encoding capacity of this node: width × height × frame rate of all renditions, a quarter of that of each source, and 1 for each broadcast. 480p30 of 720p30 takes 20.2 (12.3 + 6.9 + 1). Broadcasts beyond it start without renditions (`issues` say so) and get them later. Default: 48 for each core.',
    }),
  ),
  threads: limitSchema({
    default: 4,
    unit: 'threads',
    maximum: 64,
    description: 'Threads of one encoder, and of scaling.',
  }),
  niceness: Type.Integer({
    default: 5,
    minimum: 0,
    maximum: 19,
    expected: 'a whole number from 0 to 19',
    description: 'Niceness of encoding against the server: 0 is as urgent, 19 comes last.',
  }),
  stall: durationSchema({
    default: '6s',
    atLeast: '2s',
    description: 'An ffmpeg that has input and gives no picture for this long is restarted. At least 2s.',
  }),
  behind: durationSchema({
    default: '4s',
    atLeast: '2s',
    description:
      'How far renditions may be behind the source before `renditions.patience` begins. At least 2s, the distance at which viewers get them.',
  }),
  patience: durationSchema({
    default: '5s',
    atLeast: '1s',
    description:
      'How long renditions may stay behind without catching up by a second. Then they end, and start again after 15 s at the earliest. At least 1s.',
  }),
  retryMost: durationSchema({
    default: '30s',
    atLeast: '1s',
    description: 'Longest wait before an ffmpeg that ended by itself is restarted; the first is 250 ms.',
  }),
});

export const conversion = section({
  running: limitSchema({
    default: 2,
    unit: 'conversions',
    description:
      'Concurrent conversions on this node: transcodes, and uploads and imports that are normalised. Further ones wait in order.',
  }),
  threads: Type.Optional(
    limitSchema({
      unit: 'threads',
      description: 'Threads of one conversion. Default: half of the processors.',
    }),
  ),
});

export const stills = section({
  running: limitSchema({
    default: 2,
    unit: 'pictures',
    description: 'Thumbnails and storyboards that are made concurrently. Further ones wait.',
  }),
  deadline: durationSchema({
    default: '10s',
    atLeast: '1s',
    description:
      'Time for one picture, four times as long for a storyboard; then 503 `still.failed`. At least 1s.',
  }),
  memory: limitSchema({
    default: 64,
    unit: 'MiB',
    description: 'Pictures kept in memory. Beyond it those used longest ago are made again.',
  }),
});
