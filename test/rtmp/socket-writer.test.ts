import { expect, it } from 'vitest';
import { SocketWriter } from '../../runtime/media/rtmp/socket-writer.ts';

/** A socket that takes `room` bytes and no more until told. */
function narrow(room: number) {
  const state = { room, sent: [] as number[], calls: [] as string[] };
  const writer = new SocketWriter(
    {
      write(bytes) {
        const count = Math.min(state.room, bytes.length);
        state.room -= count;
        state.sent.push(...bytes.subarray(0, count));
        return count;
      },
      end: () => state.calls.push('end'),
      terminate: () => state.calls.push('terminate'),
    },
    { limit: 10, onStalled: () => state.calls.push('stalled') },
  );
  return { state, writer };
}

it('keeps what does not fit and sends it in order', () => {
  const { state, writer } = narrow(2);
  const bytes = Uint8Array.of(1, 2, 3, 4);
  writer.write(bytes);
  bytes.fill(0);
  writer.write(Uint8Array.of(5, 6));
  writer.flush();
  state.room = 3;
  writer.flush();
  writer.end();
  expect(state.calls).toEqual([]);
  state.room = 3;
  writer.flush();
  expect([state.sent, state.calls]).toEqual([[1, 2, 3, 4, 5, 6], ['end']]);
});

it('gives up a peer that does not read', () => {
  const { state, writer } = narrow(2);
  for (let count = 0; count < 100; count += 1) writer.write(Uint8Array.of(1, 2, 3));
  writer.flush();
  expect([state.sent, state.calls]).toEqual([[1, 2], ['stalled']]);
});

it('cuts off a peer that does not close', () => {
  const { state, writer } = narrow(0);
  writer.sweep();
  writer.write(Uint8Array.of(1));
  writer.end();
  writer.end();
  writer.sweep();
  writer.sweep();
  expect(state.calls).toEqual(['terminate']);
  writer.close();
  writer.sweep();
  expect(state.calls).toEqual(['terminate']);
});
