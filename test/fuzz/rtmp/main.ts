/**
 * Fuzzes the RTMP port of a server in another process with damaged sessions of real encoders, from addresses all
 * over 127.0.0.0/8, while one well-behaved broadcast runs beside them.
 *
 *     npm run fuzz -- rtmp [inputs, default 100000] [seed, default 1]
 *
 * Prints counters, and ends with 1 when one of its bounds is broken: a crash or an internal error, more than 64 MB of
 * growth after the first tenth, a connection or a publish that stays, a playlist that lists what is not there, the
 * broadcast beside disturbed, fewer than half of the inputs at `publish` or a tenth at media.
 */
import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AAC_48000_STEREO, AVC_360P, audioHeader, frame, sound, videoHeader } from '../../hls/feed.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { publish } from '../../kit/publisher/publisher.ts';
import { damage, generator } from './damage.ts';
import { seedKey, seeds } from './seeds.ts';
import type { Report } from './server.ts';

const [inputs = 100_000, seed = 1] = process.argv.slice(2).map(Number);
/** Connections at a time. */
const atOnce = 64;
const random = generator(seed);
const below = (most: number) => Math.floor(random() * most);

const [port] = await findFreePorts(1);
const child = spawn(process.execPath, [join(import.meta.dirname, 'server.ts'), String(port)], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
let isStopping = false;
child.on('exit', (code, signal) => {
  if (isStopping) return;
  console.error(`the server ended with ${code ?? signal} near input ${sent} of seed ${seed}`);
  process.exit(1);
});
async function ask(): Promise<Report> {
  child.stdin.write('report\n');
  return JSON.parse((await lines.next()).value as string);
}

/** A session to damage: where its key lies, and where what follows its publish begins. */
const sessions = seeds().map((bytes) => {
  const buffer = Buffer.from(bytes);
  const published = buffer.indexOf('publish');
  return {
    bytes,
    media: published < 0 ? 3073 : published + 60,
    key: buffer.lastIndexOf(seedKey, published + 60),
  };
});
const key = Buffer.from(seedKey);

let sent = 0;
let refused = 0;
const fresh = await ask();
const beside = await bystander();
await lap(Math.ceil(inputs / 10));
const tenth = await settled();
const began = performance.now();
await lap(inputs);
const took = (performance.now() - began) / 1000;
const end = await settled();
const bystanderProblem = await beside.end(end.beside);

const share = (count: number) => count / inputs;
const growth = Math.round((end.rss - tenth.rss) / 1e6);
const { reasons } = end;
console.log({
  inputs,
  seed,
  'inputs per second': Math.round((inputs * 0.9) / took),
  'reached publish': end.asked,
  'published and ended': end.published,
  'reached media': end.withMedia,
  'broadcast beside (s)': Math.round(end.beside),
  'connections not opened': refused,
  'rss at the start, after a tenth, at the end (MB)': [fresh, tenth, end].map(({ rss }) =>
    Math.round(rss / 1e6),
  ),
  'handles at the start and at the end': [fresh.handles, end.handles],
});
console.log(Object.fromEntries(Object.entries(reasons).sort((a, b) => b[1] - a[1])));
const problems = [
  ...end.wrong,
  ...end.besideIssues.map((issue) => `the broadcast beside: ${issue}`),
  ...end.firstFaults,
  bystanderProblem,
  growth > 64 && `${growth} MB of growth`,
  // The broadcast beside has one connection.
  end.handles > fresh.handles + 2 && `${end.handles - fresh.handles} handles more than before`,
  end.running > 1 && `${end.running} publishes still run`,
  end.open > 1 && `${end.open} grants were never closed`,
  share(end.asked) < 0.5 && 'fewer than half of the inputs reached publish',
  share(end.withMedia) < 0.1 && 'fewer than a tenth of the inputs reached media',
].filter((problem) => typeof problem === 'string');
for (const problem of problems) console.log('PROBLEM', problem);
isStopping = true;
child.kill();
process.exit(problems.length === 0 ? 0 : 1);

/** Sends inputs until `until` were sent, so many at once. */
async function lap(until: number): Promise<void> {
  const lane = async () => {
    while (sent < until) {
      sent += 1;
      if (sent % 10_000 === 0) console.log(`${sent} inputs`);
      await play(input(), sent);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

function input(): Uint8Array {
  const session = sessions[below(sessions.length)];
  // Long sessions are mostly cut: a thousand short inputs find more than a hundred long ones.
  const most = random() < 0.05 ? session.bytes.length : session.media + 500 + below(6000);
  const whole = session.bytes.slice(0, most);
  if (session.key > 0) whole.set(key.subarray(0, 5), session.key);
  if (session.key > 0) whole.set(Buffer.from(`0${String(below(64)).padStart(2, '0')}`), session.key + 5);
  // Three quarters are damaged behind their publish, where the most is to be found.
  return damage(whole, { random, from: random() < 0.75 ? session.media : 3073 });
}

/** One connection from an address of its own. Resolves when it is over, or at once when it is left to its deadline. */
function play(bytes: Uint8Array, number: number): Promise<void> {
  const localAddress = `127.${1 + ((number >> 14) & 63)}.${(number >> 7) & 127}.${1 + (number & 127)}`;
  const isLeft = random() < 0.0005;
  const isReset = random() < 0.2;
  const cut = random() < 0.5 ? bytes.length : below(bytes.length);
  return new Promise((resolve) => {
    const socket: Socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('data', () => {});
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') refused += 1;
    });
    socket.on('close', () => resolve());
    socket.on('connect', () => {
      if (cut < bytes.length) socket.write(bytes.subarray(0, cut));
      const finish = () => {
        if (isLeft) {
          socket.write(bytes.subarray(cut));
          resolve();
        } else if (isReset) socket.write(bytes.subarray(cut), () => socket.destroy());
        else socket.end(bytes.subarray(cut));
      };
      if (cut < bytes.length) setImmediate(finish);
      else socket.write(bytes, finish);
    });
  });
}

/** The report once every connection but the bystander's is gone; at the latest after all deadlines. */
async function settled(): Promise<Report> {
  let report = await ask();
  for (let turn = 0; turn < 40 && report.handles > fresh.handles + 2; turn += 1) {
    await Bun.sleep(500);
    report = await ask();
  }
  return report;
}

/** A broadcast at the speed of time. `end` says what was wrong with it. */
async function bystander() {
  const publisher = await publish({ url: `rtmp://127.0.0.1:${port}/live/well` });
  publisher.sendVideo(videoHeader(AVC_360P), 0);
  publisher.sendAudio(audioHeader(AAC_48000_STEREO), 0);
  const began = performance.now();
  let frames = 0;
  let sounds = 0;
  const timer = setInterval(() => {
    const now = performance.now() - began;
    for (; (frames * 1000) / 30 <= now; frames += 1)
      publisher.sendVideo(frame({ isKey: frames % 60 === 0 }), Math.round((frames * 1000) / 30));
    for (; (sounds * 1024) / 48 <= now; sounds += 1)
      publisher.sendAudio(sound(), Math.round((sounds * 1024) / 48));
  }, 20);
  const lost = publisher.closed.then(({ message }) => `the broadcast beside was lost: ${message}`);
  return {
    async end(arrived: number): Promise<string | undefined> {
      clearInterval(timer);
      if (arrived < frames / 30 - 5)
        return `of ${frames / 30} s of the broadcast beside ${arrived} s arrived`;
      return Promise.race([lost, Bun.sleep(100).then(() => undefined)]);
    },
  };
}
