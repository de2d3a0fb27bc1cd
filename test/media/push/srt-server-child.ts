/**
 * An SRT server by libsrt itself: `<port> <stream id that is let in>`. Prints a line of JSON for each caller that came in, with the
 * stream id that it said, and one with the bytes that came when it is gone; of `idle` it takes callers and nothing else. Blocks
 * its thread: a process of its own.
 */
import { CString, cc, dlopen, FFIType, ptr } from 'bun:ffi';
import { libsrt } from './libsrt.ts';

const [, , port, wanted] = process.argv;
const { i32, ptr: pointer } = FFIType;
const { symbols: srt } = dlopen(libsrt() ?? 'libsrt.so', {
  srt_startup: { returns: i32 },
  srt_create_socket: { returns: i32 },
  srt_bind: { args: [i32, pointer, i32], returns: i32 },
  srt_listen: { args: [i32, i32], returns: i32 },
  srt_listen_callback: { args: [i32, pointer, pointer], returns: i32 },
  srt_accept: { args: [i32, pointer, pointer], returns: i32 },
  srt_getsockflag: { args: [i32, i32, pointer, pointer], returns: i32 },
  srt_recvmsg: { args: [i32, pointer, i32], returns: i32 },
  srt_close: { args: [i32], returns: i32 },
  srt_setrejectreason: { args: [i32, i32], returns: i32 },
});
const { symbols: door } = cc({
  source: `${import.meta.dirname}/srt-gate.c`,
  symbols: { gate: { args: ['ptr', 'cstring'], returns: 'ptr' } },
});
const STREAM_ID = 46;
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

srt.srt_startup();
const listener = srt.srt_create_socket();
const address = Buffer.alloc(16);
address.writeUInt16LE(2, 0);
address.writeUInt16BE(Number(port), 2);
address.set([127, 0, 0, 1], 4);
if (srt.srt_bind(listener, ptr(address), address.length) < 0) throw new Error('it cannot bind');
const reason = srt.srt_setrejectreason as unknown as { ptr: number };
const hook = door.gate(reason.ptr as never, ptr(Buffer.from(`${wanted}\0`)) as never);
srt.srt_listen_callback(listener, hook, null);
srt.srt_listen(listener, 100);
say({ listens: true });
for (;;) {
  const caller = srt.srt_accept(listener, null, null);
  if (caller < 0) continue;
  if (wanted === 'idle') continue;
  const text = Buffer.alloc(513);
  const length = new Int32Array([512]);
  srt.srt_getsockflag(caller, STREAM_ID, ptr(text), ptr(length));
  say({ streamId: new CString(ptr(text)).toString() });
  const message = Buffer.alloc(1456);
  let bytes = 0;
  for (;;) {
    const count = srt.srt_recvmsg(caller, ptr(message), message.length);
    if (count <= 0) break;
    bytes += count;
  }
  srt.srt_close(caller);
  say({ bytes });
}
