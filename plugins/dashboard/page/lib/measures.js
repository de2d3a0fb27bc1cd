import { count, rate } from './format.js';

const decimals = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** What the health of a broadcast is measured by: points of `GET /api/stream/{id}/health`. */
export const bitrate = {
  title: 'Bitrate',
  colour: '--plot-a',
  of: ({ ingestRate }) => ingestRate,
  text: (value) => (value === 0 ? '0' : rate(value)),
};

export const measures = [
  bitrate,
  {
    title: 'Frames a second',
    colour: '--plot-b',
    of: ({ fps }) => fps,
    text: (value) => `${decimals.format(value)} fps`,
  },
  {
    title: 'Key-frame interval',
    colour: '--plot-c',
    of: ({ keyFrameInterval }) => keyFrameInterval,
    text: (value) => `${decimals.format(value)} s`,
  },
  {
    title: 'Jitter',
    colour: '--plot-d',
    of: ({ jitter }) => jitter,
    text: (value) => `${count(Math.round(value))} ms`,
  },
  {
    title: 'Viewers',
    colour: '--plot-e',
    of: ({ viewerCount }) => viewerCount,
    text: (value) => decimals.format(value),
  },
];
