/**
 * Feeds damaged RTMP sessions to the server's session, in process, and watches what must never happen: a
 * throw, a grant without exactly one end, media after the end, memory that grows with what headers promise.
 * Run: node_modules/.bin/bun test/fuzz/rtmp-session.ts [inputs] [seed]
 */
import { isDeepStrictEqual } from 'node:util';
import { grantOf, type Heard, recordingHandlers, session, settle } from '../rtmp/kit.ts';
import { damage, generator } from './rtmp/damage.ts';
import { busy, librtmp, ordinary, stubborn } from './rtmp/seeds.ts';

const inputs = Number(process.argv[2] ?? 20_000);
const seed = Number(process.argv[3] ?? 1);
const random = generator(seed);
const below = (most: number) => Math.floor(random() * most);

const sessions = [ordinary(), busy(), stubborn(), librtmp()];
/** Bytes that each publish may take before anything was sent: the smallest memory of its video and of its audio. */
const smallest = 8192;
const counters = { inputs: 0, closed: 0, published: 0, media: 0, faults: 0, longest: 0 };
const reasons = new Map<string, number>();

for (const whole of sessions) {
  const once = await play(whole, { size: whole.length, isCalm: true });
  const bytewise = await play(whole, { size: 1, isCalm: true });
  if (!isDeepStrictEqual(once.heard, bytewise.heard)) fault('a split changes what is heard', whole);
}
for (let count = 0; count < inputs; count += 1) {
  const bytes = [...damage(Uint8Array.from(sessions[below(sessions.length)]), { random, from: 3073 })];
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
    if (held > 4 * input.length + smallest * owner.sinks.length + 1000)
      fault('memory beyond what was sent', bytes);
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
