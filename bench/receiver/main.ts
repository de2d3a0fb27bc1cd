import type { Socket } from 'bun';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { Arena, type MediaSink } from '../../runtime/media/publish/sink.ts';
import { RtmpSession } from '../../runtime/media/rtmp/session.ts';
import { rtmpDefaults } from '../../test/rtmp/kit.ts';

/**
 * A floor to measure against: takes every RTMP publish and throws its media away, `messages` as they come out
 * of the parser, `bytes` as they come off the socket. Prints a `ReceiverReport` in a line of JSON each second.
 * Run: bun bench/receiver/main.ts PORT messages|bytes
 */
export interface ReceiverReport {
  at: number;
  /** Publishes that run now. */
  publishing: number;
  /** Bytes off all sockets so far. */
  bytes: number;
}

const port = Number(process.argv[2]);
const isParsed = process.argv[3] === 'messages';
const clock = systemClock();

interface Connection {
  session: RtmpSession;
  isPublishing: boolean;
}

let publishing = 0;
let received = 0;

Bun.listen<Connection>({
  hostname: '127.0.0.1',
  port,
  socket: {
    open: (socket) => {
      socket.data = connect(socket);
    },
    data: ({ data }, bytes) => {
      received += bytes.length;
      if (isParsed || !data.isPublishing) data.session.feed(bytes);
    },
    close: ({ data }) => {
      if (data.isPublishing) publishing -= 1;
      data.session.disconnected();
    },
  },
});

setInterval(() => {
  const report: ReceiverReport = {
    at: performance.timeOrigin + performance.now(),
    publishing,
    bytes: received,
  };
  console.log(JSON.stringify(report));
}, 1000);

function connect(socket: Socket<Connection>): Connection {
  const session = new RtmpSession({
    clock,
    config: rtmpDefaults,
    connection: crypto.randomUUID(),
    address: socket.remoteAddress,
    write: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    onEnd: () => {},
    handlers: {
      authorise: async ({ key }) => ({
        granted: true,
        token: crypto.randomUUID(),
        streamId: key,
        sessionId: key,
        playbackId: key,
        mediaSequence: 0,
        discontinuitySequence: 0,
        targetDuration: 4,
      }),
      attach: () => {
        if (!connection.isPublishing) publishing += 1;
        connection.isPublishing = true;
        return drain();
      },
      detached: () => {},
    },
  });
  const connection: Connection = { session, isPublishing: false };
  return connection;
}

function drain(): MediaSink {
  const sink: MediaSink = {
    video: new Arena({ initial: 65_536, limit: 2 ** 25 }),
    audio: new Arena({ initial: 8192, limit: 2 ** 25 }),
    onVideo: (_start, end) => sink.video.release(end),
    onAudio: (_start, end) => sink.audio.release(end),
    onMetadata: () => {},
  };
  return sink;
}
