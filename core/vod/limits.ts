import { limitTable } from '../base/limit-table.ts';

/** Playback of films that lie in the blob store: recordings, and what else has an index of segments. */
export const vodLimits = limitTable('vod', {
  running: {
    value: 16,
    unit: 'films',
    meaning: 'Indexes and playlists that are read or made at one time; all who want the same wait for one.',
    beyond: '503 `server.busy` with `Retry-After`.',
  },
  waiting: {
    value: 20_000,
    unit: 'requests',
    meaning: 'Requests that wait for those.',
    beyond: '503 `server.busy` with `Retry-After`.',
  },
  turn: {
    value: 500,
    unit: 'segments',
    meaning: 'Segments that are written into a playlist in one turn of the event loop, some 0.3 ms.',
    beyond: 'The others follow in later turns.',
  },
  remembered: {
    value: 2000,
    unit: 'films',
    meaning: 'Films of which it is remembered where they lie, for while the store does not answer.',
    beyond: 'The one asked for longest ago is forgotten: then it is 503 until the store answers.',
  },
  dateDrift: {
    value: 50,
    unit: 'ms',
    meaning: 'How far the date of a segment may be from what those before it say.',
    beyond: 'It gets a date of its own.',
  },
  playlistAge: {
    value: 60,
    unit: 's',
    meaning:
      'How long a cache may keep a playlist: so long a film that was deleted may still be found there.',
    beyond: 'It asks again; the playlist of a film never changes, so the answer is 304.',
  },
  fileAge: {
    value: 3600,
    unit: 's',
    meaning:
      'How long a cache may keep bytes of a whole film: so long one that was deleted may still be had there.',
    beyond: 'It asks again; a film never changes, so the answer is 304.',
  },
  segmentAge: {
    value: 7 * 24 * 3600,
    unit: 's',
    meaning: 'How long a cache may keep segments and inits, which nobody finds without the playlist.',
    beyond: 'It asks again.',
  },
});
