import { pause } from '../../core/base/timing.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { until } from '../e2e/harness/wait.ts';
import { type InitTrack, type ParsedRun, readFragments } from '../hls/boxes.ts';
import type { ListedSegment, PlaylistOptions } from '../hls/checker.ts';
import { Follower } from '../hls/follower.ts';
import { attributes, must } from '../hls/rules.ts';

const clock = systemClock();

/** A variant as the multivariant playlist tells of it. */
export interface Variant {
  /** `source`, `r1`, … */
  readonly name: string;
  readonly url: string;
  /** bit/s. */
  readonly bandwidth: number;
  /** `854x480`; undefined: it is not said. */
  readonly resolution: string | undefined;
  readonly frameRate: number | undefined;
  readonly codecs: readonly string[];
}

/** What a multivariant playlist offers now, in its order. */
export async function variantsOf(url: string): Promise<Variant[]> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(15_000) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text}`);
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    if (!line.startsWith('#EXT-X-STREAM-INF:')) return [];
    const list = attributes(line.slice('#EXT-X-STREAM-INF:'.length));
    const uri = lines[at + 1];
    must(/^[^#\s]/.test(uri), 'a variant has its URI behind it');
    const frameRate = list.get('FRAME-RATE');
    return {
      name: uri.replace(/\.m3u8.*$/, ''),
      url: new URL(uri, url).href,
      bandwidth: Number(list.get('BANDWIDTH')),
      resolution: list.get('RESOLUTION'),
      frameRate: frameRate === undefined ? undefined : Number(frameRate),
      codecs: (list.get('CODECS') ?? '').split(','),
    };
  });
}

/** Names of what is offered now; none when nothing is. */
export async function offered(url: string): Promise<string[]> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(15_000) });
  const text = await answer.text();
  if (answer.status !== 200) return [];
  return [...text.matchAll(/^([^#\s]+)\.m3u8/gm)].map(([, name]) => name);
}

/** Waits until the variants with these names, and no others, are offered. */
export const offers = (url: string, options: { names: readonly string[]; within: number }) =>
  until(
    `the variants ${options.names}`,
    async () => {
      const seen = await offered(url);
      if (seen.toSorted().join() === options.names.toSorted().join()) return true;
      throw new Error(`${seen}`);
    },
    { within: options.within, every: 100 },
  );

/** Waits until every variant lists whole segments of so many seconds: who comes from then on has them between itself and the newest. */
export const lists = (url: string, options: { seconds: number; within: number }) =>
  until(
    `${options.seconds} s of every variant`,
    async () => {
      const listed = await Promise.all((await variantsOf(url)).map((variant) => secondsListed(variant.url)));
      if (listed.every((seconds) => seconds >= options.seconds)) return true;
      throw new Error(`${listed}`);
    },
    { within: options.within, every: 200 },
  );

async function secondsListed(url: string): Promise<number> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(15_000) });
  const durations = (await answer.text()).matchAll(/^#EXTINF:([\d.]+)/gm);
  return [...durations].reduce((sum, [, seconds]) => sum + Number(seconds), 0);
}

/** A part of a variant, with its media. */
export interface SeenPart {
  readonly duration: number;
  readonly isIndependent: boolean;
  readonly runs: readonly ParsedRun[];
}

/** A whole segment of a variant, with its media. */
export interface SeenSegment extends Omit<ListedSegment, 'parts'> {
  readonly parts: readonly SeenPart[];
  readonly tracks: readonly InitTrack[];
  /** Its init, and itself. */
  readonly bytes: readonly [init: Uint8Array, media: Uint8Array];
}

/** A player of one variant that takes every part by blocking reload and checks all that it is given. */
export interface Following extends AsyncDisposable {
  readonly name: string;
  /** The whole segments so far whose parts were seen one by one, by their number. */
  readonly segments: ReadonlyMap<number, SeenSegment>;
  /** Answers other than 200, in words. A playlist that went away and came back is followed anew. */
  readonly refusals: readonly string[];
  /** Rules that were broken. */
  readonly problems: readonly string[];
  /** When the newest part was seen, `performance.now()`. */
  readonly newestAt: number;
}

/** Follows a media playlist until it is disposed of. `name` is for messages. */
export function follow(url: string, options: PlaylistOptions & { readonly name: string }): Following {
  const leaving = new AbortController();
  const { signal } = leaving;
  const segments = new Map<number, SeenSegment>();
  const refusals: string[] = [];
  const problems: string[] = [];
  let newestAt = performance.now();
  const get = async (uri: string) => {
    const answer = await fetch(new URL(uri, url), {
      signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
    });
    if (answer.status === 200) return answer;
    const text = await answer.text();
    throw new Refused(`${uri}: ${answer.status} ${text}`);
  };
  const session = async () => {
    const follower = new Follower(async (uri) => (await get(uri)).bytes(), options);
    let query = '';
    let parts = -1;
    while (!signal.aborted) {
      const playlist = await follower.see(await (await get(`${url}${query}`)).text());
      for (const segment of playlist.segments) {
        const known = segments.get(segment.sequence);
        if (known === undefined && segment.parts.length > 0)
          segments.set(segment.sequence, seen(follower, segment));
      }
      const { open } = playlist;
      const count = open.sequence * 1000 + open.parts.length;
      if (count !== parts) newestAt = performance.now();
      parts = count;
      query = `?_HLS_msn=${open.sequence}&_HLS_part=${open.parts.length}`;
      // While nobody publishes it comes back at once.
      if (playlist.hint === undefined) await pause(clock.now() + 100, { clock, signal });
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      try {
        await session();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused) refusals.push(error.message);
        else problems.push(String(error));
        await pause(clock.now() + 100, { clock, signal });
      }
    }
  };
  const running = run();
  return {
    name: options.name,
    segments,
    refusals,
    problems,
    get newestAt() {
      return newestAt;
    },
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await running;
    },
  };
}

class Refused extends Error {}

function seen(follower: Follower, segment: ListedSegment): SeenSegment {
  const bytes = (uri: string) => {
    const found = follower.fetched.get(uri);
    if (found === undefined) throw new Error(`${uri} was not fetched`);
    return found;
  };
  const init = bytes(segment.map);
  return {
    ...segment,
    tracks: follower.media.init(segment.map, init),
    bytes: [init, bytes(segment.uri)],
    parts: segment.parts.map(({ uri, duration, isIndependent }) => ({
      duration,
      isIndependent,
      runs: readFragments(bytes(uri))[0].runs,
    })),
  };
}

/** The video run of a part, or that of its sound. Undefined: there is none. */
export function runOf(segment: SeenSegment, options: { part: number; handler: 'vide' | 'soun' }) {
  const track = segment.tracks.find(({ handler }) => handler === options.handler);
  return segment.parts[options.part].runs.find((run) => run.track === track?.id);
}

/** When each picture of a run is shown, ticks, in the order of decoding. */
export function presentationTimes(run: ParsedRun): number[] {
  let time = run.start;
  return run.samples.map(({ duration, cts }) => {
    const shown = time + cts;
    time += duration;
    return shown;
  });
}
