import { expect, test } from 'vitest';
import { ChunkTrack } from '../../../runtime/media/push/chunk-track.ts';
import { chunkedSize, writeMessage } from '../../../runtime/media/rtmp/message-writer.ts';

test.each([1, 3, 11, 64, 1000, 100_000])('the ends of messages are known in pieces of %d bytes', (piece) => {
  for (const chunkSize of [128, 1000, 65_536]) {
    const track = new ChunkTrack(chunkSize);
    const ends = new Set([0]);
    let bytes = Buffer.alloc(0);
    for (const timestamp of [0, 0xfffffe, 0xffffff, 0xffffffff]) {
      for (const length of [0, 1, 127, 128, 129, 999, 1000, 2001]) {
        const out = new Uint8Array(chunkedSize(length, chunkSize));
        const body = new Uint8Array(length).fill(0xff);
        const end = writeMessage(out, 0, {
          chunkStream: 6,
          type: 9,
          streamId: 1,
          timestamp,
          body,
          chunkSize,
        });
        bytes = Buffer.concat([bytes, out.subarray(0, end)]);
        ends.add(bytes.length);
      }
    }
    for (let at = 0; at < bytes.length; at += piece) {
      const to = Math.min(bytes.length, at + piece);
      track.advance(bytes, at, to);
      expect(track.isBetween).toBe(ends.has(to));
    }
  }
});
