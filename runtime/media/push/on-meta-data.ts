import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import type { Announced } from '../publish/subscriber.ts';
import { encodeAmf0 } from '../rtmp/amf0.ts';

/** What is in force for one track. */
export interface PushedHeader<C> {
  /** The sequence header, a whole FLV body. */
  readonly body: Uint8Array;
  /** FourCC as a number. */
  readonly codec: number;
  readonly config: C;
}

/**
 * A data message with `@setDataFrame` and `onMetaData` (Adobe FLV 10.1, E.5; codec ids as in Enhanced RTMP v2). Of numbers that
 * were read and held against bounds alone: nothing that the encoder sent is passed on as it is.
 */
export function onMetaData(tracks: {
  video?: PushedHeader<VideoConfig>;
  audio?: PushedHeader<AudioConfig>;
  announced?: Announced;
}): Uint8Array {
  const { video, audio, announced } = tracks;
  const values = {
    ...(video && {
      width: video.config.width,
      height: video.config.height,
      framerate: announced?.frameRate ?? video.config.frameRate,
      videodatarate: announced?.videoRate,
      videocodecid: video.body[0] & 0x80 ? video.codec : video.body[0] & 15,
    }),
    ...(audio && {
      audiosamplerate: audio.config.sampleRate,
      audiosamplesize: 16,
      stereo: audio.config.channels > 1,
      audiodatarate: announced?.audioRate,
      audiocodecid: audio.body[0] >> 4 === ENHANCED ? audio.codec : audio.body[0] >> 4,
    }),
    encoder: 'Millrace',
  };
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  const [, ...members] = encodeAmf0([Object.fromEntries(known)]);
  // Encoders send an ECMA array, and so do we: some servers look for nothing else.
  const count = [0, 0, known.length >> 8, known.length & 255];
  return Uint8Array.of(...encodeAmf0(['@setDataFrame', 'onMetaData']), ECMA_ARRAY, ...count, ...members);
}

/** SoundFormat. */
const ENHANCED = 9;
/** AMF0 2.10. */
const ECMA_ARRAY = 8;
