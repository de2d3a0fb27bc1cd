import { setPriority } from 'node:os';
import { argumentsOf } from '../runtime/media/ffmpeg/command.ts';
import { liveCommand } from '../runtime/media/renditions/live-command.ts';
import { planOf } from '../runtime/media/renditions/plan.ts';
import { start } from './harness/children.ts';
import { clipWords, loadClip } from './harness/clip.ts';
import { machine, median } from './harness/figures.ts';
import { startLoad } from './harness/load.ts';
import { millrace } from './harness/millrace.ts';
import { optionsOf } from './harness/options.ts';
import { usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';

/**
 * What live renditions cost: CPU (user and system) of the server and its ffmpeg for one 720p30 broadcast with 480p and 240p,
 * against ffmpeg alone that makes the same encodes from a file (`-re`), by turns. Of ours all of it counts: taking RTMP in, the packager, the
 * playlists. Run: bun bench/renditions.ts [options]. Exit code 1 above the goal.
 */
const usage = `  --rounds 3     of each, by turns
  --seconds 20   length of a measurement
  --warm-up 6    seconds before each
  --nice 0       priority, -20 (first) to 19`;
const values = optionsOf(usage, {
  rounds: 3,
  seconds: 20,
  'warm-up': 6,
  nice: 0,
});
setPriority(values.nice);
const goal = 1.1;
const { seconds } = values;
const profiles = [
  { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 },
  { name: '240p', width: 426, height: 240, bitrate: 400_000, fps: 0 },
];
const threads = 4;
const clip = await loadClip();

/** Seconds of CPU that a process and its children take for a second, from now on. */
async function measure(pid: number): Promise<number> {
  await Bun.sleep(values['warm-up'] * 1000);
  const [before, began] = [usageOf(pid), performance.now()];
  await Bun.sleep(seconds * 1000);
  const after = usageOf(pid);
  return (after.cpu - before.cpu) / ((performance.now() - began) / 1000);
}

async function ours(): Promise<number> {
  const server = await millrace({ env: { MILLRACE_RENDITIONS__THREADS: String(threads) } });
  const answer = await server.call('POST', '/api/stream', { name: 'bench', profiles });
  const { streamKey, playbackId } = (await answer.json()) as Record<string, string>;
  const rtmp = (await server.createStream('other')).ingestUrl.replace(/[^/]+$/, streamKey);
  const load = await startLoad({ clip, ingestUrls: [rtmp], playlistUrls: [], startOver: 0 }, { core: 1 });
  try {
    const playlist = `${server.url}/hls/${playbackId}/index.m3u8`;
    const hasBoth = async () => (await (await fetch(playlist)).text()).includes('r2.m3u8');
    await until('renditions', hasBoth, { within: 30_000, every: 100 });
    return await measure(server.pid);
  } finally {
    await load.stop();
    await server.stop();
  }
}

async function bare(): Promise<number> {
  const video = { codec: '', width: 1280, height: 720, frameRate: 30 };
  const plan = planOf(video, { profiles, counted: undefined });
  if ('reason' in plan) throw new Error(plan.message);
  const settings = { encoder: 'libx264', preset: 'veryfast', device: undefined, threads };
  const all = argumentsOf(liveCommand({ video, from: undefined }, { plan, settings }), { hides: true });
  const own = all
    .slice(all.indexOf('-i') + 2, -1)
    .join('\n')
    .replace('-protocol_whitelist\npipe\n', '');
  const input = ['-hide_banner', '-nostdin', '-nostats', '-loglevel', 'error', '-re', '-stream_loop', '-1'];
  const child = start([
    'nice',
    '-n',
    '5',
    'ffmpeg',
    ...input,
    '-i',
    clip,
    ...own.split('\n'),
    '-y',
    '/dev/null',
  ]);
  try {
    const cost = await measure(child.pid);
    if (child.hasExited) throw new Error(`ffmpeg ended: ${child.output}`);
    return cost;
  } finally {
    await child.stop();
  }
}

const ratios: number[] = [];
for (let round = 1; round <= values.rounds; round += 1) {
  const [alone, with_] =
    round % 2 === 0 ? [await bare(), await ours()] : [await ours(), await bare()].reverse();
  ratios.push(with_ / alone);
  console.log(
    `round ${round}: ffmpeg alone ${(100 * alone).toFixed(1)} % of a core, ours ${(100 * with_).toFixed(1)} %, ratio ${(with_ / alone).toFixed(3)}`,
  );
}
const ratio = median(ratios);
console.log(`\n${clipWords}; 480p 1 Mb/s and 240p 0.4 Mb/s by libx264 veryfast\n${machine()}`);
console.log(`median ${ratio.toFixed(3)} of ffmpeg alone, goal ${goal}`);
process.exitCode = ratio > goal ? 1 : 0;
