import { join } from 'node:path';
import { readFlvFile } from '../../kit/publisher/flv-file.ts';
import { loopOf } from '../../kit/publisher/loop.ts';
import { type Publisher, publish } from '../../kit/publisher/publisher.ts';
import { root } from './server.ts';
import { until } from './wait.ts';

/**
 * The demo clip with a number in each picture, in a note of the codec that every decoder skips (SEI, H.264 D.1.6): it
 * plays everywhere, and what is lost, repeated or out of order in a file of it shows without decoding.
 */
export interface Numbered extends AsyncDisposable {
  /** Pictures handed to the network so far, over all connections; the next one has this number. */
  readonly sent: number;
  /** The first number of each connection. Each begins with a key frame. */
  readonly firsts: readonly number[];
  /** Why connections ended that we did not end. */
  readonly ends: readonly string[];
  /** As a person ends it. */
  stop(): Promise<void>;
}

const clip = await readFlvFile(join(root, 'demo/clip.flv'));
/** A name (16 bytes) and 8 digits: nothing in it looks like a start code. */
const mark = 'Millrace-counts!';

/**
 * Broadcasts, and dials again when it was cut off.
 *
 * @param url asked for before each connection
 * @param options.speed how many times as fast as real time
 * @param options.padding bytes that each picture is longer by
 */
export function numbered(
  url: string | (() => string),
  options: { speed?: number; padding?: number } = {},
): Numbered {
  const { speed = 1, padding = 0 } = options;
  const firsts: number[] = [];
  const ends: string[] = [];
  let sent = 0;
  let publisher: Publisher | undefined;
  const leaving = new AbortController();
  const { signal } = leaving;

  const dial = async () => {
    const connection = await publish({ url: typeof url === 'string' ? url : url(), signal });
    publisher = connection;
    firsts.push(sent);
    if (clip.videoHeader) connection.sendVideo(clip.videoHeader, 0);
    if (clip.audioHeader) connection.sendAudio(clip.audioHeader, 0);
    const cursor = loopOf(clip);
    const began = performance.now();
    const timer = setInterval(() => {
      // What is sent behind the goodbye is not part of it.
      if (signal.aborted) return;
      for (; cursor.position <= (performance.now() - began) * speed; cursor.advance()) {
        const { tag, position } = cursor;
        if (tag.type === 'audio') connection.sendAudio(tag.body, position);
        else {
          // What the network does not take now it takes later.
          if (!connection.sendVideo(withNumber(tag.body, { number: sent, padding }), position)) return;
          sent += 1;
        }
      }
    }, 10);
    const end = await connection.closed;
    clearInterval(timer);
    if (!signal.aborted) ends.push(end.message);
  };
  const run = async () => {
    while (!signal.aborted) {
      // While nobody listens there is no connection.
      await dial().catch(() => {});
      if (!signal.aborted) await Bun.sleep(300);
    }
  };
  const running = run();
  const leave = async ({ clean }: { clean: boolean }) => {
    leaving.abort();
    // Whoever says goodbye waits for a second and no longer: on a busy machine that is not enough for much.
    if (clean) await until('all to be sent', () => !publisher?.buffered, { within: 10_000, every: 5 });
    await publisher?.close({ clean });
    await running;
  };
  return {
    get sent() {
      return sent;
    },
    firsts,
    ends,
    stop: () => leave({ clean: true }),
    [Symbol.asyncDispose]: () => leave({ clean: false }),
  };
}

/** The numbers of the pictures in these bytes of a broadcast, part or recording, in order. */
export function numbersIn(bytes: Buffer): number[] {
  const numbers: number[] = [];
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) {
    const digits = at + mark.length;
    numbers.push(Number(bytes.toString('latin1', digits, digits + 8)));
  }
  return numbers;
}

/** Runs of numbers without a gap, first and last of each. Throws when one comes twice or out of order. */
export function runsOf(numbers: readonly number[]): [first: number, last: number][] {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && number <= last[1]) throw new Error(`picture ${number} comes behind ${last[1]}`);
    if (last && number === last[1] + 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}

/** A viewer who takes every part, as players do: by blocking reload. */
export interface Watching extends AsyncDisposable {
  /** Number of the newest picture that was seen at least `ago` ms ago; -1: none. */
  seen(options?: { ago?: number }): number;
  /** What went wrong: requests that failed, pictures that were missing, seams. */
  readonly problems: readonly string[];
  /** Waits for a second of pictures more. */
  moves(options: { within: number }): Promise<void>;
}

/** Begins when the playlist is there. Goes on when the server was away. */
export async function watch(playlistUrl: string): Promise<Watching> {
  const base = playlistUrl.replace(/[^/]*$/, '');
  const leaving = new AbortController();
  const { signal } = leaving;
  const problems: string[] = [];
  const seen: { at: number; number: number }[] = [];
  const taken = new Set<string>();
  let last = -1;
  const get = async (url: string) => {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]) });
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  let query = '';
  const reload = async () => {
    const text = await (await get(`${base}source.m3u8${query}`)).text();
    if (text.includes('#EXT-X-DISCONTINUITY\n')) problems.push('there is a discontinuity');
    for (const [, name] of text.matchAll(/^#EXT-X-PART:.*URI="([^"]+)"/gm)) {
      if (taken.has(name)) continue;
      const numbers = numbersIn(Buffer.from(await (await get(base + name)).arrayBuffer()));
      taken.add(name);
      for (const number of numbers) {
        if (last >= 0 && number !== last + 1) problems.push(`picture ${number} came after ${last}`);
        last = number;
      }
      seen.push({ at: performance.now(), number: last });
    }
    const [, next, part] = /^#EXT-X-PRELOAD-HINT:.*_part(\d+)\.(\d+)\./m.exec(text) ?? [];
    query = next === undefined ? '' : `?_HLS_msn=${next}&_HLS_part=${part}`;
  };
  await until('the playlist', async () => (await fetch(playlistUrl)).status === 200, { within: 20_000 });
  const run = async () => {
    while (!signal.aborted) {
      try {
        await reload();
      } catch (error) {
        if (signal.aborted) return;
        query = '';
        problems.push(String(error));
        await Bun.sleep(100);
      }
    }
  };
  const running = run();
  return {
    seen({ ago = 0 } = {}) {
      const before = performance.now() - ago;
      return seen.findLast(({ at }) => at <= before)?.number ?? -1;
    },
    problems,
    async moves({ within }) {
      const before = last;
      await until('pictures at the viewer', () => last > before + 30, { within });
    },
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await running;
    },
  };
}

/** `body` with a note in front of its picture. */
function withNumber(body: Uint8Array, { number, padding }: { number: number; padding: number }): Uint8Array {
  const text = `${mark}${String(number).padStart(8, '0')}${'.'.repeat(padding)}`;
  // Payload type 5 with its size in bytes of 255, then the end of the NAL unit.
  const size = [...Array<number>(Math.floor(text.length / 255)).fill(255), text.length % 255];
  const unit = Buffer.concat([
    Buffer.from([6, 5, ...size]),
    Buffer.from(text, 'latin1'),
    Buffer.from([0x80]),
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(unit.length);
  // The head of an FLV video tag, then NAL units behind their lengths.
  return Buffer.concat([body.subarray(0, 5), length, unit, body.subarray(5)]);
}
