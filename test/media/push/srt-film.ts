import { readFile } from 'node:fs/promises';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import type { PushConnection } from '../../../runtime/media/push/connection.ts';

const clock = systemClock();
export const lasting = (ms: number) =>
  new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));

/** The messages of an FLV file. */
export interface Film {
  readonly bytes: Uint8Array;
  readonly messages: readonly Message[];
}

interface Message {
  readonly type: number;
  /** ms. */
  readonly timestamp: number;
  readonly start: number;
  readonly end: number;
}

export async function readFilm(path: string): Promise<Film> {
  const bytes = await readFile(path);
  const messages: Message[] = [];
  for (let at = 13; at + 11 <= bytes.length; ) {
    const start = at + 11;
    const end = start + bytes.readUIntBE(at + 1, 3);
    messages.push({ type: bytes[at], timestamp: bytes.readUIntBE(at + 4, 3), start, end });
    at = end + 4;
  }
  return { bytes, messages };
}

/**
 * Sends a film as it would be broadcast, in real time, over a connection that is open; what it does not take waits for
 * `drained`. Ends early when `isOver` says so. `loop`: without an end.
 */
export async function sendFilm(
  film: Film,
  options: {
    connection: PushConnection;
    drained(): Promise<void>;
    isOver(): boolean;
    loop?: boolean;
  },
): Promise<void> {
  const { connection, drained, isOver, loop = false } = options;
  const { framing } = connection;
  const send = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length && !isOver(); ) {
      const room = drained();
      at += connection.write(bytes.subarray(at));
      if (at < bytes.length) await room;
    }
  };
  await send(framing.preamble);
  const began = clock.now();
  const length = film.messages.at(-1)?.timestamp ?? 0;
  for (let base = 0; ; base += length + 33) {
    for (const { type, timestamp, start, end } of film.messages) {
      const wait = base + timestamp - (clock.now() - began);
      if (wait > 0) await lasting(wait);
      if (isOver()) return;
      const out = new Uint8Array(framing.sizeOf(end - start));
      const written = framing.write(out, 0, type, base + timestamp, film.bytes, start, end);
      await send(out.subarray(0, written));
    }
    if (!loop) return;
  }
}
