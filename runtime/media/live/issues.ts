/**
 * What is wrong with a broadcast, for the person at its encoder: what was seen, then what to do about it. Shown as
 * `issues` of the stream; those that end the broadcast are told the encoder as well.
 */
export const issues = {
  compositionRange:
    'Composition times are out of range; pictures may show in the wrong order. Use fewer B-frames, or another encoder.',
  videoGone:
    'Video stopped arriving; viewers hear sound alone. Check the camera and the video settings of the encoder.',
  audioGone:
    'Audio stopped arriving; viewers see pictures alone. Check the microphone and the audio settings of the encoder.',
  noKeyFrame:
    'Video has no key frame, so it cannot be shown. Set the key frame interval of the encoder to 2 s.',
  cutWithoutKeyFrame:
    'Key frames are too far apart; a segment was cut without one. Set the key frame interval of the encoder to 2 s.',
  jumped: 'Timestamps jumped. Check that the encoder is not overloaded, and restart it when this goes on.',
  still:
    'Timestamps stand still; the time of arrival is used instead. Restart the encoder, or use another one.',
  tooFast: 'Media comes faster than real time. An encoder that reads a file must pace itself (ffmpeg: -re).',
  moreVideo: 'The encoder sends several video tracks; only the first is taken. Keep one in its settings.',
  moreAudio: 'The encoder sends several audio tracks; only the first is taken. Keep one in its settings.',
  noVideoHeader:
    'Video comes without a sequence header, so it cannot be shown. Restart the encoder, or use another one.',
  noAudioHeader:
    'Audio comes without a sequence header, so it cannot be heard. Restart the encoder, or use another one.',
  tooManyChanges:
    'The encoder changes its settings too often. Keep codec, size and audio as they are during a broadcast.',
  tooManyFrames: 'The encoder sends too many frames in too little time. Lower its frame rate, or restart it.',
  tooMuchData: 'The stream has more data than the live window may keep. Lower the bitrate of the encoder.',
  badVideoHeader: (why: string) =>
    `The video header cannot be read: ${why}. Use H.264, or restart the encoder.`,
  badAudioHeader: (why: string) =>
    `The audio header cannot be read: ${why}. Use AAC, or restart the encoder.`,
} as const;
