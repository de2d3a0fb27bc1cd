/**
 * What a plugin with `media` sees of a broadcast, and what it may add to its playlist. All of it is called on the thread that
 * reads sockets, in the middle of receiving media: return at once, and hand long work to a worker or a process. Time that a
 * plugin spends here is missing for every broadcast and viewer of the node.
 */

/**
 * One publish: from the grant to the end of the connection. An encoder that comes back is another publish, of the same session
 * if it comes in time. Times are milliseconds on the timeline of the live playlist: the decode times of its fragments.
 */
export interface PublishedBroadcast {
  readonly streamId: string;
  readonly sessionId: string;
  readonly playbackId: string;
  /** Of the stream. */
  readonly account: string;
  /** Values of the fields that plugins add to streams, by name, as they were when the session began. */
  readonly fields: Readonly<Record<string, unknown>>;
  /**
   * Shows a problem in `issues` of the stream, in place of the one before: what is wrong, then what to do. At most 300 characters
   * are shown. Undefined: nothing is wrong. A stream with an issue is shown as not healthy.
   */
  issue(text: string | undefined): void;
  /**
   * Offers subtitles in the live playlist. Best called at the beginning: players read the list of tracks once. The publish that
   * follows goes on with the track if it asks for the same name and language.
   *
   * Throws RangeError for a name or language that a playlist cannot have, for a track that is there already, and for the ninth
   * track of a broadcast.
   */
  textTrack(options: TextTrackOptions): TextTrack;
  /**
   * Offers another version of the video in the live playlist. Throws RangeError for sizes that no rendition has, for a name that
   * is there already, and for the fifth rendition that plugins offer.
   */
  rendition(options: RenditionOptions): OfferedRendition;
}

/** What a plugin wants of a publish. A subscriber that throws, or returns a promise that rejects, is not called again. */
export interface MediaSubscriber {
  /** The parts that follow need this init segment, and do not continue what was before. */
  begin?(init: MediaInit): void;
  /** A part as viewers get it: fragmented mp4. The bytes are good during the call only. */
  part?(bytes: Uint8Array, part: MediaPart): void;
  /** What the samples of a track need from here on. */
  configure?(config: SampleConfig): void;
  /**
   * One access unit of video, or one frame of audio, in the order of decoding, as the encoder sent it. It comes before the part that
   * holds it. Sample and bytes are good during the call only.
   */
  sample?(sample: MediaSample): void;
  /** The publish is over, and all of it was handed over. Its offers are closed. */
  end?(): void;
}

export interface MediaInit {
  /** `ftyp` and `moov`. Good during the call only. */
  readonly bytes: Uint8Array;
  /** RFC 6381. */
  readonly codecs: readonly string[];
  /** Pixels; undefined without video. */
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly frameRate: number | undefined;
}

export interface MediaPart {
  /** Decode time of its first sample, ms. */
  readonly time: number;
  /** ms */
  readonly duration: number;
  /** Epoch ms of its first sample, as EXT-X-PROGRAM-DATE-TIME says it. */
  readonly wallTime: number;
  /** It contains a key frame, not necessarily in front. */
  readonly isIndependent: boolean;
  /** A segment begins with it. */
  readonly startsSegment: boolean;
}

export type SampleConfig = VideoSampleConfig | AudioSampleConfig;

export interface VideoSampleConfig {
  readonly track: 'video';
  /** RFC 6381. */
  readonly codec: string;
  /** AVCDecoderConfigurationRecord, HEVCDecoderConfigurationRecord or AV1CodecConfigurationRecord. Good during the call only. */
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface AudioSampleConfig {
  readonly track: 'audio';
  readonly codec: string;
  /** AudioSpecificConfig, or the OpusHead packet. Good during the call only. */
  readonly bytes: Uint8Array;
  /** Hz */
  readonly sampleRate: number;
  readonly channels: number;
}

export interface MediaSample {
  readonly track: 'video' | 'audio';
  /** When it is decoded, ms. Never earlier than the sample before it in its track; within 50 ms of the time in the playlist. */
  readonly time: number;
  /** By how much later a picture is shown than decoded, ms; 0 for audio. */
  readonly shift: number;
  /** A decoder can begin here; always true for audio. */
  readonly isKey: boolean;
  /** How many bytes it has. */
  readonly size: number;
  /**
   * NAL units behind their lengths (H.264, H.265), a temporal unit (AV1), or an audio frame without header. A view that is made for
   * the first who looks at it: who needs only the size takes `size`.
   */
  readonly bytes: Uint8Array;
}

export interface TextTrackOptions {
  /** For people, 1 to 64 characters without quotes. Unique among the tracks of a broadcast. */
  readonly name: string;
  /** BCP 47: `en`, `pt-BR`. */
  readonly language: string;
  /** Players show it unless the viewer chooses otherwise. The first such track counts. */
  readonly isDefault?: boolean;
}

/** Subtitles of a live playlist, as WebVTT. */
export interface TextTrack {
  /**
   * Adds a cue. It is in each part of the playlist that it overlaps and that is not finished yet, or in the next part if it is
   * late. Times in ms on the timeline of the playlist.
   *
   * False: it was not taken. Taken are cues of at most 1024 bytes of text (UTF-8) and 10 min, that begin at most 10 min ahead and end
   * after the oldest listed media, at most 200 at one time. Nothing is taken after the end of the publish.
   */
  cue(cue: TextCue): boolean;
  /** Takes the track out of the playlist for viewers who come now. */
  close(): void;
}

export interface TextCue {
  readonly start: number;
  readonly end: number;
  /** Plain text, shown as it is; lines are separated by `\n`. */
  readonly text: string;
}

export interface RenditionOptions {
  /** For the log. */
  readonly name: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** bit/s of the video. */
  readonly bitrate: number;
  /** Pictures a second. Absent: one for each picture of the source. */
  readonly frameRate?: number;
  /**
   * Encodes the video once from here to the end of the publish, or until the source changes its settings: then it is called again.
   * Resolves when the media is over and everything was written. If it throws, it is called again after some seconds; after
   * five times in a row the rendition is given up.
   */
  encode(run: RenditionRun): Promise<void>;
}

/** One run of an encoder. */
export interface RenditionRun {
  readonly source: {
    /** RFC 6381. */
    readonly codec: string;
    readonly width: number;
    readonly height: number;
    readonly frameRate: number | undefined;
  };
  /**
   * Seconds on the timeline of the media. Earlier pictures are there only to decode the others and must not be encoded. Undefined:
   * all are encoded. The first encoded picture is a key frame.
   */
  readonly from: number | undefined;
  /** Fragmented mp4 of the source: an init segment, then parts as they are made, as fast as it is read. To be read once. */
  readonly media: AsyncIterable<Uint8Array>;
  /**
   * Takes what an encoder wrote, in pieces of any size: fragmented mp4 with one track, number 1, of H.264 without B-frames, whose
   * timescale is 90000 and whose pictures have the times of the source's. Audio is added from the source. Throws for anything else.
   */
  write(bytes: Uint8Array): void;
  /** Aborted when the run is over: end the encoder. */
  readonly signal: AbortSignal;
}

export interface OfferedRendition {
  /** Takes it out of the playlist and ends its run. */
  close(): void;
}
