import type { PublishGrant } from '../../../core/ports/media.ts';
import type { Recorder } from '../../../core/ports/recorder.ts';
import type { IndexedInit, IndexedSegment } from '../../../core/vod/segment-index.ts';
import type { PublishedInit, PublishedPart } from '../publish/subscriber.ts';

/** The recorder as the media of this process sees it. */
export interface MediaRecorder extends Recorder {
  /**
   * Begins or continues the recording file of a granted publish with `recording`. Undefined: nothing is recorded, because the
   * file was finished. `rendition`: the file of the rendition of that profile, beside that of the source.
   */
  feed(grant: PublishGrant, rendition?: string): RecordingFeed | undefined;
}

/** What a packager hands over of one publish. All calls return at once: they run on the thread that reads sockets. */
export interface RecordingFeed {
  /** What follows needs this init segment, and is not continuous with what was before. */
  begin(init: PublishedInit): void;
  /** A part as it was cut. The bytes are copied during the call. False: it is left out, up to the next key frame. */
  part(bytes: Uint8Array, part: PublishedPart): boolean;
  /** The publish ended; another may follow. */
  end(): void;
  /** What is wrong with the recording now, for people. */
  readonly issues: readonly string[];
  /** What can be read of the file, also what earlier publishes wrote. */
  readonly written: WrittenRecording;
}

/** The segments that are whole and in the file; there are only ever more. */
export interface WrittenRecording {
  readonly inits: readonly IndexedInit[];
  readonly count: number;
  /** 0 ≤ number < count. */
  segment(number: number): IndexedSegment;
  /** Bytes of the file, read lazily and off the thread that reads sockets; undefined: the file is gone. */
  read(from: number, to: number, signal?: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined>;
}
