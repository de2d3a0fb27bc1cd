/** All issues, in plain words with what to do. */
export const issueTexts = {
  stall:
    'No media arrives. Check the network between encoder and server, and whether the encoder still runs.',
  keyFrames:
    'Key frames are more than 4 s apart. Set the key-frame interval of the encoder to 2 s (ffmpeg: -g, OBS: Keyframe Interval).',
  noKeyFrame:
    'The video has no key frame, so no player can start it. Set the key-frame interval of the encoder to 2 s.',
  bitrateLow:
    'The bitrate fell below a sixth of the usual one. Check the upload of the encoder; with a still picture this is harmless.',
  bitrateHigh: 'The bitrate is so high that many players will stall. Lower the video bitrate of the encoder.',
  framesIrregular:
    'Frames come at irregular times, so the picture stutters. Use a constant frame rate, and check whether the encoder is overloaded.',
  framesFew:
    'There are fewer frames than the encoder announced. Check whether it is overloaded or drops frames.',
  framesMany: 'There are far more frames than the encoder announced. Set its frame rate to what it sends.',
  jitter:
    'Media arrives unevenly, by more than a second. Use a wired network or a lower bitrate at the encoder.',
  late: 'Media arrives 2 s or more late, so players run out of it. Lower the bitrate or improve the upload of the encoder.',
  dropped:
    'Parts of the media are missing. The encoder drops them, mostly because its upload is too slow: lower its bitrate.',
  drift:
    'Sound and picture are more than a second apart. Check the audio source and its delay at the encoder.',
  videoMissing: 'The picture is missing. Check the video source of the encoder.',
  audioMissing: 'The sound is missing. Check the audio source of the encoder, or switch its audio off.',
  videoCodec:
    'Not all browsers can play this video codec. Use H.264 with 8 bits and 4:2:0 (Baseline, Main or High), which plays everywhere.',
  audioCodec: 'Not all browsers can play this audio codec. Use AAC, which plays everywhere.',
  held: 'The connection of the encoder was lost; the broadcast continues if it reconnects in time. Check its network, and start it again if it does not reconnect by itself.',
} as const;

export type IssueName = keyof typeof issueTexts;

export const issueNames = Object.keys(issueTexts) as IssueName[];
