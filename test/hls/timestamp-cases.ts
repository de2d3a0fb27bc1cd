import { issues } from '../../runtime/media/live/issues.ts';
import { type FlvTag, readFlvTags } from '../kit/publisher/flv-file.ts';
import { Feed, type Publisher, send } from './feed.ts';
import { Viewer } from './viewer.ts';

/** One media message: when the encoder took it, what stamp it gives it, when it comes. Milliseconds. */
export interface Message {
  readonly type: 8 | 9;
  readonly body: Uint8Array;
  readonly isHeader: boolean;
  readonly isKey: boolean;
  readonly time: number;
  stamp: number;
  arrival: number;
}

export interface TimestampCase {
  readonly name: string;
  /** What becomes of the messages of a good encoder. */
  readonly bend: (messages: Message[]) => Message[];
  /** Seconds of picture and sound expected, when not all. */
  readonly picture?: number;
  readonly sound?: number;
  readonly issues?: readonly string[];
  readonly discontinuities?: number;
  /** By how many seconds picture and sound may be apart from how they were taken. Default 0.1. */
  readonly apart?: number;
}

/** Length of the media that the cases bend, seconds. */
export const LENGTH = 12;
const HOUR = 3_600_000;
const JUMPED = [issues.jumped];

const stamp = (change: (message: Message) => number) => (messages: Message[]) =>
  messages.map((message) => ({ ...message, stamp: change(message) }));
const only = (keep: (message: Message) => boolean) => (messages: Message[]) => messages.filter(keep);
const isVideo = ({ type }: Message) => type === 9;
/** A picture that no other one is built on: nal_ref_idc is 0 in all its slices. */
const isDisposable = ({ body, isHeader }: Message) => !isHeader && (body[9] & 0x60) === 0;
const between = (from: number, to: number) => (message: Message) =>
  !message.isHeader && message.time >= from && message.time < to;

/** Gives every `count`th picture another stamp. */
const strayEvery = (count: number, change: (message: Message) => number) => (messages: Message[]) => {
  let pictures = 0;
  return messages.map((message) => {
    if (!isVideo(message) || message.isHeader) return message;
    pictures += 1;
    return pictures % count === 0 ? { ...message, stamp: change(message) } : message;
  });
};

let turn = 0;

export const CASES: readonly TimestampCase[] = [
  { name: 'as it should be', bend: (messages) => messages },
  { name: 'begins at an hour', bend: stamp(({ time }) => time + HOUR) },
  { name: 'passes 24 bits', bend: stamp(({ time }) => time + 2 ** 24 - 6000) },
  { name: 'passes 31 bits', bend: stamp(({ time }) => time + 2 ** 31 - 6000) },
  { name: 'wraps at 32 bits', bend: stamp(({ time }) => time + 2 ** 32 - 6000) },
  { name: 'an hour ahead', bend: stamp(({ time }) => (time > 6000 ? time + HOUR : time)), issues: JUMPED },
  { name: 'an hour back', bend: stamp(({ time }) => (time > 6000 ? time : time + HOUR)), issues: JUMPED },
  {
    name: 'to zero, sound 300 ms later',
    bend: stamp(({ time, type }) => (time > (type === 9 ? 6000 : 6300) ? time - 6000 : time + 60_000)),
    issues: JUMPED,
  },
  {
    name: 'an hour back and forth every 3 s',
    bend: stamp(({ time }) => time + (Math.floor(time / 3000) % 2) * HOUR),
    issues: JUMPED,
  },
  {
    name: 'one wild stamp',
    bend: stamp((message) => message.time + (isVideo(message) && between(5990, 6020)(message) ? HOUR : 0)),
    issues: JUMPED,
  },
  {
    name: 'every tenth picture has stamp 0',
    bend: strayEvery(10, () => 0),
    issues: JUMPED,
  },
  {
    name: 'every tenth picture has stamp 0, sound an hour ahead',
    bend: (messages) =>
      strayEvery(
        10,
        () => 0,
      )(messages).map((message) =>
        isVideo(message) ? message : { ...message, stamp: message.stamp + HOUR },
      ),
    issues: JUMPED,
  },
  {
    name: 'every tenth message of both tracks has stamp 0',
    bend: (messages) => messages.map((message, i) => (i % 10 === 9 ? { ...message, stamp: 0 } : message)),
    issues: JUMPED,
  },
  {
    name: 'three of ten pictures count from 0',
    bend: (messages) => {
      let count = 0;
      return messages.map((message) => {
        if (!isVideo(message) || message.isHeader) return message;
        count += 1;
        return count % 10 > 6 ? { ...message, stamp: (count % 10) * 33 } : message;
      });
    },
    issues: JUMPED,
  },
  {
    name: 'restarts at 0 with every tenth picture stamped 0',
    bend: (messages) =>
      strayEvery(
        10,
        () => 0,
      )(
        messages.map((message) => ({
          ...message,
          stamp: message.time > 6000 ? message.time - 6000 : message.time + 90_000,
        })),
      ),
    issues: JUMPED,
  },
  {
    name: 'picture and sound an hour apart',
    bend: stamp((message) => message.time + (isVideo(message) ? HOUR : 0)),
    issues: JUMPED,
  },
  {
    name: 'all stamps are zero',
    bend: stamp(() => 0),
    issues: [issues.still],
    apart: 0.2,
  },
  {
    name: 'the clock of the picture stands still',
    bend: stamp((message) => (isVideo(message) ? 0 : message.time)),
    issues: [issues.still],
    apart: 0.2,
  },
  {
    name: 'the clock of both stops after 6 s',
    bend: stamp(({ time }) => Math.min(time, 6000)),
    issues: [issues.still],
    apart: 0.2,
  },
  { name: 'two pictures on each stamp', bend: stamp(({ time }) => Math.floor(time / 67) * 67) },
  { name: 'stamps in steps of 100 ms', bend: stamp(({ time }) => Math.floor(time / 100) * 100) },
  {
    name: 'stamps that shake',
    bend: stamp(({ time }) => {
      turn += 1;
      return Math.max(0, time + ((turn * 37) % 30) - 15);
    }),
  },
  {
    name: 'a varying frame rate',
    bend: only((message) => !(isVideo(message) && isDisposable(message) && message.time % 4000 > 2000)),
  },
  {
    name: 'negative composition times',
    bend: (messages) =>
      messages.map((message) =>
        isVideo(message) && !message.isHeader ? { ...message, body: earlier(message.body, 100) } : message,
      ),
  },
  {
    name: 'sound pauses for 3 s',
    bend: only((message) => isVideo(message) || !between(5000, 8000)(message)),
    sound: LENGTH,
  },
  {
    name: 'nothing for 2 s',
    bend: only((message) => !between(6000, 8000)(message)),
    picture: LENGTH - 2,
    sound: LENGTH - 2,
    discontinuities: 1,
  },
  { name: 'sound alone', bend: only((message) => !isVideo(message)) },
  { name: 'picture alone', bend: only(isVideo) },
  {
    name: 'the header of the picture comes late',
    bend: (messages) => late(messages, 9, 4100),
    picture: LENGTH - 6,
    discontinuities: 1,
  },
  {
    name: 'the header of the sound comes late',
    bend: (messages) => late(messages, 8, 4100),
    sound: LENGTH - 6,
    discontinuities: 1,
  },
  {
    name: 'headers are repeated with every key frame',
    bend: (messages) => {
      const headers = messages.filter(({ isHeader }) => isHeader);
      return messages.flatMap((message) =>
        message.isKey && message.time > 0
          ? [
              ...headers.map((header) => ({ ...header, stamp: message.stamp, arrival: message.arrival })),
              message,
            ]
          : [message],
      );
    },
  },
  {
    name: 'a picture of 6 MB',
    bend: (messages) =>
      messages.map((message) =>
        message.isKey && message.time === 4000
          ? { ...message, body: filled(message.body, 6_000_000) }
          : message,
      ),
  },
  {
    name: 'comes in heaps of 2 s',
    bend: (messages) =>
      messages.map((message) => ({ ...message, arrival: Math.ceil(message.time / 2000) * 2000 })),
  },
  {
    name: 'is held up for 5 s on its way',
    bend: (messages) =>
      messages.map((message) => ({
        ...message,
        arrival: message.time < 4000 ? message.time : message.time + 5000,
      })),
  },
  {
    // flvmux of GStreamer does so when it cannot keep up.
    name: 'pictures of a busy encoder share a stamp and come late',
    bend: (messages) =>
      messages.map((message) => {
        if (!isVideo(message) || message.time < 5700) return message;
        const isHeld = message.time < 6000;
        const arrival = isHeld ? 5700 + (message.time - 5700) * 2.2 : Math.max(message.time, 6360);
        return { ...message, stamp: isHeld ? 5700 : message.time, arrival };
      }),
    apart: 0.7,
  },
  {
    name: 'sound shares a stamp now and then, once after a pause of 0.8 s',
    bend: (messages) =>
      messages
        .filter((message) => isVideo(message) || !between(6000, 6800)(message))
        .map((message) => {
          const slots = isVideo(message) ? [] : [2000, 6800];
          const slot = slots.find((from) => message.time >= from && message.time < from + 43);
          return slot === undefined ? message : { ...message, stamp: slot };
        }),
    sound: LENGTH,
  },
  {
    name: 'all stamps wrap, jump and shake',
    bend: stamp(({ time }) => {
      turn += 1;
      return (time > 8000 ? time - HOUR : time) + 2 ** 32 - 3000 + ((turn * 37) % 20) - 10;
    }),
    issues: JUMPED,
  },
];

/** The first `LENGTH` seconds of an FLV file as messages in the order of an encoder. */
export function messagesOf(file: Uint8Array): Message[] {
  return readFlvTags(file)
    .filter((tag): tag is FlvTag & { type: 'audio' | 'video' } => tag.type !== 'script')
    .map(({ type, timestamp, body }): Message => {
      const isHeader = body[1] === 0;
      const isKey = type === 'video' && !isHeader && body[0] >> 4 === 1;
      return {
        type: type === 'video' ? 9 : 8,
        body,
        isHeader,
        isKey,
        time: timestamp,
        stamp: timestamp,
        arrival: timestamp,
      };
    })
    .filter(
      ({ time, type, isHeader, body }) => time < LENGTH * 1000 && (isHeader || type === 8 || body[1] === 1),
    );
}

export interface Outcome {
  readonly feed: Feed;
  readonly viewer: Viewer;
  readonly publisher: Publisher;
  readonly issues: readonly string[];
  /** Issues of any time, in the order they came. */
  readonly sent: readonly Message[];
  /** Seconds that the samples of each track last; 0 without the track. */
  readonly picture: number;
  readonly sound: number;
}

/** Sends the messages of a case in virtual time to a live output that a viewer follows. */
export async function sendCase(messages: readonly Message[]): Promise<Outcome> {
  const feed = new Feed({ window: 60 });
  const viewer = new Viewer(feed);
  const publisher = feed.attach();
  let now = 0;
  for (const message of messages.toSorted((a, b) => a.arrival - b.arrival)) {
    if (message.arrival > now) {
      await viewer.look();
      feed.clock.advance(message.arrival - now);
      now = message.arrival;
    }
    send(publisher.sink, message.type, message.stamp >>> 0, message.body);
  }
  feed.clock.advance(30);
  feed.output.detach(publisher.grant.token);
  await viewer.look();
  const length = (track: number, timescale: number) =>
    viewer.samples(track).reduce((sum, sample) => sum + sample.duration, 0) / timescale;
  const { issues } = publisher.sink.figures();
  const sent = messages.filter(({ isHeader }) => !isHeader);
  return { feed, viewer, publisher, issues, sent, picture: length(1, 90_000), sound: length(2, 48_000) };
}

/** What is decoded when, milliseconds: the times of all samples of a track, in order. */
export function decodeTimes(viewer: Viewer, track: number): number[] {
  const timescale = track === 1 ? 90 : 48;
  return viewer.runs
    .filter((run) => run.track === track)
    .flatMap((run) => {
      let at = run.start;
      return run.samples.map(({ duration }) => {
        const time = at / timescale;
        at += duration;
        return time;
      });
    });
}

/** The header of a track comes at `time`, behind what is sent by then. */
function late(messages: Message[], type: 8 | 9, time: number): Message[] {
  const header = messages.find((message) => message.isHeader && message.type === type) as Message;
  const rest = messages.filter((message) => message !== header);
  const index = rest.findIndex((message) => message.time >= time);
  return rest.toSpliced(index, 0, { ...header, stamp: time, arrival: time });
}

/** The body with its composition time `ms` earlier. */
function earlier(body: Uint8Array, ms: number): Uint8Array {
  const cts = (((body[2] << 24) | (body[3] << 16) | (body[4] << 8)) >> 8) - ms;
  return body
    .with(2, (cts >> 16) & 255)
    .with(3, (cts >> 8) & 255)
    .with(4, cts & 255);
}

/** The body with a NAL unit of filler data (type 12) behind its pictures. */
function filled(body: Uint8Array, size: number): Uint8Array {
  const whole = new Uint8Array(body.length + 4 + size).fill(0xff);
  whole.set(body);
  new DataView(whole.buffer).setUint32(body.length, size);
  whole[body.length + 4] = 12;
  whole[whole.length - 1] = 0x80;
  return whole;
}
