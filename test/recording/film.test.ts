import { describe, expect, it } from 'vitest';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { AAC_44100_MONO, AVC_240P } from '../hls/feed.ts';
import { atOnce } from './at-once.ts';
import { apply, fragmentOf, initOf, type Step } from './fragments.ts';
import { MemoryIo } from './memory-io.ts';
import { randomNumbers } from './random-numbers.ts';
import { type FilmTrack, readFilm, shownAt } from './read-film.ts';

const NONE = new Uint8Array(0);

/** A run as it was live, and what of it must be in the film. */
interface Live {
  readonly steps: Step[];
  /** Of the sound, Hz. */
  readonly rate?: number;
  /** Seconds on the clock of the run: when each sample is shown and how long it lasts, in order of decoding. */
  readonly shown: Record<'avc1' | 'mp4a', { readonly at: number; readonly lasts: number }[]>;
}

/** A run of any kind: pictures, sound or both, in any rhythm, beginning at any time. */
function anyRun(random: (below: number) => number): Live {
  const kind = random(5);
  const hasVideo = kind !== 0;
  const hasAudio = kind !== 1;
  const rate = random(2) === 0 ? 48_000 : 44_100;
  const init = initOf({
    video: hasVideo ? (random(3) === 0 ? AVC_240P : undefined) : NONE,
    audio: hasAudio ? (rate === 48_000 ? undefined : AAC_44100_MONO) : NONE,
  });
  const from = 5 + random(100_000) / 7;
  const step = [3000, 3003, 3600, 1500][random(4)];
  const delay = [0, 0, 2, 3][random(4)] * step;
  const late = random(3) === 0 ? random(700) / 1000 : random(20) / 1000;
  const live: Live = { rate, steps: [{ begin: init }], shown: { avc1: [], mp4a: [] } };
  let video = Math.round(from * 90_000);
  let audio = Math.round((from + late) * rate);
  const until = from + 1 + random(30) / 10;
  let frame = 0;
  for (let at = from, part = 0; at < until; part += 1) {
    const next = at + 0.2 + random(5) / 10;
    const pictures = [];
    const sounds = [];
    while (hasVideo && video < next * 90_000) {
      // Each other picture is shown before the one that is decoded before it.
      const cts = delay === 0 ? 0 : delay + (frame % 10 === 0 ? 0 : frame % 2 === 0 ? -step : step);
      pictures.push({ dts: video, duration: step, cts, size: 3 + random(9), isSync: frame % 10 === 0 });
      live.shown.avc1.push({ at: (video + cts) / 90_000, lasts: step / 90_000 });
      video += step;
      frame += 1;
    }
    while (hasAudio && audio < (next + delay / 90_000) * rate) {
      sounds.push({ dts: audio, duration: 1024, size: 2 + random(6) });
      live.shown.mp4a.push({ at: audio / rate, lasts: 1024 / rate });
      audio += 1024;
    }
    at = next;
    if (pictures.length + sounds.length === 0) continue;
    const bytes = fragmentOf({ video: pictures, audio: sounds });
    const startsSegment = part === 0 || random(3) === 0;
    live.steps.push({
      bytes,
      part: { wallStart: at * 1000, duration: 1, isIndependent: true, startsSegment },
    });
  }
  return live;
}

function film(runs: readonly Live[]) {
  const io = new MemoryIo();
  const file = atOnce(openGrowingFile(io));
  for (const { steps } of runs) {
    for (const step of steps) apply(file, step);
    file.pause();
  }
  const finished = atOnce(file.finish());
  if (finished === undefined) throw new Error('nothing was finished');
  return { ...readFilm(io.bytes), finished, bytes: io.bytes };
}

/** A tick of each clock, rounded. */
const CLOSE = 1 / 44_100 + 1 / 90_000;

describe('a film', () => {
  it('has all samples of all runs, in sync, one run behind the other without a hole', () => {
    const random = randomNumbers(11);
    for (let round = 0; round < 150; round += 1) {
      const runs = Array.from({ length: 1 + random(5) }, () => anyRun(random));
      const { tracks, timescale, duration, finished } = film(runs);
      const done = new Map<FilmTrack, number>();
      let end = 0;
      for (const [index, run] of runs.entries()) {
        let shift: number | undefined;
        let first = Number.POSITIVE_INFINITY;
        let last = 0;
        const starts: number[] = [];
        for (const type of ['avc1', 'mp4a'] as const) {
          if (run.shown[type].length === 0) continue;
          const track = tracks.find(
            (other) => other.type === type && (type === 'avc1' || other.timescale === run.rate),
          );
          if (track === undefined) throw new Error(`there is no ${type}`);
          const from = done.get(track) ?? 0;
          done.set(track, from + run.shown[type].length);
          starts.push(Math.min(...run.shown[type].slice(0, 5).map(({ at }) => at)));
          run.shown[type].forEach(({ at, lasts }, place) => {
            const time = shownAt(track, track.samples[from + place], timescale);
            shift ??= time - at;
            expect(
              Math.abs(time - at - shift),
              `round ${round}, run ${index}, ${type} ${place}`,
            ).toBeLessThan(CLOSE);
            first = Math.min(first, time);
            last = Math.max(last, time + lasts);
          });
        }
        // Nothing of a run is shown before all of the one before was, nor long after: what lies between is what the
        // run itself began with, sound before the first picture or pictures before the first sound, and the hold.
        const own = Math.max(...starts) - Math.min(...starts);
        if (index > 0) {
          expect(first).toBeGreaterThan(end - own - CLOSE);
          expect(first - end).toBeLessThan(0.2 + CLOSE);
        }
        end = Math.max(end, last);
      }
      for (const track of tracks) {
        expect(track.samples).toHaveLength(done.get(track) ?? 0);
        for (let i = 1; i < track.samples.length; i += 1)
          expect(track.samples[i].dts).toBeGreaterThan(track.samples[i - 1].dts);
      }
      // It begins at 0, and lasts as long as what is shown last.
      const begins = tracks.map((track) =>
        track.edits[0].from < 0 ? track.edits[0].duration / timescale : 0,
      );
      expect(Math.min(...begins)).toBeLessThan(CLOSE);
      expect(Math.abs(duration / timescale - end)).toBeLessThan(CLOSE);
      expect(Math.max(...tracks.map(({ shown }) => shown))).toBe(duration);
      expect(finished.spec.duration).toBeCloseTo(end, 2);
    }
  });

  it('finds the bytes of each sample', () => {
    const random = randomNumbers(3);
    const runs = Array.from({ length: 4 }, () => anyRun(random));
    const { tracks, bytes } = film(runs);
    for (const { samples } of tracks)
      for (const { at, size } of samples) {
        const own = bytes.subarray(at, at + size);
        expect(own.every((byte) => byte === own[0] && byte > 0)).toBe(true);
      }
  });

  it('has each configuration once, and samples that know theirs', () => {
    const run = (video: Uint8Array | undefined, at: number): Live => ({
      steps: [
        { begin: initOf({ video, audio: NONE }) },
        {
          bytes: fragmentOf({ video: [{ dts: at * 90_000, duration: 90_000, size: 9 }] }),
          part: { wallStart: at * 1000, duration: 1, isIndependent: true, startsSegment: true },
        },
      ],
      shown: { avc1: [], mp4a: [] },
    });
    const { tracks, finished } = film([
      run(undefined, 1),
      run(AVC_240P, 9),
      run(AVC_240P, 20),
      run(undefined, 3),
    ]);
    expect(tracks).toHaveLength(1);
    expect(tracks[0].entries).toBe(2);
    expect(tracks[0].samples.map(({ entry }) => entry)).toEqual([0, 1, 1, 0]);
    expect(tracks[0].samples.map(({ dts }) => dts)).toEqual([0, 90_000, 180_000, 270_000]);
    expect(finished.spec.tracks).toMatchObject([{ width: 640, fps: 1, duration: 4 }]);
  });

  it('keeps sound in step with pictures that were away for hours', () => {
    const hour = (track: 'video' | 'audio', at: number, count: number) => {
      const ticks = track === 'video' ? 90_000 * 3600 : 48_000 * 3600;
      return Array.from({ length: count }, (_, i) => ({
        dts: (at + i) * ticks,
        duration: ticks,
        size: 4 + i,
      }));
    };
    const step = (tracks: Parameters<typeof fragmentOf>[0]): Step => ({
      bytes: fragmentOf(tracks),
      part: { wallStart: 0, duration: 1, isIndependent: true, startsSegment: true },
    });
    const both = { begin: initOf() };
    const { tracks, timescale, duration } = film([
      {
        steps: [both, step({ video: hour('video', 1, 2), audio: hour('audio', 1, 2) })],
        shown: { avc1: [], mp4a: [] },
      },
      {
        steps: [{ begin: initOf({ video: NONE }) }, step({ audio: hour('audio', 1, 9) })],
        shown: { avc1: [], mp4a: [] },
      },
      {
        steps: [both, step({ video: hour('video', 5, 4), audio: hour('audio', 5, 4) })],
        shown: { avc1: [], mp4a: [] },
      },
    ]);
    // 15 hours: more than 32 bits of ticks. ffmpeg takes a sample that lasts 2^31 for damaged: the last picture is repeated.
    expect(duration / timescale).toBe(15 * 3600);
    const [video, audio] = tracks;
    expect(audio.samples).toHaveLength(15);
    expect(video.samples).toHaveLength(7);
    expect(video.samples[2]).toMatchObject({
      at: video.samples[1].at,
      size: video.samples[1].size,
      isSync: true,
    });
    for (let i = 1; i < 7; i += 1)
      expect(video.samples[i].dts - video.samples[i - 1].dts).toBeLessThan(2 ** 31);
    expect(video.samples.slice(-4).map((sample) => shownAt(video, sample, timescale) / 3600)).toEqual([
      11, 12, 13, 14,
    ]);
    expect(audio.samples.slice(-4).map((sample) => shownAt(audio, sample, timescale) / 3600)).toEqual([
      11, 12, 13, 14,
    ]);
  });

  const second = (at: number, tracks: { video?: number; audio?: number } = {}): Step => ({
    bytes: fragmentOf({
      video: [{ dts: tracks.video ?? at * 90_000, duration: 90_000, size: 9 }],
      audio: [{ dts: tracks.audio ?? at * 48_000, duration: 48_000, size: 9 }],
    }),
    part: { wallStart: 0, duration: 1, isIndependent: true, startsSegment: false },
  });
  const none = { avc1: [], mp4a: [] };

  it.each([
    ['of the pictures, far ahead', { video: 2 ** 51 }],
    ['of the pictures, hours back', { video: 0 }],
    ['of the sound, far ahead', { audio: 2 ** 51 }],
    ['of both, far ahead', { video: 2 ** 51, audio: 2 ** 51 }],
    ['of both, back at the start', { video: 0, audio: 0 }],
  ])('goes on at once, and in step, when one time was damaged: %s', (_, times) => {
    const steps = [
      { begin: initOf() },
      second(9000),
      second(9001),
      second(9002, times),
      second(9003),
      second(9004),
    ];
    const { duration, timescale, tracks } = film([{ steps, shown: none }]);
    expect(duration / timescale).toBe(5);
    for (const track of tracks)
      expect(track.samples.map((sample) => shownAt(track, sample, timescale))).toEqual([0, 1, 2, 3, 4]);
  });

  it('has sound at another rate in a track of its own', () => {
    // 32 kHz, stereo.
    const low = initOf({ audio: Uint8Array.of(0x12, 0x90) });
    const lower: Step = {
      bytes: fragmentOf({
        video: [{ dts: 900_000, duration: 90_000, size: 9 }],
        audio: [{ dts: 320_000, duration: 32_000, size: 9 }],
      }),
      part: { wallStart: 0, duration: 1, isIndependent: true, startsSegment: true },
    };
    const { tracks, timescale, finished } = film([
      { steps: [{ begin: initOf() }, second(50), second(51)], shown: none },
      { steps: [{ begin: low }, lower], shown: none },
      { steps: [{ begin: initOf() }, second(7)], shown: none },
    ]);
    expect(tracks.map(({ timescale: own }) => own)).toEqual([90_000, 48_000, 32_000]);
    const shown = tracks.map((track) => track.samples.map((sample) => shownAt(track, sample, timescale)));
    expect(shown).toEqual([[0, 1, 2, 3], [0, 1, 3], [2]]);
    expect(finished.spec.tracks).toMatchObject([
      { duration: 4 },
      { sampleRate: 48_000 },
      { sampleRate: 32_000 },
    ]);
  });

  it('holds sound in step that was away within a run', () => {
    const quiet: Step = {
      bytes: fragmentOf({
        video: Array.from({ length: 20 }, (_, i) => ({ dts: (11 + i) * 90_000, duration: 90_000, size: 9 })),
      }),
      part: { wallStart: 0, duration: 1, isIndependent: true, startsSegment: false },
    };
    const before = [second(4000), second(4001), second(4002)];
    const { tracks, timescale } = film([
      { steps: [{ begin: initOf() }, ...before], shown: none },
      { steps: [{ begin: initOf() }, second(10), quiet, second(31)], shown: none },
    ]);
    const shown = tracks.map((track) => shownAt(track, track.samples[track.samples.length - 1], timescale));
    expect(shown).toEqual([24, 24]);
  });

  it('holds sound in step that comes later than the pictures of its run', () => {
    const quiet: Step = {
      bytes: fragmentOf({ video: [{ dts: 90_000, duration: 90_000, size: 9 }] }),
      part: { wallStart: 0, duration: 1, isIndependent: true, startsSegment: false },
    };
    const away: Step = {
      bytes: fragmentOf({ video: [{ dts: 900_000, duration: 90_000 * 600, size: 9 }] }),
      part: { wallStart: 0, duration: 1, isIndependent: true, startsSegment: false },
    };
    const { tracks, timescale } = film([
      { steps: [{ begin: initOf() }, second(10)], shown: none },
      { steps: [{ begin: initOf({ audio: NONE }) }, away], shown: none },
      { steps: [{ begin: initOf() }, quiet, second(2)], shown: none },
    ]);
    const shown = tracks.map((track) => shownAt(track, track.samples[track.samples.length - 1], timescale));
    expect(shown).toEqual([602, 602]);
  });
});
