import type { NewStream } from '../e2e/harness/api.ts';
import type { Server } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { type Broadcast, broadcast } from '../kit/publisher/broadcast.ts';
import type { Clip } from '../kit/publisher/flv-file.ts';
import { offers } from './variants.ts';

export interface Profile {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly bitrate: number;
  readonly fps: number;
}

/** 854 × 480 and 426 × 240, as many pictures as come. */
export const twoProfiles: readonly Profile[] = [
  { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 },
  { name: '240p', width: 426, height: 240, bitrate: 400_000, fps: 0 },
];

/** A stream with profiles, and an encoder that broadcasts a clip to it. */
export interface OnAir extends AsyncDisposable {
  readonly stream: NewStream;
  /** The multivariant playlist. */
  readonly url: string;
  /** Of the media playlist of a variant. */
  mediaUrl(name: string): string;
  readonly encoder: Broadcast;
  /** The encoder is cut off, and another begins where it was. */
  reconnect(): Promise<void>;
}

/** Answers when `offered` can be watched; by default the source and every profile. */
export async function onAir(
  server: Server,
  options: {
    name: string;
    clip: Clip;
    profiles?: readonly Profile[];
    offered?: readonly string[];
    record?: boolean;
  },
): Promise<OnAir> {
  const { name, clip, profiles = twoProfiles, record } = options;
  const stream = await server.api.createStream({ name, profiles, record });
  const url = server.playlistUrl(stream.playbackId);
  const dial = async () => {
    const encoder = broadcast({ url: server.ingestUrl(stream.streamKey), clip });
    await encoder.started;
    return encoder;
  };
  let encoder = await dial();
  const names = options.offered ?? namesOf(profiles.length);
  await until('the playlist', async () => (await fetch(url)).status === 200, { within: 20_000 });
  await offers(url, { names, within: 30_000 });
  return {
    stream,
    url,
    mediaUrl: (variant) => url.replace('index.m3u8', `${variant}.m3u8`),
    get encoder() {
      return encoder;
    },
    async reconnect() {
      await encoder.stop({ clean: false });
      encoder = await dial();
    },
    [Symbol.asyncDispose]: () => encoder.stop({ clean: true }),
  };
}

/** What is offered of a stream with so many profiles. */
export const namesOf = (profiles: number): string[] => [
  'source',
  ...Array.from({ length: profiles }, (_, n) => `r${n + 1}`),
];

/** What a stream says of its renditions. */
export async function renditionIssues(server: Server, id: string): Promise<string[]> {
  const { issues = [] } = await server.api.getStream(id);
  // Once they are back it is said for a while that they were missing.
  return issues.filter((text) => /^(Viewers get the source alone|Renditions \()/.test(text));
}
