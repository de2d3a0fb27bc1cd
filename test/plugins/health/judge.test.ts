import { describe, expect, it } from 'vitest';
import { type LiveReading, noFigures } from '../../../core/ports/media.ts';
import {
  type IssueName,
  isAudioForAll,
  issueNames,
  issueTexts,
  isVideoForAll,
  Judge,
} from '../../../plugins/health/judge.ts';
import { Meter } from '../../../runtime/media/live/meter.ts';
import { AUDIO, VIDEO } from '../../../runtime/media/live/timeline.ts';
import { grant } from '../../media/kit.ts';

const start = Date.UTC(2026, 0, 1);

interface Script {
  /** Frames a second; 0: no picture. */
  fps?: number;
  sound?: boolean;
  /** ms between key frames; 0: none. */
  gop?: number;
  /** bit/s */
  rate?: number;
  /** ms added to the time at which a message comes, by its media time. */
  delay?: (time: number) => number;
  /** ms added to the stamps of sound. */
  soundOffset?: number;
  /** True: this message waits on its way, and comes with the first one that does not. */
  holds?: (time: number) => boolean;
  /** False: this message is not sent. */
  sends?: (time: number, track: number) => boolean;
}

/** An encoder whose media goes through the counters of the media, judged once a second. */
class Encoder {
  readonly meter = new Meter();
  readonly judge = new Judge({ maxBitrate: 20_000_000 });
  codecs: string[] = ['avc1.640028', 'mp4a.40.2'];
  isPublishing = true;
  isDelayed = false;
  #now = start;
  #key = Number.NEGATIVE_INFINITY;
  #lastAt = start;
  /** Media time. */
  #time = 0;
  #held: { time: number; track: number }[] = [];

  constructor(expected: { hasVideo?: boolean; hasAudio?: boolean; frameRate?: number } = {}) {
    this.meter.expect({ hasVideo: true, hasAudio: true, frameRate: 30, ...expected });
  }

  /** Names of the issues after each second. */
  run(seconds: number, script: Script = {}): string[][] {
    const { fps = 30, sound = true, gop = 2000, rate = 2_500_000, delay = () => 0, soundOffset = 0 } = script;
    const told: string[][] = [];
    for (let second = 0; second < seconds; second += 1) {
      const messages: { time: number; track: number }[] = [];
      for (let frame = 0; frame < fps; frame += 1)
        messages.push({ time: this.#time + Math.round((frame * 1000) / fps), track: VIDEO });
      for (let tick = 0; sound && tick < 1000; tick += 20)
        messages.push({ time: this.#time + tick, track: AUDIO });
      messages.sort((a, b) => a.time - b.time);
      for (const { time, track } of messages) {
        if (script.sends && !script.sends(time, track)) continue;
        this.#held.push({ time, track });
        if (script.holds?.(time)) continue;
        const at = start + time + delay(time);
        this.#lastAt = Math.max(this.#lastAt, at);
        for (const { time, track } of this.#held.splice(0)) {
          this.meter.count(1000, at);
          this.meter.pass(track, 9000 + time + (track === AUDIO ? soundOffset : 0), at);
          if (track !== VIDEO || gop === 0 || time - this.#key < gop) continue;
          this.#key = time;
          this.meter.key();
        }
      }
      this.#time += 1000;
      this.#now += 1000;
      told.push(this.look(rate));
    }
    return told;
  }

  look(rate: number): string[] {
    const reading: LiveReading = {
      grant: grant({ token: 't' }),
      isPublishing: this.isPublishing,
      isDelayed: this.isDelayed,
      figures: { ...noFigures, ingestRate: rate, lastMediaAt: Math.min(this.#lastAt, this.#now) },
      vitals: this.meter.vitals(this.codecs, this.#now),
      viewers: 0,
    };
    const texts = this.judge.look(reading, this.#now).issues;
    return issueNames.filter((name) => texts.includes(issueTexts[name]));
  }
}

/** Seconds until it is shown, and after `isOver` until it is not any more. */
function expectRaisedAndCleared(encoder: Encoder, name: IssueName, bad: Script, within = 5): void {
  const told = encoder.run(12, bad);
  const first = told.findIndex((names) => names.includes(name));
  expect([name, first >= 0 && first < within, told]).toEqual([name, true, told]);
  // Key frames that come late, and a delay that is made up for, are over only when that has happened.
  const after = encoder.run(16);
  expect([name, after.at(-1)]).toEqual([name, []]);
}

describe('a judge', () => {
  it('finds nothing wrong with media that comes as it should', () => {
    for (const [fps, gop] of [
      [30, 2000],
      [25, 4000],
      [60, 1000],
      [24, 2000],
      [15, 3000],
    ] as const) {
      const encoder = new Encoder({ frameRate: fps });
      expect(encoder.run(40, { fps, gop }).flat()).toEqual([]);
    }
  });

  it('finds nothing wrong with sound alone, or a picture alone, that was announced so', () => {
    const radio = new Encoder({ hasVideo: false, frameRate: 0 });
    expect(radio.run(20, { fps: 0 }).flat()).toEqual([]);
    const silent = new Encoder({ hasAudio: false });
    expect(silent.run(20, { sound: false }).flat()).toEqual([]);
  });

  it('bears bursts of a quarter of a second, and a clock that is a little slow', () => {
    const encoder = new Encoder();
    expect(encoder.run(30, { delay: (time) => 250 - (time % 250) }).flat()).toEqual([]);
    const slow = new Encoder();
    expect(slow.run(600, { delay: (time) => time / 2000 }).flat()).toEqual([]);
  });

  it('finds nothing missing where few frames a second are what there is, from the start or from now on', () => {
    const slides = new Encoder({ frameRate: 1 });
    expect(slides.run(20, { fps: 1 }).flat()).toEqual([]);
    const screen = new Encoder({ frameRate: 0 });
    screen.run(10);
    expect(screen.run(30, { fps: 1 }).at(-1)).toEqual([]);
  });

  it('does not take what was held up on its way for more frames, or fewer', () => {
    const encoder = usual();
    const heldUp = encoder.run(12, { holds: (time) => time < 23_000 }).flat();
    expect(heldUp).toContain('stall');
    expect(heldUp).toContain('jitter');
    expect(heldUp.filter((name) => name.startsWith('frames'))).toEqual([]);
  });

  it('does not blame an encoder for what it could not see while its own process was held up', () => {
    const encoder = usual();
    encoder.isDelayed = true;
    expect(encoder.run(4, { holds: () => true, rate: 0 }).flat()).toEqual([]);
    encoder.isDelayed = false;
    // What lay waiting is counted in one second, and is no bitrate that anybody sends.
    const after = encoder.run(2, { rate: 40_000_000 }).flat();
    // Of arrival itself the meter knows when not to tell.
    expect(after.filter((name) => name !== 'jitter' && name !== 'late')).toEqual([]);
    expect(encoder.run(3, { sends: () => false }).at(-1)).toContain('stall');
  });

  it('does not take back what it said because its own process was held up', () => {
    const encoder = usual();
    encoder.run(6, { rate: 25_000_000 });
    encoder.isDelayed = true;
    const told = encoder.run(3, { holds: () => true, rate: 0 });
    encoder.isDelayed = false;
    told.push(...encoder.run(12, { rate: 25_000_000 }));
    expect(told.filter((names) => !names.includes('bitrateHigh'))).toEqual([]);
    expect(encoder.run(6).at(-1)).toEqual([]);
  });

  it('sees a bitrate that is too high from the start', () => {
    expect(new Encoder().run(5, { rate: 25_000_000 }).at(-1)).toEqual(['bitrateHigh']);
  });

  const usual = () => {
    const encoder = new Encoder();
    encoder.run(20);
    return encoder;
  };

  it('sees key frames further apart than 4 s, at the first one that does not come', () => {
    const told = new Encoder().run(6, { gop: 10_000 });
    expect(told.map((names) => names.includes('keyFrames'))).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
    ]);
    expectRaisedAndCleared(usual(), 'keyFrames', { gop: 10_000 });
  });

  it('sees that there is no key frame at all', () => {
    expect(new Encoder().run(5, { gop: 0 }).at(-1)).toContain('noKeyFrame');
  });

  it('sees a bitrate that falls to a tenth, and one that is too high', () => {
    expectRaisedAndCleared(usual(), 'bitrateLow', { rate: 200_000 });
    expectRaisedAndCleared(usual(), 'bitrateHigh', { rate: 25_000_000 });
  });

  it('sees too few frames, too many, and uneven ones', () => {
    expectRaisedAndCleared(usual(), 'framesFew', { fps: 12 });
    expectRaisedAndCleared(usual(), 'framesMany', { fps: 60 });
    // Of each half second only the first four of fifteen frames, and sound throughout.
    const stutters = (time: number, track: number) => track === AUDIO || time % 500 < 110;
    expectRaisedAndCleared(usual(), 'framesIrregular', { sends: stutters });
  });

  it('sees jitter, and media that is late', () => {
    expectRaisedAndCleared(usual(), 'jitter', { delay: (time) => (Math.floor(time / 2000) % 2) * 1500 });
    expectRaisedAndCleared(usual(), 'late', { delay: (time) => Math.min(2500, time - 20_000) });
  });

  it('sees media that is missing', () => {
    expectRaisedAndCleared(usual(), 'dropped', { sends: (time) => time % 3000 > 800 });
  });

  it('sees sound and picture apart', () => {
    expectRaisedAndCleared(usual(), 'drift', { soundOffset: 3000 }, 6);
  });

  it('sees a track that is gone, or that was announced and never came', () => {
    expectRaisedAndCleared(usual(), 'videoMissing', { fps: 0 });
    expectRaisedAndCleared(usual(), 'audioMissing', { sound: false });
    expect(new Encoder().run(5, { sound: false }).at(-1)).toEqual(['audioMissing']);
    expect(new Encoder().run(5, { fps: 0 }).at(-1)).toEqual(['videoMissing']);
  });

  it('sees that nothing comes, and says only that', () => {
    const encoder = usual();
    const told = encoder.run(6, { sends: () => false });
    expect(told[2]).toEqual(['stall']);
    expect(told.at(-1)).toEqual(['stall']);
    expect(encoder.run(16).at(-1)).toEqual([]);
  });

  it('sees codecs that not all browsers play', () => {
    const encoder = usual();
    encoder.codecs = ['hvc1.1.6.L93.B0', 'opus'];
    expect(encoder.run(1)).toEqual([['videoCodec', 'audioCodec']]);
    for (const codec of ['avc1.42e01e', 'avc1.4D401F', 'avc1.640028', 'mp4a.40.2', 'mp4a.40.5']) {
      expect([codec, isVideoForAll(codec), isAudioForAll(codec)]).toEqual([codec, true, true]);
    }
    for (const codec of ['avc1.6e0028', 'avc1.f40028', 'hev1.1', 'av01.0.04M.08'])
      expect(isVideoForAll(codec)).toBe(false);
    for (const codec of ['opus', 'ac-3', 'mp4a.6b']) expect(isAudioForAll(codec)).toBe(false);
  });

  it('says of a lost connection that it is lost, and forgets it when it is back', () => {
    const encoder = usual();
    encoder.isPublishing = false;
    expect(encoder.look(0)).toEqual(['held']);
    encoder.isPublishing = true;
    expect(encoder.look(2_500_000)).toEqual([]);
  });
});
