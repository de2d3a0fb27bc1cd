import { describe, expect, it } from 'vitest';
import { readVideoHeader } from '../../runtime/media/codecs/headers.ts';
import { VIDEO_AV1, VIDEO_AVC, VIDEO_HEVC } from '../../runtime/media/flv/message.ts';
import { readOwnFragment } from '../../runtime/media/mp4/fragment-reader.ts';
import { writeInit } from '../../runtime/media/mp4/init.ts';
import { readInit } from '../../runtime/media/mp4/read-init.ts';
import { parameterSets, withParameterSets } from '../../runtime/media/recording/file/in-band.ts';
import { readFragments } from '../hls/boxes.ts';
import { AV1_360P, AVC_360P, HEVC_360P } from '../hls/feed.ts';
import { AUDIO_ID, fragmentOf, type Sample, VIDEO_ID } from './fragments.ts';

/** The sample entry of a header, as an init segment holds it. */
function entryOf(codec: number, record: Uint8Array): Uint8Array {
  const config = readVideoHeader(codec, record);
  if ('malformed' in config) throw new Error(config.malformed);
  const [track] = readInit(writeInit({ video: { id: 1, timescale: 90_000, config, record } })) ?? [];
  return track.entry;
}

const avc = parameterSets(entryOf(VIDEO_AVC, AVC_360P));
const hevc = parameterSets(entryOf(VIDEO_HEVC, HEVC_360P));

/** A sample of NAL units that are this first byte, and three more. */
function units(heads: readonly number[], bytesOfHead = 1): Uint8Array {
  return Uint8Array.from(heads.flatMap((head) => [0, 0, 0, 4, head, ...new Array(3).fill(bytesOfHead)]));
}

function types(sample: Uint8Array, isHevc = false): number[] {
  const found: number[] = [];
  const view = new DataView(sample.buffer, sample.byteOffset, sample.length);
  for (let at = 0; at < sample.length; at += 4 + view.getUint32(at))
    found.push(isHevc ? (sample[at + 4] >> 1) & 63 : sample[at + 4] & 31);
  return found;
}

function put(samples: readonly Uint8Array[], sets = avc, keys: readonly number[] = [0]) {
  const video = samples.map((bytes, index): Sample => {
    return { dts: index * 3000, duration: 3000, size: bytes.length, bytes, isSync: keys.includes(index) };
  });
  const audio = [0, 1, 2].map((index): Sample => ({ dts: index * 1024, duration: 1024, size: 7 + index }));
  const bytes = fragmentOf({ video, audio });
  const view = new DataView(bytes.buffer);
  const fragment = readOwnFragment(view, 0, view.getUint32(0));
  if (fragment === undefined) throw new Error('a fragment cannot be read');
  const whole = withParameterSets(bytes, {
    fragment,
    setsOf: (track) => (track === VIDEO_ID ? sets : undefined),
  });
  const [before] = readFragments(bytes);
  // The reader holds sizes and places against one another.
  const [after] = readFragments(whole);
  const runOf = (fragments: typeof before, id: number) => fragments.runs.find(({ track }) => track === id);
  expect(runOf(after, AUDIO_ID)).toEqual(runOf(before, AUDIO_ID));
  const again = readOwnFragment(new DataView(whole.buffer, whole.byteOffset), 0, view.getUint32(0));
  expect(view.getUint32(0) + (again?.dataSize ?? 0)).toBe(whole.length);
  return { bytes, whole, samples: runOf(after, VIDEO_ID)?.samples ?? [] };
}

describe('the parameter sets of a key frame', () => {
  it('are those of its sample entry', () => {
    expect(avc && types(avc.bytes)).toEqual([7, 8]);
    expect(hevc && types(hevc.bytes, true)).toEqual([32, 33, 34]);
    // A key frame of AV1 has its sequence header by the format.
    expect(parameterSets(entryOf(VIDEO_AV1, AV1_360P))).toBeUndefined();
  });

  it('are put in front of each that has none, and of no other picture', () => {
    const { samples } = put(
      [units([0x65]), units([0x41]), units([0x06, 0x65, 0x65]), units([0x41])],
      avc,
      [0, 2],
    );
    expect(samples.map(({ bytes }) => types(bytes))).toEqual([[7, 8, 5], [1], [7, 8, 6, 5, 5], [1]]);
    expect(samples[2].bytes.subarray(-24)).toEqual(units([0x06, 0x65, 0x65]));
    expect(samples.map(({ isSync, duration }) => [isSync, duration])).toEqual([
      [true, 3000],
      [false, 3000],
      [true, 3000],
      [false, 3000],
    ]);
  });

  it('are put behind its delimiter', () => {
    expect(types(put([units([0x09, 0x65])]).samples[0].bytes)).toEqual([9, 7, 8, 5]);
    expect(types(put([units([70, 38])], hevc).samples[0].bytes, true)).toEqual([35, 32, 33, 34, 19]);
  });

  it.each([
    ['has some', units([0x67, 0x68, 0x65])],
    ['has some of them', units([0x09, 0x68, 0x65])],
    ['holds no picture', units([0x06])],
    ['is cut short', units([0x65]).subarray(0, 6)],
    ['is none', Uint8Array.from({ length: 50 }, (_, i) => 37 * i)],
  ])('are left out where a key frame %s', (_, sample) => {
    const { bytes, whole } = put([sample, units([0x41])]);
    expect(whole).toBe(bytes);
  });

  it.each([
    ['is cut short', AVC_360P.subarray(0, 20)],
    ['has none', Uint8Array.of(1, 100, 0, 30, 255, 0xe0, 0)],
    ['is empty', new Uint8Array(0)],
  ])('are none where the record %s', (_, record) => {
    const entry = entryOf(VIDEO_AVC, AVC_360P);
    const at = 86 + 8;
    const broken = new Uint8Array([...entry.subarray(0, at), ...record]);
    const view = new DataView(broken.buffer);
    view.setUint32(86, 8 + record.length);
    expect(parameterSets(broken)).toBeUndefined();
  });
});
