import { limitTable } from '../../../core/base/limit-table.ts';

/** Playback through a node that does not have the playlist itself. */
export const relayLimits = limitTable('relay', {
  requests: {
    value: 4000,
    unit: 'requests',
    meaning: 'Requests to other nodes under way at one time; all viewers who want the same share one.',
    beyond: '503 `playback.too_many_waiting` with `Retry-After`.',
  },
  waiting: {
    value: 50_000,
    unit: 'requests',
    meaning: 'Requests of viewers that wait for an answer of another node.',
    beyond: '503 `playback.too_many_waiting` with `Retry-After`.',
  },
  answerTime: {
    value: 30_000,
    unit: 'ms',
    meaning: 'How long another node may take to answer: a blocked reload waits for media there.',
    beyond: '503 `node.unreachable`; a playlist is asked for elsewhere first.',
  },
  answerBytes: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    meaning: 'One answer of another node: more than the longest segment.',
    beyond: '503 `playback.too_many_waiting`, and a line in the log.',
  },
  mediaKept: {
    value: 30_000,
    unit: 'ms',
    meaning: 'How long parts, segments and inits of another node are kept. They never change.',
    beyond: 'The other node is asked again.',
  },
  playlistKept: {
    value: 100,
    unit: 'ms',
    meaning: 'How long a playlist answers those who ask for the same of it.',
    beyond: 'The other node is asked again.',
  },
  placeKept: {
    value: 1000,
    unit: 'ms',
    meaning:
      'How long it is believed which node has a playlist, also while that is asked. While the store does not answer, longer.',
    beyond: 'The store is asked again.',
  },
  places: {
    value: 10_000,
    unit: 'playlists',
    meaning: 'Playback ids of which it is remembered which node has them, or that none has.',
    beyond: 'The one asked for longest ago is forgotten.',
  },
  retry: {
    value: 250,
    unit: 'ms',
    meaning: 'How often it is looked where a broadcast is that is expected back.',
    beyond: 'It is looked again, as long as a playlist request waits.',
  },
  slice: {
    value: 8000,
    unit: 'ms',
    meaning:
      'How often a viewer is told of to the node that counts. It counts who came within the last two of these.',
    beyond: 'The viewer is told of again.',
  },
  viewersTold: {
    value: 1000,
    unit: 'viewers',
    meaning: 'Viewers that one request to another node tells of, 8 characters each.',
    beyond: 'The next request tells of the rest.',
  },
  viewers: {
    value: 100_000,
    unit: 'viewers',
    meaning: 'Different viewers of all relayed playlists that one node remembers within `slice`.',
    beyond: 'Further ones watch, but are not counted.',
  },
});
