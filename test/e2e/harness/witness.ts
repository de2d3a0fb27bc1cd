import { AAC_48000_STEREO, AVC_360P, audioHeader, frame, sound, videoHeader } from '../../hls/feed.ts';
import { publish } from '../../kit/publisher/publisher.ts';
import { until } from './wait.ts';

/** What hostile media is marked with: not one byte of it may ever reach a viewer. */
export const hostileMark = 'HOSTILE!';
const mark = 'WITNESS!';

/**
 * A live broadcast beside which something happens, and its viewer. Every picture carries its number, and the viewer
 * takes every part as players do, by blocking reload: what is lost, repeated or foreign shows.
 */
export interface Witness extends AsyncDisposable {
  /** Pictures seen so far, without a gap. */
  readonly seen: number;
  /** Fails when anything was lost or foreign, or when no new picture comes within 5 s. */
  check(): Promise<void>;
}

/** Begins a broadcast to `ingestUrl` and waits until its viewer sees it. */
export async function witness(options: { ingestUrl: string; playlistUrl: string }): Promise<Witness> {
  const publisher = await publish({ url: options.ingestUrl });
  publisher.sendVideo(videoHeader(AVC_360P), 0);
  publisher.sendAudio(audioHeader(AAC_48000_STEREO), 0);
  const began = performance.now();
  let frames = 0;
  let sounds = 0;
  const timer = setInterval(() => {
    const now = performance.now() - began;
    for (; (frames * 1000) / 30 <= now; frames += 1) {
      const body = frame({ isKey: frames % 30 === 0, size: 600 });
      body.set(Buffer.from(mark), 20);
      new DataView(body.buffer).setUint32(20 + mark.length, frames);
      publisher.sendVideo(body, Math.round((frames * 1000) / 30));
    }
    for (; (sounds * 1024) / 48 <= now; sounds += 1)
      publisher.sendAudio(sound(), Math.round((sounds * 1024) / 48));
  }, 10);

  const problems: string[] = [];
  void publisher.closed.then(({ cause, message }) => {
    if (!leaving.signal.aborted) problems.push(`the broadcast ended: ${cause}, ${message}`);
  });
  const leaving = new AbortController();
  let seen = -1;
  const take = (bytes: Buffer) => {
    if (bytes.includes(hostileMark)) problems.push('media of a stranger reached the viewer');
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
      const number = bytes.readUInt32BE(at + mark.length);
      if (seen >= 0 && number !== seen + 1) problems.push(`picture ${number} came after ${seen}`);
      seen = number;
    }
  };
  const watch = async () => {
    const base = options.playlistUrl.replace(/[^/]*$/, '');
    const { signal } = leaving;
    const taken = new Set<string>();
    let query = '';
    while (!signal.aborted) {
      const text = await (await get(`${base}source.m3u8${query}`, signal)).text();
      if (text.includes('#EXT-X-DISCONTINUITY\n')) problems.push('there is a discontinuity');
      for (const [, name] of text.matchAll(/^#EXT-X-PART:.*URI="([^"]+)"/gm)) {
        if (taken.has(name)) continue;
        taken.add(name);
        take(Buffer.from(await (await get(base + name, signal)).arrayBuffer()));
      }
      const [, next, part] = /^#EXT-X-PRELOAD-HINT:.*_part(\d+)\.(\d+)\./m.exec(text) ?? [];
      query = next === undefined ? '' : `?_HLS_msn=${next}&_HLS_part=${part}`;
    }
  };
  await until('the playlist', async () => (await fetch(options.playlistUrl)).status === 200, {
    within: 20_000,
  });
  const watching = watch().catch((error: unknown) => {
    if (!leaving.signal.aborted) problems.push(`the viewer: ${error}`);
  });
  const moves = async () => {
    const before = seen;
    const expect = () => {
      if (problems.length > 0) return true;
      return seen > before + 15;
    };
    await until('new pictures of the broadcast beside', expect, { within: 5000, every: 10 });
    if (problems.length > 0) throw new Error(`the broadcast beside: ${problems.slice(0, 5).join('; ')}`);
  };
  await moves();
  return {
    get seen() {
      return seen;
    },
    check: moves,
    async [Symbol.asyncDispose]() {
      if (leaving.signal.aborted) return;
      leaving.abort();
      clearInterval(timer);
      await publisher.close({ clean: true });
      await watching;
    },
  };
}

async function get(url: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]) });
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}
