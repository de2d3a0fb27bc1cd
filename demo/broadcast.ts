import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RtmpUrl, rtmpUrl } from '../core/push-url/rtmp-url.ts';
import { encodeAmf0 } from '../runtime/media/rtmp/amf0.ts';
import { ClientSession, chunkStreamOf } from '../runtime/media/rtmp/client-session.ts';
import { encodeMessage } from '../runtime/media/rtmp/message-writer.ts';
import type { Clip, Tag } from './clip.ts';

/** Between two attempts to connect, ms. */
const retryWait = 2000;
/** How long the server may not answer, ms. */
const answerTime = 10_000;
/** How long the server has to close the connection after a goodbye, ms. */
const goodbyeTime = 1000;
const chunkSize = 4096;

/**
 * Sends a clip to an RTMP server in real time, over and over, as an encoder does. Connects again when the connection is lost.
 * Returns after `signal`; throws when the server refuses the broadcast.
 */
export async function broadcast(
  url: string,
  options: { clip: Clip; signal: AbortSignal; say: (line: string) => void },
): Promise<void> {
  const { clip, signal, say } = options;
  const target = rtmpUrl(url);
  if (!target.ok) throw new Error(target.message);
  while (!signal.aborted) {
    try {
      await publish(target, { clip, signal, onAir: () => say('on air') });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) throw error;
      say(`${(error as Error).message}; trying again in ${retryWait / 1000} s`);
      await sleep(retryWait, undefined, { signal }).catch(() => {});
    }
  }
}

class Refused extends Error {}

/** One connection. Throws when it is lost. */
async function publish(
  target: RtmpUrl,
  { clip, signal, onAir }: { clip: Clip; signal: AbortSignal; onAir: () => void },
): Promise<void> {
  const publishing = Promise.withResolvers<number>();
  const closed = Promise.withResolvers<void>();
  const end = (error = new Error('the server closed the connection')) => {
    publishing.reject(error);
    closed.resolve();
    socket.destroy();
  };
  const socket = connect(target.to.port, target.to.host);
  const session = new ClientSession({
    target,
    chunkSize,
    send: (bytes) => void socket.write(bytes),
    onPublishing: publishing.resolve,
    onRefused: ({ code }) => end(new Refused(`the server refused the broadcast: ${code}`)),
    onEnded: () => end(),
  });
  socket.setNoDelay(true);
  socket.setTimeout(answerTime, () => end(new Error('the server did not answer in time')));
  socket.on('connect', () => session.begin());
  socket.on('data', (bytes) => {
    try {
      session.receive(bytes as Buffer);
    } catch (error) {
      end(error as Error);
    }
  });
  socket.on('error', end);
  socket.on('close', () => end());
  signal.addEventListener('abort', () => publishing.reject(new Error('stopped')));
  const streamId = await publishing.promise;
  onAir();
  const send = ({ type, body }: Tag, timestamp: number) =>
    socket.write(
      encodeMessage({ chunkStream: chunkStreamOf(type), type, streamId, timestamp, body, chunkSize }),
    );
  for (const tag of clip.headers) send(tag.type === 18 ? metadata(tag) : tag, 0);
  await sendLoops(clip, { send, isOver: () => signal.aborted || socket.destroyed });
  if (!signal.aborted) throw new Error('the connection was lost');
  session.leave();
  socket.end();
  await Promise.race([closed.promise, sleep(goodbyeTime)]);
  socket.destroy();
}

async function sendLoops(
  { media, duration }: Clip,
  { send, isOver }: { send: (tag: Tag, timestamp: number) => void; isOver: () => boolean },
): Promise<void> {
  const began = performance.now();
  for (let loop = 0; ; loop += 1) {
    for (const tag of media) {
      const timestamp = loop * duration + tag.timestamp;
      const wait = began + timestamp - performance.now();
      if (wait > 0) await sleep(wait);
      if (isOver()) return;
      send(tag, timestamp);
    }
  }
}

/** As RTMP sends the script tag of a file. */
function metadata(tag: Tag): Tag {
  return { ...tag, body: Buffer.concat([encodeAmf0(['@setDataFrame']), tag.body]) };
}
