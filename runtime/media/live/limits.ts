import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** What one live playlist keeps and how long it waits. */
export const outputLimits = limitTable('hls', {
  partTarget: {
    value: 0.35,
    unit: 's',
    meaning: 'A part; it lasts at least 85 % of this.',
    beyond: 'The next part begins.',
    key: 'hls.part',
  },
  segmentTarget: {
    value: 2,
    unit: 's',
    meaning: 'A segment, to the key frame that follows.',
    beyond: 'The next segment begins at that key frame.',
  },
  targetDuration: {
    value: 4,
    unit: 's',
    meaning: 'EXT-X-TARGETDURATION.',
    beyond: 'It grows with the distance of key frames, and an issue names that.',
  },
  window: {
    value: 12,
    unit: 's',
    meaning: 'Media that is listed.',
    beyond: 'Older segments are no longer listed.',
    key: 'hls.window',
  },
  segmentLimit: {
    value: 20,
    unit: 's',
    meaning: 'A segment without a key frame.',
    beyond: 'It is cut all the same.',
  },
  segmentBytes: {
    value: 50 * 1024 * 1024,
    unit: 'bytes',
    meaning: 'A segment.',
    beyond: 'It is cut all the same.',
  },
  windowBytes: {
    value: 256 * 1024 * 1024,
    unit: 'bytes',
    meaning: 'All media that one playlist keeps.',
    beyond: 'The broadcast ends, and the encoder is told to lower its bitrate.',
  },
  unlistedSegments: {
    value: 100,
    unit: 'segments',
    meaning: 'Segments that have left the list and are kept for one target duration more.',
    beyond: 'The oldest goes before its time: only media far faster than real time gets there.',
  },
  arenaLimit: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    meaning: 'Media of one track that waits for its part.',
    beyond: 'The connection is closed; the broadcast ends uncleanly.',
  },
  sampleLimit: {
    value: 4096,
    unit: 'samples',
    meaning: 'Samples of one track that wait for their part.',
    beyond: 'The broadcast ends: too many frames in too little time.',
  },
  waiterLimit: {
    value: 20_000,
    unit: 'requests',
    meaning: 'Blocked playlist and part requests of one stream.',
    beyond: 'Further ones get 503 with `Retry-After`.',
    key: 'hls.waitingRequests',
  },
  heldWait: {
    value: 8000,
    unit: 'ms',
    meaning: 'How long a blocked reload waits while nobody publishes; never longer than 3 × TARGETDURATION.',
    beyond: '200 with the unchanged playlist; a part that was never made is 404.',
  },
  renditionLag: {
    value: 2,
    unit: 's',
    meaning:
      'How far behind the source renditions are offered: so much more viewers of a source that has some are held back, so that they find in a rendition what follows. Of a process nothing is thought yet: that is `renditions.behind`.',
    beyond: 'They are not offered to viewers who come then, until they have caught up.',
  },
  renditions: {
    value: 16,
    unit: 'renditions',
    meaning: 'Renditions of one broadcast.',
    beyond: 'The last profiles are not made.',
  },
  dvrSegments: {
    value: 50_000,
    unit: 'segments',
    meaning: 'Segments of a recording that its DVR playlist lists while it is live: 27 h of 2 s.',
    beyond: 'The oldest are no longer listed, and the playlist is no EVENT any more.',
  },
  dvrChunk: {
    value: 256,
    unit: 'segments',
    meaning: 'Lines of a DVR playlist that are written at one time.',
    beyond: 'Other work comes in between.',
  },
  dvrKept: {
    value: 60_000,
    unit: 'ms',
    meaning:
      'How long the text of a DVR playlist is kept for the next who asks; it counts against `hls.memory`.',
    beyond: 'It is written anew when somebody asks. Without memory for it: 503 with `Retry-After`.',
  },
  dvrCodecs: {
    value: 8,
    unit: 'codecs',
    meaning: 'Different codecs of one recording that `CODECS` of its DVR playlist names.',
    beyond: 'It names those of the newest segment alone.',
  },
});

/** Numbers, so that a test can give others. */
export type OutputConfig = Readonly<Record<keyof typeof outputLimits & string, number>>;

export const outputDefaults: OutputConfig = valuesOf(outputLimits);

/** How senseless an encoder may be before something is done about it. */
export const encoderLimits = limitTable('encoder', {
  beginnings: {
    value: 60,
    unit: 'changes',
    meaning: 'Changes of headers or tracks within `beginningWindow`.',
    beyond: 'The broadcast ends, and the encoder is told.',
  },
  beginningWindow: {
    value: 60_000,
    unit: 'ms',
    meaning: 'The time in which `beginnings` are counted.',
    beyond: 'Counting begins again.',
  },
  ahead: {
    value: 30_000,
    unit: 'ms',
    meaning: 'Media that comes before its time.',
    beyond: 'An issue: media comes faster than real time.',
  },
  trackGone: {
    value: 5000,
    unit: 'ms',
    meaning: 'Media without anything of one of its tracks.',
    beyond: 'It goes on without that track.',
  },
  soundPatience: {
    value: 100,
    unit: 'ms',
    meaning: 'How much longer than its pictures a part waits for its sound.',
    beyond: 'It is cut with the sound that is there.',
  },
  gap: {
    value: 1000,
    unit: 'ms',
    meaning: 'A pause between two frames.',
    beyond: 'It is a gap: nothing is stretched over it.',
  },
  composition: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How far a picture is shown from when it is decoded.',
    beyond: 'It counts as 0, and an issue says so.',
  },
  back: {
    value: 100,
    unit: 'ms',
    meaning: 'How far timestamps of one track may go back, or off their rhythm.',
    beyond: 'They jumped: the track goes on where it was, and an issue says so.',
  },
  forward: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How far timestamps of one track may go ahead.',
    beyond: 'They jumped: the track goes on where it was, and an issue says so.',
  },
  still: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long at least 8 messages of one track may have the same timestamp.',
    beyond: 'The time of arrival is used for the rest of the publish, and an issue says so.',
  },
  videoGap: {
    value: 400,
    unit: 'ms',
    meaning: 'Distance of two pictures, when it is more than four usual steps as well.',
    beyond: 'What is between them counts as missing.',
  },
  longestStep: {
    value: 2000,
    unit: 'ms',
    meaning: 'Distance of two pictures that may become the usual one.',
    beyond: 'It is taken for this long.',
  },
  audioGap: {
    value: 200,
    unit: 'ms',
    meaning: 'Distance of two messages of sound, each of some 20 ms.',
    beyond: 'What is between them counts as missing.',
  },
  late: {
    value: 2000,
    unit: 'ms',
    meaning: 'How much later than the quickest media arrives.',
    beyond: 'It counts as late: a player near the edge has run out of it.',
  },
  usualDelay: {
    value: 4096,
    unit: 'messages',
    meaning: 'Messages after which a lasting delay counts as usual by two thirds: about a minute.',
    beyond: 'It is late no more.',
  },
  refusalPatience: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long another track than one in a refused codec is waited for.',
    beyond: 'The broadcast ends.',
  },
  unheadedFrames: {
    value: 250,
    unit: 'frames',
    meaning: 'Frames in a row that may come before their sequence header; they are dropped.',
    beyond: 'An issue says so.',
  },
  headerBytes: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'A sequence header, of which each init segment holds one.',
    beyond: 'It is not used, and an issue says so.',
  },
  announcedRate: {
    value: 1_000_000,
    unit: 'kbit/s',
    meaning: 'The bitrate that an encoder says it has.',
    beyond: 'It is not passed on to whom the stream is pushed to.',
  },
  otherTrack: {
    value: 1000,
    unit: 'ms',
    meaning:
      'How long a beginning waits for a second track that nobody has announced; twice as long for one announced.',
    beyond: 'It begins with the track that is there.',
  },
  issues: {
    value: 16,
    unit: 'issues',
    meaning: 'Different issues of one broadcast.',
    beyond: 'The one that happened longest ago is forgotten.',
  },
  issueShown: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long an issue is shown after it last happened.',
    beyond: 'It is gone from `issues`.',
  },
});
