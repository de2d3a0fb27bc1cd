import { limitTable } from '../../core/base/limit-table.ts';

/** What viewers get of the pictures. */
export const stillsLimits = limitTable('thumbnails', {
  width: {
    value: 640,
    unit: 'pixels',
    meaning: 'Width and height of a thumbnail; its shape is kept, and it is never made larger than it came.',
    beyond: 'It is made smaller.',
  },
  tile: {
    value: 256,
    unit: 'pixels',
    meaning: 'The same of each picture of a storyboard.',
    beyond: 'It is made smaller.',
  },
  refresh: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often the thumbnail of a broadcast is made anew at most, when it is asked for.',
    beyond: 'It is made anew.',
  },
  tiles: {
    value: 50,
    unit: 'pictures',
    meaning: 'Pictures of a storyboard. It has no more than the film has segments.',
    beyond: 'They lie further apart.',
  },
  tilesLong: {
    value: 100,
    unit: 'pictures',
    meaning: 'The same of a film that is `long`.',
    beyond: 'They lie further apart.',
  },
  long: { value: 900, unit: 's', meaning: 'From here on a film is long.', beyond: 'See `tilesLong`.' },
  columns: {
    value: 10,
    unit: 'pictures',
    meaning: 'Of a row of a storyboard.',
    beyond: 'The next row begins.',
  },
  opening: {
    value: 10,
    unit: 's',
    meaning: 'The latest moment of a film that its thumbnail shows where no `time` is named: a tenth of it.',
    beyond: 'It shows this one.',
  },
  lookBack: {
    value: 8,
    unit: 'segments',
    meaning: 'How far it is looked back for a picture where a film has sound alone.',
    beyond: '404 `still.none`.',
  },
  age: {
    value: 3600,
    unit: 's',
    meaning:
      'How long a cache may keep pictures of an asset: so long those of one that was deleted may still be had there.',
    beyond: 'It asks again.',
  },
  stored: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'A storyboard that lies in the blob store.',
    beyond: 'It is made again.',
  },
});
