import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import { opusSpecific } from '../codecs/opus.ts';
import { box, full, join, MATRIX, text, u16, u32 } from './box.ts';

/** One video track of an init segment. `record` is the payload of `config.box` as the encoder sent it. */
export interface VideoEntry {
  readonly id: number;
  readonly timescale: number;
  readonly config: VideoConfig;
  readonly record: Uint8Array;
  /** In place of what the configuration says: boxes of the sample entry for shape and colour, */
  readonly boxes?: Uint8Array;
  /** and matrix, width and height of the track header, 44 bytes. */
  readonly display?: Uint8Array;
}

/** One audio track. `record`: AudioSpecificConfig or OpusHead. */
export interface AudioEntry {
  readonly id: number;
  /** The sample rate unless told. */
  readonly timescale?: number;
  readonly config: AudioConfig;
  readonly record: Uint8Array;
}

/** An init segment: ftyp, then moov with mvex and no samples (ISO/IEC 14496-12 8.2, 8.8). */
export function writeInit(tracks: { video?: VideoEntry; audio?: AudioEntry }): Uint8Array<ArrayBuffer> {
  const { video, audio } = tracks;
  const ids = [video?.id, audio?.id].filter((id) => id !== undefined);
  const parts = [
    mvhd(Math.max(...ids) + 1),
    ...(video === undefined ? [] : [videoTrak(video)]),
    ...(audio === undefined ? [] : [audioTrak(audio)]),
    box('mvex', ...ids.map((id) => full('trex', 0, 0, u32(id, 1, 0, 0, 0)))),
  ];
  return join([box('ftyp', text('iso6'), u32(0), text('iso6mp41')), box('moov', ...parts)]);
}

/** Movie header, 8.2.2. */
function mvhd(nextId: number): Uint8Array {
  return full(
    'mvhd',
    0,
    0,
    u32(0, 0, 1000, 0, 0x10000, 0x01000000, 0, 0),
    MATRIX,
    new Uint8Array(24),
    u32(nextId),
  );
}

function videoTrak({ id, timescale, config, record, boxes, display }: VideoEntry): Uint8Array {
  const shown = Math.min(65_535, Math.round((config.width * config.sarWidth) / config.sarHeight));
  const sar =
    config.sarWidth === config.sarHeight ? [] : [box('pasp', u32(config.sarWidth, config.sarHeight))];
  // VisualSampleEntry, 12.1.3.
  const entry = box(
    config.entry,
    u32(0),
    u16(0, 1),
    new Uint8Array(16),
    u16(config.width, config.height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    new Uint8Array(32),
    u16(24, 0xffff),
    box(config.box, record),
    ...(boxes === undefined ? sar : [boxes]),
  );
  return trak({
    header: tkhd(id, { volume: 0, display: display ?? join([MATRIX, sides(shown, config.height)]) }),
    timescale,
    handler: 'vide',
    media: full('vmhd', 0, 1, u16(0, 0, 0, 0)),
    entry,
  });
}

function audioTrak({ id, config, record, timescale = config.sampleRate }: AudioEntry): Uint8Array {
  // AudioSampleEntry, 12.2.3; a rate above 65535 does not fit its 16.16 field and is then left 0.
  const rate = config.sampleRate < 65_536 ? config.sampleRate : 0;
  const specific =
    config.entry === 'mp4a' ? full('esds', 0, 0, esDescriptor(record)) : box('dOps', opusSpecific(record));
  const entry = box(
    config.entry,
    u32(0),
    u16(0, 1),
    u32(0, 0),
    u16(config.channels, 16),
    u32(0),
    u16(rate, 0),
    specific,
  );
  return trak({
    header: tkhd(id, { volume: 0x100, display: join([MATRIX, sides(0, 0)]) }),
    timescale,
    handler: 'soun',
    media: full('smhd', 0, 0, u32(0)),
    entry,
  });
}

/** ES_Descriptor with the decoder's configuration, ISO/IEC 14496-1 7.2.6.5. */
function esDescriptor(config: Uint8Array): Uint8Array {
  const specific = descriptor(5, config);
  const decoder = descriptor(4, Uint8Array.of(0x40, 0x15, 0, 0, 0), u32(0, 0), specific);
  return descriptor(3, u16(0), Uint8Array.of(0), decoder, descriptor(6, Uint8Array.of(2)));
}

function descriptor(tag: number, ...payload: Uint8Array[]): Uint8Array {
  const body = join(payload);
  const size = body.length;
  const length = Uint8Array.of(0x80 | (size >> 21), 0x80 | ((size >> 14) & 127), 0x80 | ((size >> 7) & 127));
  return join([Uint8Array.of(tag), length, Uint8Array.of(size & 127), body]);
}

/** Track header, 8.3.2; enabled, in movie. */
function tkhd(id: number, shape: { volume: number; display: Uint8Array }): Uint8Array {
  return full('tkhd', 0, 3, u32(0, 0, id, 0, 0, 0, 0), u16(0, 0, shape.volume, 0), shape.display);
}

function sides(width: number, height: number): Uint8Array {
  return u32(width * 65_536, height * 65_536);
}

function trak(options: {
  header: Uint8Array;
  timescale: number;
  handler: string;
  media: Uint8Array;
  entry: Uint8Array;
}): Uint8Array {
  const none = (type: string) => full(type, 0, 0, u32(0));
  const stsd = full('stsd', 0, 0, u32(1), options.entry);
  const stbl = box('stbl', stsd, none('stts'), none('stsc'), full('stsz', 0, 0, u32(0, 0)), none('stco'));
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)));
  const mdhd = full('mdhd', 0, 0, u32(0, 0, options.timescale, 0), u16(0x55c4, 0));
  const hdlr = full('hdlr', 0, 0, u32(0), text(options.handler), u32(0, 0, 0), text('Millrace\0'));
  return box('trak', options.header, box('mdia', mdhd, hdlr, box('minf', options.media, dinf, stbl)));
}
