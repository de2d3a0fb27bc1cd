/** What a decoder configuration says about video, whatever the codec. */
export interface VideoConfig {
  /** The sample entry (ISO/IEC 14496-12 8.5.2), and the box in it that holds the record. */
  readonly entry: 'avc1' | 'avc3' | 'hvc1' | 'av01';
  readonly box: 'avcC' | 'hvcC' | 'av1C';
  /** RFC 6381. */
  readonly codec: string;
  /** Pixels after cropping, 1..65535. */
  readonly width: number;
  readonly height: number;
  /** Sample aspect ratio; 1:1 when not known. */
  readonly sarWidth: number;
  readonly sarHeight: number;
  /** Frames per second, 1..300, when the configuration gives a sensible one. */
  readonly frameRate: number | undefined;
}

/** What a decoder configuration says about audio. */
export interface AudioConfig {
  readonly entry: 'mp4a' | 'Opus';
  readonly codec: string;
  /** Hertz; also the timescale, in which a frame lasts `frameLength`. */
  readonly sampleRate: number;
  readonly channels: number;
  /** Samples of a frame of which nothing better is known. */
  readonly frameLength: number;
}

/** Why a configuration cannot be read, in plain words that follow "cannot be read: ". */
export type Malformed = { readonly malformed: string };
