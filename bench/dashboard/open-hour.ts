import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { broadcast } from '../../test/e2e/harness/ffmpeg.ts';
import { start, temporaryFolder } from '../harness/children.ts';
import { millrace } from '../harness/millrace.ts';
import { until } from '../harness/subject.ts';
import { type BareTab, bareTab } from './bare-tab.ts';

/** What the tab holds at one moment, bytes. */
interface Held {
  /** Of JavaScript, after a collection. */
  readonly heap: number;
  /** Of buffers and of the DOM, which the engine counts apart. */
  readonly outside: number;
  /** The process of the tab: code, pictures and buffers of the decoder included. */
  readonly process: number;
  readonly nodes: number;
  readonly listeners: number;
}

export interface OpenHour {
  readonly minutes: number;
  readonly first: Held;
  readonly last: Held;
}

/** The page of a stream that is on the air at 0.3 Mb/s, open for `minutes`: what it holds after the first minute, and at the end. */
export async function openHour({ minutes }: { minutes: number }): Promise<OpenHour> {
  const server = await millrace();
  const folder = temporaryFolder();
  const clip = join(folder.path, 'light.flv');
  await makeClip(clip);
  const stream = await server.createStream('An hour');
  const encoder = broadcast(stream.ingestUrl, { clip });
  const url = `${server.url}/dashboard/stream/${stream.id}`;
  const tab = await bareTab(url, { key: server.key });
  try {
    const at = () => tab.evaluate("document.querySelector('video')?.currentTime ?? 0");
    await until('the picture', async () => Number(await at()) > 2, { within: 60_000, every: 500 });
    await Bun.sleep(60_000);
    const first = await held(tab);
    say(1, first);
    let last = first;
    for (let minute = 2; minute <= minutes; minute += 1) {
      await Bun.sleep(60_000);
      last = await held(tab);
      say(minute, last);
    }
    const before = Number(await at());
    await Bun.sleep(5000);
    if (Number(await at()) <= before) throw new Error('the picture stands still');
    return { minutes, first, last };
  } finally {
    await tab[Symbol.asyncDispose]();
    await encoder.stop();
    await server.stop();
    folder.remove();
  }
}

function say(minute: number, { heap, outside, process, nodes, listeners }: Held): void {
  const mb = (value: number) => (value / 1e6).toFixed(1).padStart(7);
  console.log(
    `${String(minute).padStart(3)} min  heap ${mb(heap)}  outside ${mb(outside)}  process ${mb(process)} MB  ${nodes} nodes, ${listeners} listeners`,
  );
}

async function held(tab: BareTab): Promise<Held> {
  // The second collects what finalizers of the first let go.
  await tab.send('HeapProfiler.collectGarbage');
  await tab.send('HeapProfiler.collectGarbage');
  const usage = (await tab.send('Runtime.getHeapUsage')) as Record<string, number>;
  const counters = (await tab.send('Memory.getDOMCounters')) as Record<string, number>;
  const { processInfo } = (await tab.sendToBrowser('SystemInfo.getProcessInfo')) as {
    processInfo: Process[];
  };
  const tabs = processInfo.filter(({ type }) => type === 'renderer');
  return {
    heap: usage.usedSize ?? Number.NaN,
    outside: (usage.embedderHeapUsedSize ?? 0) + (usage.backingStorageSize ?? 0),
    process: Math.max(...tabs.map(({ id }) => resident(id))),
    nodes: counters.nodes ?? Number.NaN,
    listeners: counters.jsEventListeners ?? Number.NaN,
  };
}

interface Process {
  readonly type: string;
  readonly id: number;
}

function resident(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** 20 s of a small picture with sound, sent as it is again and again: an encoder would take a core for an hour. */
async function makeClip(path: string): Promise<void> {
  const ffmpeg = start(
    [
      'ffmpeg -hide_banner -loglevel error -y',
      '-f lavfi -i testsrc2=size=320x180:rate=15 -f lavfi -i sine=frequency=440:sample_rate=48000',
      '-t 20 -c:v libx264 -preset veryfast -pix_fmt yuv420p -g 30 -keyint_min 30 -sc_threshold 0',
      `-b:v 250k -minrate 250k -maxrate 250k -bufsize 250k -c:a aac -b:a 48k -f flv ${path}`,
    ].flatMap((line) => line.split(' ')),
  );
  if ((await ffmpeg.exited) !== 0) throw new Error(`ffmpeg made no clip: ${ffmpeg.output}`);
}
