import type { VideoConfig } from '../../codecs/config.ts';
import { readVideoHeader } from '../../codecs/headers.ts';
import { VIDEO_AVC } from '../../flv/codec.ts';
import { type Box, Children, Fields, Refusal } from '../../mp4/inspect/boxes.ts';
import { LadderBroken } from '../ladder.ts';

/** One rendition, as the `moov` box of a process tells. */
export interface OutputTrack {
  readonly config: VideoConfig;
  /** AVCDecoderConfigurationRecord. */
  readonly record: Uint8Array;
  /** Of a sample, where its fragment does not say (`trex`, ISO/IEC 14496-12 8.8.3). */
  readonly duration: number;
  readonly size: number;
  readonly flags: number;
}

/** Tracks 1 to `count`, in that order, of a `moov` box that lies in `bytes`. Anything else is broken. */
export function readOutputMovie(bytes: Uint8Array, { count }: { count: number }): readonly OutputTrack[] {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const moov = new Children({ type: 'moov', view, from: 8, to: bytes.length });
    const defaults = readDefaults(moov.need('mvex'));
    const traks = moov.all.filter(({ type }) => type === 'trak').map(readTrack);
    if (traks.length !== count) throw new LadderBroken(`it has ${traks.length} tracks, not ${count}`);
    return Array.from({ length: count }, (_, index) => {
      const trak = traks.find(({ id }) => id === index + 1);
      const known = defaults.get(index + 1);
      if (trak === undefined || known === undefined) throw new LadderBroken(`it has no track ${index + 1}`);
      return { config: trak.config, record: trak.record, ...known };
    });
  } catch (error) {
    if (error instanceof Refusal) throw new LadderBroken(error.message);
    throw error;
  }
}

function readDefaults(mvex: Box): Map<number, Pick<OutputTrack, 'duration' | 'size' | 'flags'>> {
  const defaults = new Map();
  for (const box of new Children(mvex).all) {
    if (box.type !== 'trex') continue;
    const fields = new Fields(box);
    fields.full();
    const id = fields.u32();
    fields.skip(4);
    defaults.set(id, { duration: fields.u32(), size: fields.u32(), flags: fields.u32() });
  }
  return defaults;
}

function readTrack(box: Box): { id: number; config: VideoConfig; record: Uint8Array } {
  const trak = new Children(box);
  const mdia = new Children(trak.need('mdia'));
  const timescale = readTimescale(mdia.need('mdhd'));
  if (timescale !== TICKS) throw new LadderBroken(`a track counts ${timescale} ticks a second, not ${TICKS}`);
  const stbl = new Children(new Children(mdia.need('minf')).need('stbl'));
  // Behind version, flags and the number of entries (8.5.2); an entry has 78 bytes before its boxes (12.1.3).
  const entry = new Children(stbl.need('stsd'), 8).need('avc1');
  if (entry.to - entry.from < 78) throw new LadderBroken('its avc1 box is cut short');
  const avcC = new Children(entry, 78).need('avcC');
  const record = new Fields(avcC).bytes(avcC.to - avcC.from).slice();
  const config = readVideoHeader(VIDEO_AVC, record);
  if ('malformed' in config) throw new LadderBroken(`its video header cannot be read: ${config.malformed}`);
  return { id: readId(trak.need('tkhd')), config, record };
}

/** Track header, 8.3.2. */
function readId(tkhd: Box): number {
  const fields = new Fields(tkhd);
  const { version } = fields.full();
  fields.skip(version === 1 ? 16 : 8);
  return fields.u32();
}

/** Media header, 8.4.2. */
function readTimescale(mdhd: Box): number {
  const fields = new Fields(mdhd);
  const { version } = fields.full();
  fields.skip(version === 1 ? 16 : 8);
  return fields.u32();
}

/** A second on the timeline of the source's pictures. */
const TICKS = 90_000;
