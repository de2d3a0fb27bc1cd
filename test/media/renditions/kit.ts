import { onTestFinished } from 'vitest';
import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import type { BroadcastAttachment } from '../../../runtime/media/broadcast/broadcast.ts';
import type { OutputConfig } from '../../../runtime/media/live/config.ts';
import type { MemoryShare } from '../../../runtime/media/publish/memory-budget.ts';
import type {
  FedPictures,
  Ladder,
  LadderRun,
  RenditionMaker,
} from '../../../runtime/media/renditions/ladder.ts';
import { Feed } from '../../hls/feed.ts';
import { Viewer } from '../../hls/viewer.ts';
import { ScriptedProcess, type ScriptedProcessOptions } from './process.ts';

/** Makes renditions with scripted processes, one after another, at once unless told otherwise. */
export class ScriptedMaker implements RenditionMaker {
  readonly ladders: Ladder[] = [];
  readonly runs: LadderRun[] = [];
  /** What all processes were told of the pictures that they were fed. */
  readonly fed: FedPictures[] = [];
  /** What went wrong with processes. */
  readonly errors: unknown[] = [];
  ends = 0;
  /** Processes give nothing back while it is true; what they have then comes all at once. */
  isHeld = false;
  /** Whether another process may begin. */
  isWilling = true;
  /** Changes what a process is. */
  change: Partial<ScriptedProcessOptions> = {};
  /** Changes what a process writes. */
  garble: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes;
  #kill = () => {};
  #wake = () => {};

  get ladder(): Ladder {
    return this.ladders[this.ladders.length - 1];
  }

  begin(ladder: Ladder): () => void {
    this.ladders.push(ladder);
    const stop = new AbortController();
    this.#work(ladder, stop.signal).catch((error) => this.errors.push(error));
    return () => {
      this.ends += 1;
      stop.abort();
      this.wake();
    };
  }

  /** The process that runs ends in the middle. */
  kill(): void {
    this.#kill();
    this.wake();
  }

  /** After a change of the fields. */
  wake(): void {
    const wake = this.#wake;
    this.#wake = () => {};
    wake();
  }

  async #work(ladder: Ladder, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const run = await ladder.next(signal);
      if (run === undefined) return;
      this.runs.push(run);
      const over = new AbortController();
      this.#kill = () => over.abort();
      try {
        await this.#encode(run, { ladder, signal: AbortSignal.any([over.signal, signal]) });
      } catch (error) {
        this.errors.push(error);
        run.end({ isWhole: false });
        ladder.suspend();
        // Whoever makes them waits before he tries again.
        await settled(20);
      }
      while (!this.isWilling && !signal.aborted)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  async #encode(run: LadderRun, options: { ladder: Ladder; signal: AbortSignal }): Promise<void> {
    const { ladder, signal } = options;
    const process = new ScriptedProcess({ profiles: ladder.profiles, from: run.from, ...this.change });
    const give = async (bytes: Uint8Array) => {
      const garbled = this.garble(bytes);
      while (this.isHeld && !signal.aborted)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      // As a pipe would cut it.
      for (let at = 0; at < garbled.length && !signal.aborted; at += 777)
        run.take(garbled.slice(at, at + 777));
    };
    for await (const { bytes, pictures } of run.media(signal)) {
      if (pictures) this.fed.push(pictures);
      await give(process.read(bytes));
    }
    if (!signal.aborted) await give(process.finish());
    run.end({ isWhole: !signal.aborted });
  }
}

export function profileOf(name: string, changes: Partial<RenditionProfile> = {}): RenditionProfile {
  return { name, width: 640, height: 360, bitrate: 600_000, fps: 0, ...changes };
}

export const TWO = [profileOf('360p'), profileOf('240p', { width: 322, height: 242, bitrate: 200_000 })];

/** A feed whose publishes have renditions, and a viewer of each of its playlists. */
export function broadcast(
  options: {
    profiles?: readonly RenditionProfile[];
    config?: Partial<OutputConfig>;
    memory?: MemoryShare;
    isUneven?: boolean;
    recording?: BroadcastAttachment['recording'];
  } = {},
) {
  const { profiles = TWO, config, memory, isUneven = false, recording } = options;
  const maker = new ScriptedMaker();
  const feed = new Feed(config, memory, maker);
  const playlists = ['source.m3u8', ...profiles.map((_, index) => `r${index + 1}.m3u8`)];
  const viewers = playlists.map((playlist) => new Viewer(feed, { playlist, isUneven }));
  let publishes = 0;
  // A maker that is refused memory would try again as long as the process lives.
  onTestFinished(() => feed.output.end());
  return {
    feed,
    maker,
    source: viewers[0],
    renditions: viewers.slice(1),
    viewers,
    attach: (changes = {}) =>
      feed.attach({ profiles, discontinuitySequence: publishes++, ...changes }, recording),
    /** What is under way in this process comes to rest; then all viewers look. */
    async look() {
      await settled();
      for (const viewer of viewers) await viewer.look();
    },
  };
}

/** Blobs are read in other turns of the event loop. */
export async function settled(turns = 3): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** When the pictures of a viewer's segment are shown, in that order, and which of them a decoder can begin with; ticks. */
export function picturesOf(
  viewer: Viewer,
  sequence: number,
): { shown: number; isKey: boolean; bytes: Uint8Array }[] {
  const pictures: { shown: number; isKey: boolean; bytes: Uint8Array }[] = [];
  for (const run of viewer.runs) {
    if (run.sequence !== sequence || run.track !== 1) continue;
    let decoded = run.start;
    for (const { duration, cts, isSync, bytes } of run.samples) {
      pictures.push({ shown: decoded + cts, isKey: isSync, bytes });
      decoded += duration;
    }
  }
  return pictures.sort((a, b) => a.shown - b.shown);
}
