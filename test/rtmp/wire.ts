import type { Socket } from 'bun';
import type { PublishGrant, PublishRefusal, PublishRequest } from '../../core/ports/media.ts';
import { RtmpListener } from '../../runtime/media/rtmp/listener.ts';
import type { RtmpConfig } from '../../runtime/media/rtmp/session.ts';
import { readReplies, recordingHandlers, rtmpDefaults, virtualClock } from './kit.ts';

/** Resolves when a condition holds; looked at in every turn of the event loop. Needs no timer. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

/** A listener on a free port of this machine, with a clock that stands still and a log that is kept. */
export function openListener(
  options: {
    answer?: (request: PublishRequest, token: string) => Promise<PublishGrant | PublishRefusal>;
    config?: Partial<RtmpConfig>;
    tls?: { port: number; cert: string; key: string };
  } = {},
) {
  const time = virtualClock();
  const owner = recordingHandlers(options.answer);
  const lines: { level: string; message: string; fields?: object }[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    void lines.push({ level, message, fields });
  const { handlers } = owner;
  const listener = new RtmpListener({
    host: '127.0.0.1',
    port: 0,
    tls: options.tls,
    clock: time.clock,
    log: { debug: say('debug'), info: say('info'), error: say('error') },
    config: { ...rtmpDefaults, ...options.config },
    handlers,
  });

  /** Connects and sends `bytes`; more with `send`. */
  async function dial(bytes: readonly number[] = [], port = listener.port, tls = false) {
    let received = Buffer.alloc(0);
    let isClosed = false;
    let rest = Uint8Array.from(bytes);
    const flush = (socket: Socket) => {
      const sent = socket.write(rest);
      rest = rest.subarray(Math.max(0, sent));
    };
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      ...(tls ? { tls: { rejectUnauthorized: false } } : {}),
      socket: {
        open: flush,
        drain: flush,
        data(_, data) {
          received = Buffer.concat([received, data]);
        },
        close() {
          isClosed = true;
        },
        error: () => undefined,
      },
    });
    return {
      socket,
      send(...parts: (readonly number[])[]) {
        rest = Uint8Array.from([...rest, ...parts.flat()]);
        flush(socket);
      },
      codes: () => readReplies(received).codes,
      received: () => received,
      isClosed: () => isClosed,
      closed: () => until(() => isClosed),
      told: (code: string) => until(() => readReplies(received).codes.includes(code)),
    };
  }

  return Object.assign(owner, {
    listener,
    lines,
    dial,
    until,
    advance: time.advance,
    pending: time.pending,
  });
}
