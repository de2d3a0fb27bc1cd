import { limitTable } from '../base/limit-table.ts';

const beyond =
  '400 `multistream.invalid`. Where it was accepted by a version before, nothing is pushed to it: `url`.';

/** `srt://` URLs. */
export const srtUrlLimits = limitTable('srt', {
  parameters: {
    value: 16,
    unit: 'parameters',
    meaning: 'Parameters of an `srt://` URL.',
    beyond,
  },
  streamId: {
    value: 512,
    unit: 'bytes',
    meaning: '`streamid` of an `srt://` URL, in UTF-8.',
    beyond,
  },
  shortestPassphrase: {
    value: 10,
    unit: 'bytes',
    meaning: '`passphrase` of an `srt://` URL, at least.',
    beyond,
  },
  passphrase: {
    value: 79,
    unit: 'bytes',
    meaning: '`passphrase` of an `srt://` URL.',
    beyond,
  },
  latency: {
    value: 10_000,
    unit: 'ms',
    meaning:
      '`latency` of an `srt://` URL. A greater number counts as microseconds, as ffmpeg and OBS write it.',
    beyond,
  },
  payload: {
    value: 1456,
    unit: 'bytes',
    meaning: '`pkt_size` of an `srt://` URL, a multiple of 188 or this.',
    beyond,
  },
});
