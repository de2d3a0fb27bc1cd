import type { Clock } from '../../../core/ports/clock.ts';
import type { VideoConfig } from '../codecs/config.ts';
import { avcHeader, PICTURE_HEAD, SOUND_HEAD, soundHeader, writePicture, writeSound } from '../flv/body.ts';
import { AUDIO_AAC, AUDIO_OPUS, VIDEO_AVC } from '../flv/message.ts';
import type { BufferPool } from '../live/pool.ts';
import { CTS, DTS, OFFSET, type Run, SIZE, STRIDE, SYNC } from '../mp4/fragment.ts';
import type { AudioEntry } from '../mp4/init.ts';
import type { PushRelay } from './relay.ts';

/**
 * Hands the parts of a rendition to its relay, as an encoder would have sent them: pictures and sound in the order in which they
 * are decoded. So a rendition is pushed as the source is. Times are those of the playlist: where parts are missing, as while
 * renditions are not made, they leap. What comes behind begins with a key frame, for which pushes wait by themselves (`begin`).
 */
export class RenditionRelay {
  readonly #options: { readonly relay: PushRelay; readonly clock: Clock; readonly pool: BufferPool };
  #audio: AudioEntry | undefined;
  /** Heard later than the pictures of their part are decoded: they go with those of the next. */
  #sounds: { readonly run: Run; row: number }[] = [];

  constructor(options: { relay: PushRelay; clock: Clock; pool: BufferPool }) {
    this.#options = options;
  }

  /** It is pushed somewhere. */
  get isActive(): boolean {
    return this.#options.relay.isActive;
  }

  /** Nothing that follows needs what came before. `isPublish`: it is of another publish. */
  begin(
    tracks: {
      /** H.264. `record`: AVCDecoderConfigurationRecord. */
      readonly video: { readonly config: VideoConfig; readonly record: Uint8Array };
      /** That of the source. */
      readonly audio: AudioEntry | undefined;
      /** Pictures a second, 1..300. */
      readonly frameRate: number | undefined;
      /** bit/s of the pictures. */
      readonly bitrate: number;
    },
    { isPublish }: { isPublish: boolean },
  ): void {
    const { video, audio, frameRate, bitrate } = tracks;
    const { relay } = this.#options;
    this.#soundBefore(Number.POSITIVE_INFINITY);
    this.#audio = audio;
    if (isPublish) relay.begin();
    relay.announce({
      ...{ hasVideo: true, hasAudio: audio !== undefined, frameRate },
      ...{ videoRate: bitrate / 1000, audioRate: undefined },
    });
    const picture = avcHeader(video.record);
    const { config } = video;
    relay.configureVideo({ bytes: picture, start: 0, end: picture.length, codec: VIDEO_AVC, config });
    if (audio === undefined) return;
    const { entry } = audio.config;
    const sound = soundHeader(entry, audio.record);
    const codec = entry === 'mp4a' ? AUDIO_AAC : AUDIO_OPUS;
    relay.configureAudio({ bytes: sound, start: 0, end: sound.length, codec, config: audio.config });
  }

  /** A part as it was put together; `pictures` in ticks of 1/90000 s, good during the call. `sound` stays as it is. */
  part(pictures: Run, sound: Run | undefined): void {
    const { relay, clock, pool } = this.#options;
    if (!relay.isActive) {
      this.#sounds = [];
      return;
    }
    if (sound !== undefined) this.#sounds.push({ run: sound, row: 0 });
    const buffer = pool.take(largest(pictures) + PICTURE_HEAD);
    const now = clock.now();
    for (let row = 0; row < pictures.taken * STRIDE; row += STRIDE) {
      const { table, bytes } = pictures;
      const time = Math.round(table[row + DTS] / 90);
      this.#soundBefore(time);
      const cts = Math.round((table[row + DTS] + table[row + CTS]) / 90) - time;
      const isKey = table[row + SYNC] === 1;
      const sample = { bytes, at: table[row + OFFSET], size: table[row + SIZE] };
      relay.video(buffer, 0, writePicture(buffer, { ...sample, cts, isKey }), time, isKey, now);
    }
    this.#soundBefore(pictures.until / 90);
    pool.give(buffer);
  }

  /** The publisher is gone for now. The rest of the publish may still come. */
  hold(): void {
    this.#options.relay.hold();
  }

  /** There is no such rendition any more. */
  end(): void {
    this.#soundBefore(Number.POSITIVE_INFINITY);
    this.#options.relay.end();
  }

  /** What is heard before `time`, ms. */
  #soundBefore(time: number): void {
    if (this.#audio === undefined || this.#sounds.length === 0) return;
    const { relay, clock, pool } = this.#options;
    const { config, timescale = config.sampleRate } = this.#audio;
    const now = clock.now();
    for (let sound = this.#sounds[0]; sound !== undefined; sound = this.#sounds[0]) {
      const { table, bytes, taken } = sound.run;
      const buffer = pool.take(largest(sound.run) + SOUND_HEAD);
      for (; sound.row < taken * STRIDE; sound.row += STRIDE) {
        const { row } = sound;
        const at = (table[row + DTS] * 1000) / timescale;
        if (at >= time) break;
        const sample = { bytes, at: table[row + OFFSET], size: table[row + SIZE] };
        relay.audio(buffer, 0, writeSound(buffer, { ...sample, format: config.entry }), at, now);
      }
      pool.give(buffer);
      if (sound.row < taken * STRIDE) return;
      this.#sounds.shift();
    }
  }
}

/** Bytes of the largest sample. */
function largest({ table, taken }: Run): number {
  let most = 0;
  for (let row = 0; row < taken * STRIDE; row += STRIDE) most = Math.max(most, table[row + SIZE]);
  return most;
}
