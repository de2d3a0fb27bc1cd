import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import { opusSpecific } from '../codecs/opus.ts';
import { box, full, join, text, u16, u32 } from './box.ts';
import { displayOf, mvhd, type TrackBoxes, trak } from './movie-boxes.ts';

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
  /** Default: the sample rate. */
  readonly timescale?: number;
  readonly config: AudioConfig;
  readonly record: Uint8Array;
}

/** An init segment: ftyp, then moov with mvex and no samples (ISO/IEC 14496-12 8.2, 8.8). */
export function writeInit(tracks: { video?: VideoEntry; audio?: AudioEntry }): Uint8Array<ArrayBuffer> {
  const { video, audio } = tracks;
  const ids = [video?.id, audio?.id].filter((id) => id !== undefined);
  const parts = [
    mvhd({ timescale: 1000, created: 0, duration: 0, nextId: Math.max(...ids) + 1 }),
    ...(video === undefined ? [] : videoTrak(video)),
    ...(audio === undefined ? [] : audioTrak(audio)),
    box('mvex', ...ids.map((id) => full('trex', 0, 0, u32(id, 1, 0, 0, 0)))),
  ];
  return join([box('ftyp', text('iso6'), u32(0), text('iso6mp41')), box('moov', ...parts)]);
}

function videoTrak({ id, timescale, config, record, boxes, display }: VideoEntry) {
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
  return emptyTrak(entry, {
    ...{ id, isVideo: true, timescale },
    display: display ?? displayOf(shown, config.height),
  });
}

function audioTrak({ id, config, record, timescale = config.sampleRate }: AudioEntry) {
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
  return emptyTrak(entry, { id, isVideo: false, timescale, display: displayOf(0, 0) });
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

/** A track without samples. */
function emptyTrak(
  entry: Uint8Array,
  track: Pick<TrackBoxes, 'id' | 'isVideo' | 'timescale' | 'display'>,
): readonly Uint8Array[] {
  const none = (type: string) => full(type, 0, 0, u32(0));
  const stsd = full('stsd', 0, 0, u32(1), entry);
  const tables = [stsd, none('stts'), none('stsc'), full('stsz', 0, 0, u32(0, 0)), none('stco')];
  return trak({ ...track, created: 0, movieDuration: 0, duration: 0, edits: [], tables });
}
