/**
 * Encoders out of their minds against the packager, in process: clocks that jump, headers that change, tracks that
 * come and go, messages of nothing, memory that runs out. A viewer fetches everything all the time and holds it
 * against RFC 8216bis and ISO/IEC 14496-12.
 *
 *     npm run fuzz -- packager [broadcasts, default 100] [first seed, default 1]
 *
 * Ends with 1 when a rule was broken, and prints the seeds that did it.
 */
import { MemoryBudget } from '../../runtime/media/publish/memory-budget.ts';
import type { MediaSink } from '../../runtime/media/publish/sink.ts';
import {
  AAC_44100_MONO,
  AAC_48000_STEREO,
  AV1_360P,
  AVC_240P,
  AVC_360P,
  audioHeader,
  Feed,
  frame,
  HEVC_360P,
  OPUS_STEREO,
  send,
  sound,
  videoHeader,
} from '../hls/feed.ts';
import { Follower } from '../hls/follower.ts';
import { generator } from './rtmp/damage.ts';

const [broadcasts = 100, first = 1] = process.argv.slice(2).map(Number);
const four = (text: string) => [...Buffer.from(text)];
/** FLV bodies with nothing in them that could be played. */
const NOTHINGS = [
  [],
  [0x17],
  [0x17, 1],
  [0x57, 1, 2, 3],
  [0x87],
  [0x97, 0, 0],
  [0x96, 0x20, 0x61],
  [0xa6, 0x10, ...four('hvc1'), 0, 255, 255, 255],
  [0xa6, 0x11, ...four('hvc1'), 1, 0, 0, 0],
  [0x17, 0, 0, 0, 0, ...Array(40).fill(255)],
  [0x17, 1, 0, 0, 0],
  [0x22, 1],
  [0xaf],
  [0xaf, 1],
  [0xaf, 0, 255, 255],
];
/** Milliseconds. */
const JUMPS = [3_600_000, -3_600_000, 2 ** 31, 9000, -9000, 1000, -1000, 500, 50, -50];

const broken: number[] = [];
const counters = { broadcasts: 0, publishes: 0, segments: 0, fatal: 0 };
for (let seed = first; seed < first + broadcasts; seed += 1) {
  try {
    await broadcast(seed);
  } catch (error) {
    broken.push(seed);
    console.log('PROBLEM seed', seed, error instanceof Error ? error.stack : error);
  }
}
console.log(counters, broken.length > 0 ? { broken } : 'no rule broken');
process.exit(broken.length === 0 ? 0 : 1);

async function broadcast(seed: number): Promise<void> {
  const random = generator(seed);
  const below = (most: number) => Math.floor(random() * most);
  const budget = new MemoryBudget({ limit: random() < 0.5 ? 500_000 + below(1_500_000) : 2 ** 30 });
  const feed = new Feed({ arenaLimit: 2 ** 24 }, budget.open());
  const follower = new Follower((uri) => feed.bytes(uri), { isUneven: true });
  let seen = '';
  const look = async () => {
    const text = feed.output.isPlayable ? await feed.text('source.m3u8') : '';
    if (text !== seen) await follower.see(text);
    seen = text;
  };
  for (let publishes = 1 + below(4); publishes > 0; publishes -= 1) {
    const { sink, grant, fatal } = feed.attach();
    const encoder = madEncoder(sink, random);
    counters.publishes += 1;
    for (let count = 200 + below(800); count > 0 && fatal.length === 0; count -= 1) {
      if (!encoder.next()) break;
      feed.clock.advance(encoder.pace);
      await look();
    }
    counters.fatal += fatal.length;
    feed.output.detach(grant.token);
    await look();
    feed.clock.advance(below(20_000));
  }
  counters.segments += follower.checker.segments.size;
  counters.broadcasts += 1;
  void feed.output.end();
  if (budget.held !== 0) throw new Error(`${budget.held} bytes are held by a broadcast that is over`);
}

/** `next` sends a picture and the sound beside it; false when there is no memory for them. `pace`: real ms of each. */
function madEncoder(sink: MediaSink, random: () => number) {
  const below = (most: number) => Math.floor(random() * most);
  const oneOf = <T>(list: readonly T[]): T => list[below(list.length)];
  const seldom = () => (random() < 0.5 ? random() * 0.04 : 0);
  const [jumps, changes, nothings] = [seldom(), seldom(), seldom()];
  const fps = oneOf([10, 25, 30, 60, 144]);
  const gop = oneOf([0, 1, 10, 60, 250]);
  let video = oneOf(['avc1', 'hvc1', 'av01', '']);
  let audio = oneOf(['mp4a', 'Opus', '']);
  const start = random() < 0.3 ? 2 ** 32 - below(5000) : below(2 ** 32);
  let [pictureTime, soundTime, pictures] = [start, start, 0];

  const put = (type: 8 | 9, time: number, body: readonly number[]) =>
    send(sink, type, Math.round(time) >>> 0, Uint8Array.from(body));
  const announceVideo = () => {
    if (video === 'avc1') put(9, pictureTime, [...videoHeader(oneOf([AVC_360P, AVC_240P]))]);
    else if (video !== '')
      put(9, pictureTime, [0x90, ...four(video), ...(video === 'hvc1' ? HEVC_360P : AV1_360P)]);
  };
  const announceAudio = () => {
    if (audio === 'mp4a') put(8, soundTime, [...audioHeader(oneOf([AAC_44100_MONO, AAC_48000_STEREO]))]);
    else if (audio !== '') put(8, soundTime, [0x90, ...four('Opus'), ...OPUS_STEREO]);
  };
  const sendPicture = () => {
    const isKey = pictures === 0 || (gop > 0 && pictures % gop === 0);
    const cts = below(4) * 33 - (random() < 0.01 ? below(2 ** 23) : 0);
    const time = [(cts >> 16) & 255, (cts >> 8) & 255, cts & 255];
    const size = 2 + below(2000);
    const unit = [isKey ? 0x26 : 2, 1, ...Array(size - 2).fill(0)];
    const head = [isKey ? 0x91 : 0xa1, ...four(video)];
    if (video === 'hvc1') put(9, pictureTime, [...head, ...time, 0, 0, size >> 8, size & 255, ...unit]);
    else if (video === 'av01') put(9, pictureTime, [...head, ...unit]);
    else put(9, pictureTime, [...frame({ isKey, cts, size: random() < 0.01 ? below(300_000) + 1 : size })]);
    pictures += 1;
  };
  const sendSound = () => {
    if (audio === 'mp4a') put(8, soundTime, [...sound(1 + below(300))]);
    else
      put(8, soundTime, [0x91, ...four(audio), oneOf([0xfc, 0x78, 0xff, 3]), ...Array(below(200)).fill(9)]);
  };
  const change = () => {
    const kind = below(4);
    if (kind === 0) video = oneOf(['avc1', 'hvc1', 'av01', '']);
    if (kind === 1) audio = oneOf(['mp4a', 'Opus', '']);
    if (kind % 2 === 0) announceVideo();
    else announceAudio();
  };

  if (random() < 0.5) sink.onMetadata(['onMetaData', { width: below(2), audiocodecid: below(2) }]);
  if (random() < 0.9) announceVideo();
  if (random() < 0.9) announceAudio();
  return {
    pace: (1000 / fps) * oneOf([1, 1, 1, 1, 1, 1, 1, 0.1, 10]),
    next(): boolean {
      if (random() < jumps) pictureTime += oneOf(JUMPS);
      if (random() < jumps) soundTime += oneOf(JUMPS);
      try {
        if (random() < changes) change();
        if (random() < nothings) put(oneOf([8, 9]), below(2 ** 32), oneOf(NOTHINGS));
        if (video !== '') sendPicture();
        pictureTime += 1000 / fps;
        for (let left = 0; audio !== '' && left < 1000 / fps; left += 1000 / 48) {
          sendSound();
          soundTime += 1000 / 48;
        }
      } catch (error) {
        if (error instanceof Error && error.message === 'the arena is full') return false;
        throw error;
      }
      return true;
    },
  };
}
