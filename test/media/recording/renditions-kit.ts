/** A broadcast that is recorded with its renditions, and what its files show. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { PublishGrant } from '../../../core/ports/media.ts';
import type { FinishedRecording, FinishedRendition } from '../../../core/ports/recorder.ts';
import { readSegmentIndex } from '../../../core/vod/segment-index.ts';
import type { PublishedPart } from '../../../runtime/media/publish/subscriber.ts';
import type { MediaRecorder, RecordingFeed } from '../../../runtime/media/recording/feed.ts';
import type { RecordingMeta } from '../../../runtime/media/recording/meta.ts';
import { bytesOf, checkFinished, Film, grantOf } from './fixtures.ts';

export const names = ['480p', '240p'] as const;

export function grantWith(sessionId: string, profiles: readonly string[] = names): PublishGrant {
  const about = { width: 128, height: 128, bitrate: 1000, fps: 0 };
  return { ...grantOf(sessionId), profiles: profiles.map((name) => ({ name, ...about })) };
}

/** What each `take.json` says. A folder is there before its own is. */
export function metasIn(folder: string): RecordingMeta[] {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).map((name) => join(folder, name, 'take.json'));
  return paths.filter((path) => existsSync(path)).map((path) => JSON.parse(readFileSync(path, 'utf8')));
}

/** A broadcast with its renditions, part by part; of some, parts may be left out. */
export class Broadcast {
  readonly source = new Film({ partBytes: 4000 });
  readonly films: ReadonlyMap<string, Film>;
  readonly #feeds = new Map<string, RecordingFeed>();
  #sourceFeed: RecordingFeed | undefined;

  constructor(profiles: readonly string[] = names) {
    this.films = new Map(
      profiles.map((name, number) => [name, new Film({ partBytes: 2000, seed: 7 + number })]),
    );
  }

  on(recorder: MediaRecorder, grant = grantWith('s1', [...this.films.keys()])): this {
    this.#sourceFeed = recorder.feed(grant);
    this.#sourceFeed?.begin(this.source.init);
    for (const [name, { init }] of this.films) {
      const feed = recorder.feed(grant, name);
      if (!feed) throw new Error(`${name} is not recorded`);
      feed.begin({ ...init, codecs: ['avc1.42c01e'], width: 426, height: 240 });
      this.#feeds.set(name, feed);
    }
    return this;
  }

  /** @param lacks whether a rendition has no part number `part` (0 to 3) of segment `segment`; also of `source` */
  segments(
    from: number,
    to: number,
    lacks: (name: string, segment: number, part: number) => boolean = () => false,
  ) {
    for (let segment = from; segment < to; segment += 1) {
      for (let part = 0; part < 4; part += 1) {
        this.#hand(this.#sourceFeed, this.source, lacks('source', segment, part));
        for (const [name, film] of this.films)
          this.#hand(this.#feeds.get(name), film, lacks(name, segment, part));
      }
    }
    return this;
  }

  end(): void {
    for (const feed of this.#feeds.values()) feed.end();
    this.#sourceFeed?.end();
  }

  #hand(feed: RecordingFeed | undefined, film: Film, isLacking: boolean): void {
    const { bytes, part } = film.next();
    if (!isLacking) feed?.part(bytes, part as PublishedPart);
  }
}

/** Whose each segment of a rendition is, as it is played: its own as `r`, the source's as `s`; throws when bytes or hashes are wrong. */
async function shownIn(
  blobs: Blobs,
  {
    take,
    rendition,
    broadcast,
  }: { take: FinishedRecording; rendition: FinishedRendition; broadcast: Broadcast },
): Promise<string> {
  const [video, bytes] = await Promise.all([
    bytesOf(blobs, take.video.key),
    bytesOf(blobs, rendition.video.key),
  ]);
  expect(bytes.length).toBe(rendition.video.size);
  for (const kind of ['md5', 'sha256'] as const)
    expect(createHash(kind).update(bytes).digest('hex')).toBe(rendition.video[kind]);
  const [source, own] = await Promise.all(
    [take, rendition].map(async ({ index }) => readSegmentIndex(await bytesOf(blobs, index.key))),
  );
  if (!source || !own) throw new Error('an index is missing');
  expect(own.count).toBe(source.count);
  const film = broadcast.films.get(rendition.name) as Film;
  return Array.from({ length: own.count }, (_, number) => {
    const { at, size, init, ...about } = own.segment(number);
    const its = source.segment(number);
    const { at: _at, size: _size, init: _init, ...same } = its;
    expect(about).toEqual(same);
    const { ofSource } = own.inits[init]!;
    const segment = (its.wallStart - source.segment(0).wallStart) / 2000;
    if (ofSource !== undefined) {
      expect([at, size, ofSource]).toEqual([its.at, its.size, its.init]);
      expect(own.inits[init]).toEqual({ ...source.inits[ofSource], ofSource });
      return 's';
    }
    const first = (source.segment(0).wallStart - 1_800_000_000_000) / 2000;
    expect(
      Buffer.from(bytes.subarray(at, at + size)).equals(
        Buffer.concat(film.partsOf(first + segment) as Uint8Array[]),
      ),
    ).toBe(true);
    expect(video.length).toBe(take.video.size);
    return 'r';
  }).join('');
}

export async function allShown(
  blobs: Blobs,
  take: FinishedRecording,
  broadcast: Broadcast,
): Promise<Record<string, string>> {
  await checkFinished(blobs, take);
  const all: Record<string, string> = {};
  for (const rendition of take.renditions ?? [])
    all[rendition.name] = await shownIn(blobs, { take, rendition, broadcast });
  return all;
}
