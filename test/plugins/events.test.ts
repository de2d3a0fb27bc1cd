import { describe, expect, it } from 'vitest';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { eventNames } from '../../plugins/events/contract.ts';
import { eventStream } from '../../plugins/events/event-stream.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const event = (position: number, more: Partial<LoggedEvent> = {}): LoggedEvent => ({
  id: `e${position}`,
  type: 'stream.started',
  account: 'a',
  stream: 's',
  body: `{"n":${position}}`,
  at: 0,
  position,
  ...more,
});

function opened(
  options: {
    from?: number;
    log?: LoggedEvent[];
    type?: string;
    streamId?: string;
    aborted?: boolean;
    /** Called with what is read of the log at a time. */
    after?: (read: LoggedEvent[]) => void;
  } = {},
) {
  const log = options.log ?? [];
  const clock = virtualClock({ start: 0 });
  const abort = new AbortController();
  if (options.aborted) abort.abort();
  let tell: (event: LoggedEvent) => void = () => {};
  let ended = 0;
  const response = eventStream({
    feed: {
      subscribe(listener) {
        tell = listener;
        return () => {
          tell = () => {};
        };
      },
      async after(position, { limit, characters = Number.POSITIVE_INFINITY }) {
        let left = characters;
        const read: LoggedEvent[] = [];
        for (const one of log.filter((one) => one.position > position).slice(0, limit)) {
          if (left < 0) break;
          read.push(one);
          left -= one.body.length;
        }
        options.after?.(read);
        return read;
      },
      position: async () => undefined,
    },
    clock,
    account: 'a',
    type: options.type ?? null,
    streamId: options.streamId ?? null,
    from: options.from,
    signals: [abort.signal],
    onEnd: () => {
      ended += 1;
    },
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  return {
    clock,
    abort,
    tell: (one: LoggedEvent) => tell(one),
    ended: () => ended,
    reader,
    async text(until: string): Promise<string> {
      let text = '';
      while (!text.includes(until)) {
        const { value, done } = await reader.read();
        if (done) break;
        text += new TextDecoder().decode(value);
      }
      return text;
    },
  };
}

const ids = (text: string) => [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);

describe('the event stream', () => {
  it('shows events of the account as they happen, in SSE form', async () => {
    const stream = opened();
    stream.tell(event(1, { account: 'other' }));
    stream.tell(event(2));
    expect(await stream.text('"n":2')).toBe(
      ': connected\n\nid: e2\nevent: stream.started\ndata: {"n":2}\n\n',
    );
  });

  it('replays what came after an id and goes on without a gap or a repeat', async () => {
    const log = [event(1), event(2), event(3)];
    const stream = opened({ from: 1, log });
    stream.tell(event(3));
    expect(ids(await stream.text('"n":3'))).toEqual(['e2', 'e3']);
    // The feed tells of what the log showed already, and of what is new.
    stream.tell(event(3));
    stream.tell(event(4));
    expect(ids(await stream.text('"n":4'))).toEqual(['e4']);
  });

  it('holds a quarter of a megabyte of a replay for a client that does not read', async () => {
    const log = Array.from({ length: 50 }, (_, index) => event(index + 1, { body: 'x'.repeat(100_000) }));
    let held = 0;
    const after = (rows: LoggedEvent[]) => {
      held = Math.max(
        held,
        rows.reduce((sum, { body }) => sum + body.length, 0),
      );
    };
    const stream = opened({ from: 0, log, after });
    expect(ids(await stream.text('e50'))).toHaveLength(50);
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThan(400_000);
  });

  it('shows only the type and stream asked for', async () => {
    const stream = opened({ type: 'stream.idle', streamId: 's2' });
    stream.tell(event(1, { type: 'stream.idle' }));
    stream.tell(event(2, { stream: 's2' }));
    stream.tell(event(3, { type: 'stream.idle', stream: 's2' }));
    expect(ids(await stream.text('"n":3'))).toEqual(['e3']);
  });

  it('says every 5 s that it is still there, and ends when it is told to', async () => {
    const stream = opened();
    await stream.clock.advance(5000);
    expect(await stream.text('still')).toContain(': still here\n\n');
    stream.abort.abort();
    expect(await stream.text('never')).toBe('');
    expect(stream.ended()).toBe(1);
    expect(stream.clock.pending()).toBe(0);
  });

  it('shows what happens during a replay, in its place', async () => {
    const log = [event(1), event(2)];
    const stream = opened({ from: 1, log });
    log.push(event(3));
    stream.tell(event(3));
    expect(ids(await stream.text('"n":3'))).toEqual(['e2', 'e3']);
  });

  it('loses nothing when the feed tells of two commits in another order than the log', async () => {
    const stream = opened();
    stream.tell(event(6));
    stream.tell(event(5));
    expect(ids(await stream.text('"n":5'))).toEqual(['e6', 'e5']);
  });

  it('replays at the pace of its reader, however much there is', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(2000) });
    const log = Array.from({ length: 1200 }, (_, index) => event(index + 1, { body }));
    const stream = opened({ from: 0, log });
    await stream.clock.advance(0);
    expect(stream.ended()).toBe(0);
    expect(ids(await stream.text('id: e1200\n'))).toHaveLength(1200);
  });

  it('is over before it began when the client has left by then', async () => {
    const stream = opened({ aborted: true });
    expect(stream.ended()).toBe(1);
    expect(stream.clock.pending()).toBe(0);
  });

  it('cuts a reader that does not read', async () => {
    const stream = opened();
    const body = JSON.stringify('x'.repeat(100_000));
    for (let position = 1; position < 20; position += 1) stream.tell(event(position, { body }));
    expect(stream.ended()).toBe(1);
  });
});

it('clients can name every event that a plugin emits for them, and no other', async () => {
  const emitted = (await allPlugins()).flatMap(({ emits = {} }) => Object.keys(emits));
  // These are for plugins alone.
  const forClients = emitted.filter((name) => !name.startsWith('session.') && name !== 'task.admitted');
  expect([...eventNames].toSorted()).toEqual(forClients.toSorted());
});
