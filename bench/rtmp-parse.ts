/**
 * What the chunk parser alone costs: one publisher's minute of 3 Mb/s video (30 frames a second, key frame
 * every 2 s) and AAC, in reads of 64 KiB, 16 KiB and 1,460 bytes, into a sink that only releases.
 * Run: node_modules/.bin/bun bench/rtmp-parse.ts
 */

import { Arena, type MediaSink } from '../runtime/media/publish/sink.ts';
import { ChunkParser } from '../runtime/media/rtmp/chunk-parser.ts';

const SECONDS = 60;

for (const chunkSize of [128, 4096, 60_000]) {
  const { bytes, messages } = broadcast(chunkSize);
  for (const read of [1_460, 16_384, 65_536]) {
    measure(bytes, read);
    const runs = Array.from({ length: 7 }, () => measure(bytes, read)).sort((a, b) => a - b);
    const ms = runs[3];
    const megabytes = bytes.length / 1e6;
    console.log(
      [
        `chunks of ${chunkSize}, reads of ${read}:`,
        `${Math.round(messages / ms / 10) / 100} M messages/s,`,
        `${Math.round(megabytes / (ms / 1000))} MB/s,`,
        `${Math.round((ms * 1000) / megabytes)} µs per MB,`,
        `${((ms / 10 / SECONDS) as number).toFixed(4)} % of a core per stream`,
      ].join(' '),
    );
  }
}

/** Milliseconds for the whole broadcast, through one buffer that is used again like a socket's. */
function measure(bytes: Uint8Array, read: number): number {
  const sink: MediaSink = {
    video: new Arena({ initial: 1 << 20, limit: 1 << 26 }),
    audio: new Arena({ initial: 1 << 16, limit: 1 << 26 }),
    onVideo: (_start, end) => {
      if (end > 200_000) sink.video.release(end);
    },
    onAudio: (_start, end) => {
      if (end > 10_000) sink.audio.release(end);
    },
    onMetadata: () => undefined,
  };
  const parser = new ChunkParser({ messageBytes: 10 << 20, onControl: () => undefined });
  parser.attach(sink, 1);
  const reads: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += read) reads.push(Buffer.from(bytes.subarray(at, at + read)));
  const began = performance.now();
  for (const part of reads) parser.feed(part, 0, part.length);
  return performance.now() - began;
}

function broadcast(chunkSize: number): { bytes: Uint8Array; messages: number } {
  const out = new Uint8Array(SECONDS * 500_000);
  let at = 0;
  let messages = 0;
  const put = (...bytes: number[]) => {
    for (const byte of bytes) out[at++] = byte;
  };
  const message = (csid: number, type: number, time: number, length: number) => {
    put(csid, time >> 16, time >> 8, time, length >> 16, length >> 8, length, type, 1, 0, 0, 0);
    for (let sent = 0; sent < length; sent += chunkSize) {
      if (sent > 0) put(0xc0 | csid);
      at += Math.min(chunkSize, length - sent);
    }
    messages += 1;
  };
  put(2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, chunkSize >> 16, chunkSize >> 8, chunkSize);
  let audio = 0;
  for (let frame = 0; frame < SECONDS * 30; frame += 1) {
    const time = Math.round((frame * 1000) / 30);
    message(6, 9, time, frame % 60 === 0 ? 80_000 : 11_400);
    for (; audio <= time; audio += 23) message(4, 8, audio, 340);
  }
  return { bytes: out.subarray(0, at), messages };
}
