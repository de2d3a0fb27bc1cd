/**
 * HTTP/1.1 requests as fast as the server answers them, each connection with one on its way. Bytes go in and out
 * without an HTTP client in between, which would cost more than a small server does.
 *
 * It never sleeps. Waking a process that does is work of whoever sends to it, here of the server: 8 µs an answer, which only a
 * server pays that lets its client run dry. So a slow one would look slower than it is beside a fast one.
 */
export async function httpLoad(target: Target): Promise<HttpLoad> {
  const { next, connections } = target;
  const ids: string[] = [];
  const errors: string[] = [];
  const latencies: number[] = [];
  let [sent, open, isOver] = [0, 0, false];
  const finished = Promise.withResolvers<void>();
  const from = performance.now();
  const until = target.seconds === undefined ? Number.POSITIVE_INFINITY : from + target.seconds * 1000;

  for (let n = 0; n < connections; n += 1) {
    let [received, sentAt] = ['', 0];
    const send = (socket: Bun.Socket) => {
      const now = performance.now();
      isOver ||= now >= until || sent >= (target.requests ?? Number.POSITIVE_INFINITY);
      if (isOver) return void socket.end();
      sent += 1;
      sentAt = now;
      socket.write(next());
    };
    open += 1;
    await Bun.connect({
      hostname: '127.0.0.1',
      port: target.port,
      socket: {
        open: send,
        data(socket, bytes) {
          received += bytes.toString('latin1');
          const end = endOf(received);
          if (end === undefined) return;
          latencies.push(performance.now() - sentAt);
          const status = Number(received.slice(9, 12));
          if (status < 200 || status > 299) errors.push(received.slice(0, 300));
          else if (target.keepIds) ids.push(/"id":"([^"]+)"/.exec(received)?.[1] ?? '');
          received = received.slice(end);
          send(socket);
        },
        close() {
          open -= 1;
          if (!isOver) errors.push('the server closed a connection');
          if (open === 0) finished.resolve();
        },
      },
    });
  }
  const stayAwake = () => void (open > 0 && setImmediate(stayAwake));
  stayAwake();
  await finished.promise;
  return { answers: latencies.length, seconds: (performance.now() - from) / 1000, latencies, errors, ids };
}

export interface Target {
  readonly port: number;
  readonly connections: number;
  /** The next request, as it goes over the wire. */
  next(): string;
  /** It ends after so many seconds or requests. */
  readonly seconds?: number;
  readonly requests?: number;
  /** Collect the first `id` of each answer. */
  readonly keepIds?: boolean;
}

export interface HttpLoad {
  readonly answers: number;
  readonly seconds: number;
  /** Milliseconds of each. */
  readonly latencies: number[];
  /** Answers other than 2xx. */
  readonly errors: string[];
  readonly ids: string[];
}

/** Where an answer with a length ends, or undefined while it is not whole. */
function endOf(answer: string): number | undefined {
  const head = answer.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(answer.slice(0, head + 2))?.[1];
  if (length === undefined) throw new Error(`an answer without a length: ${answer.slice(0, head)}`);
  const end = head + 4 + Number(length);
  return answer.length >= end ? end : undefined;
}
