import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { PublishGrant } from '../../core/ports/media.ts';
import type { FinishedRecording } from '../../core/ports/recorder.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import type { RecordingFeed } from '../../runtime/media/recording/feed.ts';
import { DiskRecorder } from '../../runtime/media/recording/recorder.ts';
import { Feed, send } from '../hls/feed.ts';
import { type Clip, clipOf, readFlvFile, readFlvTags } from '../kit/publisher/flv-file.ts';
import { silentLog } from '../kit/silent-log.ts';

const run = promisify(execFile);

/** A rendition of the demo clip. */
export interface Rung {
  readonly name: string;
  readonly height: number;
  /** kbit/s */
  readonly rate: number;
  /** Seconds of the recording that never come, from and to. */
  readonly lacks: readonly (readonly [from: number, to: number])[];
}

export interface RecordedLadder {
  readonly take: FinishedRecording;
  /** Pictures of the source. */
  readonly pictures: number;
}

/**
 * The demo clip, published stretch by stretch with pauses between, and smaller pictures of the same, made by ffmpeg with the key frames
 * of the clip: each through a packager of its own, whose clock goes as the others do, into a real recorder. Of renditions
 * what they lack is left out, as if nobody had made it.
 */
export async function recordLadder(
  blobs: Blobs,
  options: {
    folder: string;
    sessionId: string;
    /** Where the blobs go. */
    place: string;
    stretches: readonly (readonly [from: number, to: number])[];
    rungs: readonly Rung[];
  },
): Promise<RecordedLadder> {
  const { folder, sessionId, place, stretches, rungs } = options;
  const clip = await readFlvFile('demo/clip.flv');
  const recorder = new DiskRecorder({
    ...{ folder: join(folder, 'recordings'), blobs, clock: systemClock(), log: silentLog },
    settings: { reserve: 1, renditionReserve: 1 },
  });
  await recorder.open();
  const profile = { width: 128, height: 128, bitrate: 1000, fps: 0 };
  const grant: PublishGrant = {
    ...{ granted: true, token: 't', streamId: 's', sessionId, playbackId: 'p' },
    ...{ mediaSequence: 0, discontinuitySequence: 0, targetDuration: 4 },
    recording: { folder: place },
    profiles: rungs.map(({ name }) => ({ name, ...profile })),
  };
  const { tags } = clip;
  const pictures = tags.filter(
    ({ type, timestamp }) => type === 'video' && isIn(stretches, timestamp / 1000),
  );
  await publish(clip, { stretches, open: () => recorder.feed(grant) });
  for (const rung of rungs) {
    const made = await rungOf(clip, { rung, folder });
    await publish(made, {
      stretches,
      open: () => {
        const feed = recorder.feed(grant, rung.name);
        return feed && holed(feed, rung.lacks);
      },
    });
  }
  const take = await recorder.finish(sessionId, { signal: new AbortController().signal });
  await recorder.close();
  if (!take) throw new Error('nothing was recorded');
  return { take, pictures: pictures.length };
}

async function publish(
  clip: Clip,
  options: { stretches: readonly (readonly [number, number])[]; open: () => RecordingFeed | undefined },
): Promise<void> {
  const feed = new Feed();
  const onTrouble = (error: unknown) => {
    throw error;
  };
  for (const [from, to] of options.stretches) {
    const publisher = feed.attach({}, { open: options.open, onTrouble });
    if (clip.videoHeader) send(publisher.sink, 9, 0, clip.videoHeader);
    if (clip.audioHeader) send(publisher.sink, 8, 0, clip.audioHeader);
    let last = from * 1000;
    for (const { type, timestamp, body } of clip.tags) {
      if (timestamp < from * 1000 || timestamp >= to * 1000) continue;
      feed.clock.advance(timestamp - last);
      last = timestamp;
      send(publisher.sink, type === 'video' ? 9 : 8, timestamp, body);
    }
    feed.output.detach(publisher.grant.token);
    feed.clock.advance(20_000);
  }
}

/**
 * The same tags with other pictures: at the time of the n-th picture that the clip decodes comes the n-th that it shows, as a
 * rendition is packaged. Sound stays as it is.
 */
async function rungOf(clip: Clip, { rung, folder }: { rung: Rung; folder: string }): Promise<Clip> {
  const file = join(folder, `${rung.name}.flv`);
  const filter = `scale=-2:${rung.height}`;
  const encoder = [
    '-c:v',
    'libx264',
    '-preset',
    'veryfast',
    '-bf',
    '0',
    '-g',
    '1000000',
    '-sc_threshold',
    '0',
  ];
  const times = ['-copyts', '-fps_mode', 'passthrough', '-force_key_frames', 'source', '-forced-idr', '1'];
  await run('ffmpeg', [
    ...['-nostdin', '-v', 'error', '-i', 'demo/clip.flv', '-an', '-vf', filter, '-b:v', `${rung.rate}k`],
    ...[...encoder, ...times, '-y', file],
  ]);
  const made = clipOf(readFlvTags(await readFile(file)));
  const shown = clip.tags
    .filter(({ type }) => type === 'video')
    .map(({ timestamp, body }) => timestamp + offsetOf(body))
    .sort((a, b) => a - b);
  if (made.tags.length !== shown.length) throw new Error(`${rung.name} has ${made.tags.length} pictures`);
  let number = 0;
  const tags = clip.tags.map((tag) => {
    if (tag.type === 'audio') return tag;
    const body = Uint8Array.from(made.tags[number].body);
    const isKey = made.tags[number].isKey;
    if (isKey !== tag.isKey) throw new Error(`${rung.name} has a key frame elsewhere, picture ${number}`);
    const offset = shown[number] - tag.timestamp;
    body.set([(offset >> 16) & 255, (offset >> 8) & 255, offset & 255], 2);
    number += 1;
    return { ...tag, body, isKey };
  });
  return { ...clip, ...(made.videoHeader && { videoHeader: made.videoHeader }), tags };
}

/** Composition offset of a picture, ms. */
function offsetOf([, , a = 0, b = 0, c = 0]: Uint8Array): number {
  return (((a << 16) | (b << 8) | c) << 8) >> 8;
}

function isIn(stretches: readonly (readonly [number, number])[], at: number): boolean {
  return stretches.some(([from, to]) => at >= from && at < to);
}

/** What its parts lack never comes; times are those of the whole recording, without its pauses. */
function holed(feed: RecordingFeed, lacks: Rung['lacks']): RecordingFeed {
  let at = written.get(feed.written) ?? 0;
  return {
    begin: (init) => feed.begin(init),
    part(bytes, part) {
      const isMissing = lacks.some(([from, to]) => at > from - 0.05 && at < to - 0.05);
      at += part.duration;
      written.set(feed.written, at);
      return isMissing || feed.part(bytes, part);
    },
    end: () => feed.end(),
    get issues() {
      return feed.issues;
    },
    get written() {
      return feed.written;
    },
  };
}

/** Seconds of each take that came so far, over all its publishes. */
const written = new WeakMap<object, number>();
