import type { MediaFact, PublishGrant, PublishRefusal, PublishRequest } from '../../core/ports/media.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { inProcessMedia } from '../../runtime/media/broadcast/in-process.ts';
import type { NodePusher } from '../../runtime/media/push/pusher.ts';
import type { MediaRecorder } from '../../runtime/media/recording/feed.ts';
import type { RenditionMaker } from '../../runtime/media/renditions/ladder.ts';
import {
  AAC_48000_STEREO,
  AVC_360P,
  audioHeader,
  frame,
  responseOf,
  sound,
  videoHeader,
} from '../hls/feed.ts';
import { findFreePort } from '../kit/free-ports.ts';
import { type Publisher, publish } from '../kit/publisher/publisher.ts';
import { rtmpDefaults } from '../rtmp/kit.ts';

export type Authorise = (request: PublishRequest) => Promise<PublishGrant | PublishRefusal>;

/** The media of a process on a free port, its facts and lines of log, and encoders that publish to it. */
export async function station(
  authorise?: Authorise,
  options: {
    memory?: number;
    recorder?: MediaRecorder;
    pusher?: NodePusher;
    transcoder?: RenditionMaker;
  } = {},
) {
  const { memory = 2 ** 32, recorder, pusher, transcoder } = options;
  const port = await findFreePort();
  const facts: MediaFact[] = [];
  const lines: string[] = [];
  const write = (level: string) => (message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const timers = new Set<object>();
  const system = systemClock();
  const media = inProcessMedia({
    clock: {
      now: () => system.now(),
      at(due, action) {
        const timer = {};
        timers.add(timer);
        const cancel = system.at(due, () => {
          timers.delete(timer);
          action();
        });
        return () => {
          timers.delete(timer);
          cancel();
        };
      },
    },
    log: { ...log, child: () => log } as never,
    rtmp: { ...rtmpDefaults, host: '127.0.0.1', port },
    ...(recorder && { recorder }),
    ...(pusher && { pusher }),
    ...(transcoder && { transcoder }),
    tls: undefined,
    hls: { partTarget: 0.35, window: 12, waiterLimit: 100, memory },
  });
  let count = 0;
  const grantAll: Authorise = async ({ key }) =>
    grant({ token: `t${++count}`, playbackId: key, turn: count });
  const stop = await media.accept({ authorise: authorise ?? grantAll, report: (fact) => facts.push(fact) });
  const serve = (file: string, options: { id?: string; query?: string; signal?: AbortSignal } = {}) =>
    responseOf(
      media.serve({
        playbackId: options.id ?? 'key',
        file,
        query: new URLSearchParams(options.query),
        signal: options.signal ?? new AbortController().signal,
      }),
    );
  return {
    media,
    port,
    facts,
    lines,
    stop,
    serve,
    now: () => system.now(),
    /** Timers that are set now. */
    timers: () => timers.size,
    encoder: (key = 'key') => publish({ url: `rtmp://127.0.0.1:${port}/live/${key}` }),
    /** The facts in short: `playable t1`, `closed t1 clean`. */
    told: () =>
      facts.map((fact) =>
        [fact.type, fact.grant.token, ...(fact.type === 'closed' && fact.clean ? ['clean'] : [])].join(' '),
      ),
    playlist: async (id = 'key') => {
      const answer = await serve('source.m3u8', { id });
      return answer?.status === 200 ? answer.text() : undefined;
    },
    [Symbol.asyncDispose]: stop,
  };
}

export function grant(options: { token: string; playbackId?: string; turn?: number }): PublishGrant {
  const { token, playbackId = 'key', turn = 1 } = options;
  return {
    granted: true,
    token,
    streamId: `stream of ${playbackId}`,
    sessionId: 'session',
    playbackId,
    mediaSequence: 1000 * turn,
    discontinuitySequence: turn - 1,
    targetDuration: 4,
  };
}

export function sendHeaders(encoder: Publisher): void {
  encoder.sendVideo(videoHeader(AVC_360P), 0);
  encoder.sendAudio(audioHeader(AAC_48000_STEREO), 0);
}

/** `seconds` of media at once, from the time `from`, in milliseconds. */
export function sendMedia(
  encoder: Publisher,
  options: { seconds: number; from?: number; gop?: number },
): void {
  const { seconds, from = 0, gop = 30 } = options;
  let sounds = 0;
  for (let index = 0; index < seconds * 30; index += 1) {
    const time = (index * 1000) / 30;
    encoder.sendVideo(frame({ isKey: index % gop === 0 }), Math.round(from + time));
    for (; (sounds * 1024) / 48 <= time; sounds += 1)
      encoder.sendAudio(sound(), Math.round(from + (sounds * 1024) / 48));
  }
}

/** Waits until `isTrue`, asked in every turn of the event loop; says what was awaited after 5 s. */
export async function until(what: string, isTrue: () => unknown): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Turns of the event loop for something that must not happen. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
