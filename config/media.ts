import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../core/base/config-fields.ts';
import { object, optional } from '../core/base/schema.ts';
import { mebibytes, port, section } from './sections.ts';

export const rtmp = section({
  host: Type.String({ default: '0.0.0.0', description: 'Address the RTMP server listens on.' }),
  port: port({ default: 1935, description: 'Port encoders connect to. 0: any free port.' }),
  tlsPort: Type.Optional(port({ description: 'Port for RTMPS; needs `tls`.' })),
  connectionsPerAddress: limitSchema(
    'RTMP connections of one address, or one /64 of IPv6. Further ones are closed at once.',
    { default: 500, unit: 'connections' },
  ),
  connections: limitSchema('RTMP connections in all. Further ones are closed at once.', {
    default: 10_000,
    unit: 'connections',
  }),
  publishTimeout: durationSchema(
    'Time an encoder has from connecting to publishing; then it is disconnected. At least 1s.',
    { default: '10s', atLeast: '1s' },
  ),
  idleTimeout: durationSchema(
    'How long an encoder may send nothing; then it is disconnected and its broadcast ends uncleanly. At least 1s.',
    { default: '10s', atLeast: '1s' },
  ),
  messageSize: limitSchema(
    'Size of one RTMP message, which is one picture. A larger one ends the connection.',
    // RTMP stores the length in 24 bits.
    { default: 10, maximum: 16, unit: 'MiB' },
  ),
});

export const tls = object({
  cert: Type.String({ description: 'Path of the certificate chain, PEM.' }),
  key: Type.String({ description: 'Path of the private key, PEM.' }),
});

export const hls = section({
  part: durationSchema(
    'Usual longest part of a segment, 200ms to 500ms; parts are longer where frames are further apart. Viewers are three to four parts behind live; each part costs a request.',
    { default: '350ms', atLeast: '200ms', atMost: '500ms' },
  ),
  window: durationSchema(
    'Length of a live playlist, at least 12s. From 26s on playlists are updated by deltas.',
    { default: '12s', atLeast: '12s' },
  ),
  waitingRequests: limitSchema(
    'Blocked playlist and part requests of one stream. Further ones get 503 with `Retry-After`.',
    { default: 20_000, unit: 'requests' },
  ),
  memory: mebibytes(
    64,
    'Memory of live media in all. Beyond it, new broadcasts are refused, and a broadcast that needs more memory is ended. Default: half of the memory of the machine.',
  ),
});

export const recording = section({
  queue: limitSchema(
    'Media of all recordings that waits for the disk. Beyond it parts are left out of a recording up to the next key frame.',
    { default: 64, unit: 'MiB' },
  ),
  queuePerTake: limitSchema('Media of one recording that waits for the disk.', { default: 16, unit: 'MiB' }),
  sync: durationSchema(
    'How often a growing recording is synced: a power failure loses at most this much. A crash of the process loses at most a second.',
    { default: '5s', atLeast: '100ms' },
  ),
  reserve: limitSchema(
    'Disk space that recordings leave free for the database. Below it nothing is recorded, and `issues` of the stream say so.',
    { default: 512, unit: 'MiB' },
  ),
  uploads: limitSchema(
    'Concurrent uploads of recording parts of 16 MiB each to S3. Further parts wait on disk.',
    { default: 4, unit: 'parts' },
  ),
  direct: optional.boolean({
    description: 'Accepted and ignored since 0.2.0: recordings are buffered writes.',
  }),
});

export const push = section({
  queue: limitSchema(
    'Media that waits for one multistream target. Beyond it media is dropped up to the newest key frame.',
    { default: 8, unit: 'MiB' },
  ),
  memory: mebibytes(
    16,
    'Media that waits for all multistream targets. Beyond it the targets with the most drop theirs. Default: an eighth of the memory of the machine.',
  ),
  batch: durationSchema('How long media is collected for one write, 10ms to 1s. Shorter costs more CPU.', {
    default: '100ms',
    atLeast: '10ms',
    atMost: '1s',
  }),
  stall: durationSchema(
    'A target that takes no data for this long is disconnected and tried again. At least 5s.',
    { default: '90s', atLeast: '5s' },
  ),
  retryFirst: durationSchema(
    'Wait before a target is tried again; it doubles with each attempt. At least 100ms.',
    { default: '1s', atLeast: '100ms' },
  ),
  retryMost: durationSchema('Longest wait between two attempts. At least 1s.', {
    default: '60s',
    atLeast: '1s',
  }),
  targets: limitSchema(
    'Concurrent multistream pushes of this node; one account has at most three quarters of them. Further ones fail and are tried again.',
    { default: 1000, unit: 'targets' },
  ),
});

export const ffmpeg = section({
  path: optional.string({
    minLength: 1,
    description:
      'The ffmpeg program, for SRT, renditions, stills and conversions. Default: the one on the PATH.',
  }),
  processes: limitSchema(
    'Concurrent ffmpeg processes of this node: one for each SRT push, broadcast with renditions, and picture. Renditions take at most three quarters, pushes of one account a part of the last quarter. Work beyond it is tried again later.',
    { default: 50, unit: 'processes' },
  ),
});

export const renditions = section({
  encoder: Type.String({
    default: 'libx264',
    pattern: '^[a-z0-9_]{1,40}$',
    expected: 'the name of an H.264 encoder of ffmpeg, such as libx264 or h264_nvenc',
    description:
      'H.264 encoder of ffmpeg: `libx264`, or a hardware one such as `h264_nvenc`, `h264_vaapi`, `h264_qsv` or `h264_videotoolbox`.',
  }),
  preset: optional.string({
    pattern: '^[a-z0-9]{1,20}$',
    expected: 'a preset of that encoder, such as veryfast',
    description: 'Preset of the encoder. Default: `veryfast` for libx264, else the default of the encoder.',
  }),
  device: optional.string({
    pattern: '^/dev/[a-zA-Z0-9/_-]{1,100}$',
    expected: 'a device, such as /dev/dri/renderD128',
    description: 'Graphics device of `h264_vaapi`. Default: /dev/dri/renderD128.',
  }),
  capacity: Type.Optional(
    limitSchema(
      'Encoding capacity of this node: width × height × frame rate of all renditions, a quarter of that of each source, and 1 for each broadcast. 480p30 of 720p30 takes 20.2 (12.3 + 6.9 + 1). Broadcasts beyond it start without renditions (`issues` say so) and get them later. Default: 48 for each core.',
      { unit: 'megapixels/s' },
    ),
  ),
  threads: limitSchema('Threads of one encoder, and of scaling.', {
    default: 4,
    unit: 'threads',
    maximum: 64,
  }),
  niceness: Type.Integer({
    default: 5,
    minimum: 0,
    maximum: 19,
    expected: 'a whole number from 0 to 19',
    description: 'Niceness of encoding against the server: 0 is as urgent, 19 comes last.',
  }),
  stall: durationSchema(
    'An ffmpeg that has input and gives no picture for this long is restarted. At least 2s.',
    { default: '6s', atLeast: '2s' },
  ),
  behind: durationSchema(
    'How far renditions may be behind the source before `renditions.patience` begins. At least 2s, because with renditions players are 2 s further behind live.',
    { default: '4s', atLeast: '2s' },
  ),
  patience: durationSchema(
    'How long renditions may stay behind without catching up by a second. Then they end, and start again after 15 s at the earliest. At least 1s.',
    { default: '5s', atLeast: '1s' },
  ),
  retryMost: durationSchema(
    'Longest wait before an ffmpeg that ended by itself is restarted; the first is 250 ms.',
    { default: '30s', atLeast: '1s' },
  ),
});

export const conversion = section({
  running: limitSchema(
    'Concurrent conversions on this node: transcodes, and uploads and imports that are normalised. Further ones wait; an account that has none running gets one place more.',
    { default: 2, unit: 'conversions' },
  ),
  threads: Type.Optional(
    limitSchema('Threads of one conversion. Default: half of the processors.', { unit: 'threads' }),
  ),
  memory: mebibytes(
    256,
    'Memory of all conversions of this node together. Each is charged for its pixels and references, and gets no more; one that does not fit beside the others waits, and one that needs more than all is refused. Default: 1400 MiB, or 600 MiB and 400 MiB for each thread if that is more, and 1400 MiB more with a preset of libx264 slower than `faster`; at most half of the memory of the machine.',
  ),
});

export const stills = section({
  running: limitSchema(
    'Thumbnails, animations and storyboards that are made concurrently. Further ones wait.',
    {
      default: 2,
      unit: 'pictures',
    },
  ),
  deadline: durationSchema(
    'Time for one picture, four times as long for a storyboard or an animation; then 503 `still.failed`. At least 1s.',
    { default: '10s', atLeast: '1s' },
  ),
  memory: limitSchema('Pictures kept in memory. Beyond it those used longest ago are made again.', {
    default: 64,
    unit: 'MiB',
  }),
});
