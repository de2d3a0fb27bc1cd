import { parseArgs } from 'node:util';
import { broadcast } from '../test/kit/publisher/broadcast.ts';
import { type Clip, readFlvFile } from '../test/kit/publisher/flv-file.ts';
import { pacer } from '../test/kit/publisher/pacer.ts';
import { temporaryFolder } from './harness/children.ts';
import { loadClip } from './harness/clip.ts';
import { machine, median, printTable } from './harness/figures.ts';
import { type Millrace, millrace } from './harness/millrace.ts';

/**
 * How long until it can be used: from the server's exec to /health/ready, with new data and with those of an
 * earlier start; and from a publisher's first key frame to a playlist that plays. Run: bun bench/start.ts
 */
const { values } = parseArgs({ options: { times: { type: 'string', default: '10' } } });
const times = Number(values.times);
/** Wait between two questions, ms: what the figures are blunt by. */
const every = 4;
/** Longest wait for a playlist, ms. */
const within = 10_000;
/** Streams that the data of an earlier start hold. */
const stored = 100;

const rows: [words: string, limit: string, ms: number[]][] = [];
rows.push(['exec to ready, new data', '1000', await starts()]);
rows.push([`exec to ready, data with ${stored} streams`, '1000', await restarts()]);
const playlists = await firstPlaylists();
rows.push(['first key frame sent to playlist 200', '', playlists.map((first) => first.multivariant)]);
rows.push(['first key frame sent to first segment read', '400', playlists.map((first) => first.segment)]);
printTable(
  ['ms', 'median', 'least', 'most', 'limit'],
  rows.map(([words, limit, ms]) => [
    words,
    ...[median(ms), Math.min(...ms), Math.max(...ms)].map((value) => value.toFixed(0)),
    limit,
  ]),
);
console.log(
  `\n${times} times each; asked every ${every} ms; any core. The publisher logs when the key frame was handed to its socket.\n` +
    'The first segment holds 0.3 to 0.35 s of media, which a live source cannot send faster.\n' +
    machine(),
);
process.exit(0);

async function starts(): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const server = await millrace({ every });
    took.push(server.readyAfter);
    await server.stop();
  }
  return took;
}

async function restarts(): Promise<number[]> {
  const folder = temporaryFolder();
  const first = await millrace({ dataDir: folder.path, streams: stored });
  await first.stop();
  const took: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const server = await millrace({ dataDir: folder.path, every });
    took.push(server.readyAfter);
    await server.stop();
  }
  folder.remove();
  return took;
}

interface First {
  /** Milliseconds since the first key frame was sent: the playlist answered; its first segment was read. */
  multivariant: number;
  segment: number;
}

async function firstPlaylists(): Promise<First[]> {
  const server = await millrace();
  const clip = await readFlvFile(await loadClip());
  const took: First[] = [];
  // The first one also compiles the way; it counts like the others.
  for (let n = 0; n < times; n += 1) took.push(await firstPlaylist(server, clip));
  await server.stop();
  return took;
}

async function firstPlaylist(server: Millrace, clip: Clip): Promise<First> {
  const stream = await server.createStream('first sight');
  let sentAt = 0;
  const onAir = broadcast({
    url: stream.ingestUrl,
    clip,
    // Finer than an encoder's frames, so that it adds next to nothing.
    pacer: pacer({ tickMs: 2 }),
    onFrame: (_frame, _timestamp, at) => {
      if (sentAt === 0) sentAt = at;
    },
  });
  await onAir.started;
  const multivariant = await ask(stream.playlistUrl);
  const media = new URL(lastLine(multivariant.text), stream.playlistUrl).href;
  let segment: string | undefined;
  while (segment === undefined) {
    const { text } = await ask(media);
    segment = text.split('\n').find((line) => line !== '' && !line.startsWith('#'));
  }
  const read = await ask(new URL(segment, media).href);
  await onAir.stop({ clean: true });
  return { multivariant: multivariant.at - sentAt, segment: read.at - sentAt };
}

/** Asks until it is answered with 200. */
async function ask(url: string): Promise<{ text: string; at: number }> {
  const deadline = performance.now() + within;
  while (performance.now() < deadline) {
    const answer = await fetch(url);
    const text = await answer.text();
    const at = performance.timeOrigin + performance.now();
    if (answer.status === 200) return { text, at };
    await Bun.sleep(every);
  }
  throw new Error(`${url} was not there after ${within} ms`);
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
