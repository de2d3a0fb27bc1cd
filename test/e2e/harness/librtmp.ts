/**
 * Publishes an FLV file in real time with librtmp, which OBS and others send with: its own handshake, its order
 * of commands (releaseStream, FCPublish, createStream, _checkbw), its habit of compressing chunk headers, and
 * `@setDataFrame`. As OBS does, it announces chunks of 4096 bytes first, and ends with FCUnpublish and deleteStream.
 *
 *     bun test/e2e/harness/librtmp.ts <rtmp url> <file.flv>
 *
 * A program of its own, because every call of librtmp blocks.
 */
import { dlopen, FFIType, type Pointer, ptr, toArrayBuffer } from 'bun:ffi';
import { readFileSync } from 'node:fs';

const { ptr: pointer, i32 } = FFIType;
const names = ['librtmp.so.1', 'librtmp.1.dylib'];
const [url, path] = process.argv.slice(2);
const { symbols: rtmp } = open();

const session = rtmp.RTMP_Alloc() as Pointer;
rtmp.RTMP_Init(session);
// It writes into the text and keeps pointers to it.
const address = Buffer.from(`${url}\0`);
if (!rtmp.RTMP_SetupURL(session, ptr(address))) fail('the url is not taken');
rtmp.RTMP_EnableWrite(session);
if (!rtmp.RTMP_Connect(session, null)) fail('no connection');
announceChunks(4096);
if (!rtmp.RTMP_ConnectStream(session, 0)) fail('the publish was refused');
console.log('publishing');

const file = readFileSync(path);
const began = performance.now();
let at = 13;
while (at + 11 <= file.length) {
  const size = file.readUIntBE(at + 1, 3) + 15;
  const time = file.readUIntBE(at + 4, 3);
  const wait = began + time - performance.now();
  if (wait > 0) Bun.sleepSync(wait);
  // One tag a call, with the size behind it, as OBS hands them over.
  const tag = Buffer.from(file.subarray(at, at + size));
  if (rtmp.RTMP_Write(session, ptr(tag), tag.length) <= 0) fail('the connection was lost');
  at += size;
}
rtmp.RTMP_Close(session);
rtmp.RTMP_Free(session);
console.log('done');

/** Set Chunk Size by a packet of ours, then the field that librtmp cuts by: the second of its struct. */
function announceChunks(size: number): void {
  const headroom = 18;
  const body = Buffer.alloc(headroom + 4);
  body.writeUInt32BE(size, headroom);
  const packet = Buffer.alloc(48);
  // RTMPPacket: header type (large), type, absolute time, channel, time, stream, body size, read, chunk, body.
  packet[1] = 1;
  packet.writeInt32LE(2, 4);
  packet.writeUInt32LE(4, 16);
  packet.writeBigUInt64LE(BigInt(ptr(body)) + BigInt(headroom), 32);
  if (!rtmp.RTMP_SendPacket(session, ptr(packet), 0)) fail('the chunk size was not sent');
  new DataView(toArrayBuffer(session, 0, 8)).setInt32(4, size, true);
}

function open() {
  for (const name of names) {
    try {
      return dlopen(name, {
        RTMP_Alloc: { args: [], returns: pointer },
        RTMP_Init: { args: [pointer], returns: FFIType.void },
        RTMP_SetupURL: { args: [pointer, pointer], returns: i32 },
        RTMP_EnableWrite: { args: [pointer], returns: FFIType.void },
        RTMP_Connect: { args: [pointer, pointer], returns: i32 },
        RTMP_ConnectStream: { args: [pointer, i32], returns: i32 },
        RTMP_SendPacket: { args: [pointer, pointer, i32], returns: i32 },
        RTMP_Write: { args: [pointer, pointer, i32], returns: i32 },
        RTMP_Close: { args: [pointer], returns: FFIType.void },
        RTMP_Free: { args: [pointer], returns: FFIType.void },
      });
    } catch {
      // The next name.
    }
  }
  return fail(`no librtmp on this machine (${names.join(', ')}): run scripts/e2e-setup.sh`);
}

function fail(reason: string): never {
  console.error(`librtmp: ${reason}`);
  process.exit(1);
}
