/**
 * Feeds damaged RTMP sessions to the server's session, in process, and watches what must never happen: a
 * throw, a grant without exactly one end, media after the end, memory that grows with what headers promise.
 * Run: node_modules/.bin/bun test/fuzz/rtmp.ts [inputs] [seed]
 */
import { isDeepStrictEqual } from 'node:util';
import {
  audio,
  chunk,
  command,
  connect,
  createStream,
  grantOf,
  type Heard,
  handshake,
  message,
  pattern,
  publish,
  recordingHandlers,
  session,
  settle,
  video,
} from '../rtmp/kit.ts';

const inputs = Number(process.argv[2] ?? 20_000);
const seed = Number(process.argv[3] ?? 1);
const random = generator(seed);
const below = (most: number) => Math.floor(random() * most);

const sessions = [ordinary(), busy(), stubborn()];
const counters = { inputs: 0, closed: 0, published: 0, media: 0, faults: 0, longest: 0 };
const reasons = new Map<string, number>();

for (const whole of sessions) {
  const once = await play(whole, { size: whole.length, isCalm: true });
  const bytewise = await play(whole, { size: 1, isCalm: true });
  if (!isDeepStrictEqual(once.heard, bytewise.heard)) fault('a split changes what is heard', whole);
}
for (let count = 0; count < inputs; count += 1) {
  const bytes = damage(sessions[below(sessions.length)]);
  const began = performance.now();
  await play(bytes, { size: 1 + below(random() < 0.5 ? 20 : 5000) });
  counters.longest = Math.max(counters.longest, performance.now() - began);
}
console.log(counters);
console.log(Object.fromEntries([...reasons].sort((a, b) => b[1] - a[1])));
console.log('rss', Math.round(process.memoryUsage().rss / 1e6), 'MB');
process.exit(counters.faults === 0 ? 0 : 1);

/** `isCalm`: every publish is granted and no time passes. */
async function play(
  bytes: readonly number[],
  options: { size: number; isCalm?: boolean },
): Promise<{ heard: Heard[] }> {
  const { size, isCalm = false } = options;
  counters.inputs += 1;
  const refuses = !isCalm && below(10) === 0;
  const owner = recordingHandlers(async (_, token) => {
    if (below(4) === 0) await Promise.resolve();
    return refuses ? { granted: false, reason: 'rejected', message: 'No.' } : grantOf(token);
  });
  let now = 0;
  const made = session({ handlers: owner.handlers, now: () => now });
  const input = Uint8Array.from(bytes);
  try {
    for (let at = 0; at < input.length; at += size) {
      const part = input.slice(at, at + size);
      made.session.feed(part);
      part.fill(0xdd);
      if (below(3) === 0 || owner.requests.length > owner.sinks.length) await settle();
      now += isCalm ? 0 : 10;
      made.session.sweep(now);
    }
    await settle();
    made.session.disconnected();
    const heard = owner.heard().length;
    made.session.feed(input);
    await settle();
    if (owner.heard().length !== heard) fault('media after the end', bytes);
    if (owner.ends.length !== owner.sinks.length) fault('a grant without its one end', bytes);
    if (new Set(owner.ends.map(({ token }) => token)).size !== owner.ends.length) fault('two ends', bytes);
    const held = owner.sinks.reduce(
      (sum, sink) => sum + sink.video.bytes.length + sink.audio.bytes.length,
      0,
    );
    if (held > 4 * input.length + 1000) fault('memory beyond what was sent', bytes);
    if (made.ended.some(({ error }) => error !== undefined)) fault(String(made.ended[0].error), bytes);
    if (made.written.length > 20_000 + input.length) fault('more said than heard', bytes);
  } catch (error) {
    fault(String(error), bytes);
  }
  counters.closed += made.closed();
  counters.published += owner.sinks.length;
  counters.media += owner.heard().length;
  for (const { reason } of made.ended) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  return { heard: owner.heard() };
}

function fault(what: string, bytes: readonly number[]): void {
  counters.faults += 1;
  if (counters.faults <= 5)
    console.log(
      'FAULT',
      what,
      `(${bytes.length} bytes)`,
      Buffer.from(bytes.slice(3073)).toString('hex').slice(0, 2000),
    );
}

/** A copy with a few bytes, runs or whole parts changed, mostly behind the handshake. */
function damage(whole: readonly number[]): number[] {
  const bytes = [...whole];
  const rounds = 1 + below(6);
  for (let round = 0; round < rounds; round += 1) {
    const from = random() < 0.02 ? 0 : 3073;
    const at = from + below(Math.max(1, bytes.length - from));
    const length = 1 + below(random() < 0.8 ? 4 : 200);
    const kind = below(7);
    if (kind === 0) bytes[at] = below(256);
    else if (kind === 1) bytes[at] ^= 1 << below(8);
    else if (kind === 2) bytes.splice(at, length);
    else if (kind === 3) bytes.splice(at, 0, ...Array.from({ length }, () => below(256)));
    else if (kind === 4) bytes.splice(at, 0, ...bytes.slice(at, at + length));
    else if (kind === 5)
      for (let index = at; index < Math.min(at + length, bytes.length); index += 1)
        bytes[index] = random() < 0.5 ? 0xff : 0;
    else bytes.length = at;
  }
  return bytes;
}

function ordinary(): number[] {
  const media = Array.from({ length: 8 }, (_, index) => [
    ...video(pattern(400, index), index * 33),
    ...audio(pattern(90, index), index * 23),
  ]);
  return [
    ...handshake,
    ...connect,
    ...command(['releaseStream', 2, null, 'abcd']),
    ...command(['FCPublish', 3, null, 'abcd']),
    ...createStream,
    ...publish(),
    ...command(['@setDataFrame', 'onMetaData', { width: 1280, height: 720, list: [1, 2, { a: null }] }], {
      stream: 1,
      type: 18,
    }),
    ...media.flat(),
    ...command(['FCUnpublish', 6, null, 'abcd']),
    ...command(['deleteStream', 7, null, 1]),
  ];
}

/** Interleaving, every header, extended timestamps, Abort, chunk sizes. */
function busy(): number[] {
  const size = (bytes: number) =>
    message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [0, 0, bytes >> 8, bytes & 0xff]);
  return [
    ...handshake,
    ...connect,
    ...createStream,
    ...publish(),
    ...chunk({ fmt: 0, csid: 6, length: 300, time: 0xffffff }, pattern(128)),
    ...chunk({ fmt: 0, csid: 70, length: 200, time: 1 }, pattern(128)),
    ...chunk({ fmt: 0, csid: 4, type: 8, length: 200, time: 1 }, pattern(128)),
    ...chunk({ fmt: 3, csid: 70 }, pattern(72)),
    ...chunk({ fmt: 3, csid: 6, time: 0xffffff, extended: true }, pattern(128)),
    ...message({ fmt: 0, csid: 2, type: 2, stream: 0 }, [0, 0, 0, 4]),
    ...chunk({ fmt: 3, csid: 6 }, pattern(44)),
    ...message({ fmt: 1, csid: 4, type: 8, time: 23 }, pattern(50)),
    ...message({ fmt: 2, csid: 4, type: 8, time: 23 }, pattern(50)),
    ...message({ fmt: 3, csid: 4 }, pattern(50)),
    ...size(1),
    ...message({ fmt: 0, csid: 400, type: 9, time: 5 }, pattern(40), { chunkSize: 1 }),
    ...size(4096).slice(0, 12),
    ...[0, 0xc2, 0, 0xc2, 16, 0xc2, 0],
    ...message({ fmt: 0, csid: 400, type: 9, time: 6 }, pattern(3000), { chunkSize: 4096 }),
    ...message({ fmt: 0, csid: 2, type: 4, stream: 0 }, [0, 6, 1, 2, 3, 4]),
  ];
}

/** Publishes, stops and publishes again, with media where none belongs. */
function stubborn(): number[] {
  const end = command(['closeStream', 0, null], { stream: 1 });
  const round = [
    ...createStream,
    ...video(pattern(200)),
    ...publish(),
    ...audio(pattern(20)),
    ...video(pattern(200)),
    ...end,
  ];
  return [
    ...handshake,
    ...connect,
    ...round,
    ...round,
    ...round,
    ...publish('x?y=z'),
    ...publish('second'),
    ...video(pattern(200)),
  ];
}

/** Mulberry32: the same seed, the same inputs. */
function generator(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
