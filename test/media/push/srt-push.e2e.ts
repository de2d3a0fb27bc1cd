import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePorts } from '../../kit/free-ports.ts';
import { libsrt } from './libsrt.ts';
import { type Film, lasting, readFilm } from './srt-film.ts';
import { isThere, sender } from './srt-kit.ts';

const missing = missingHere();
if (missing !== undefined)
  console.error(`SKIPPED: pushes over SRT: ${missing}. Try: sh scripts/e2e-setup.sh`);

const run = promisify(execFile);
const passphrase = 'wonderland-nine-9';
const host = '127.0.0.1';
let folder = '';
let film: Film;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-srt-'));
  if (missing !== undefined) return;
  await run('ffmpeg', [
    ...['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=30', '-f', 'lavfi', '-i', 'sine'],
    ...['-t', '4', '-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '2', '-g', '30', '-c:a', 'aac'],
    ...['-flvflags', 'no_duration_filesize', `${folder}/film.flv`],
  ]);
  film = await readFilm(`${folder}/film.flv`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.skipIf(missing !== undefined)('a push over SRT', () => {
  it('brings the film as it is to a server that wants a passphrase, and shows it to nobody here', async () => {
    const [port] = await findFreePorts(1);
    await using far = receiver(port, `&passphrase=${passphrase}`);
    const { push, processes, runner, lines, gone } = sender();
    const sending = push(
      `srt://${host}:${port}?passphrase=${passphrase}&streamid=publish/my-key-7&latency=300`,
      film,
    );
    await sending.accepted;
    const seen = execFileSync('ps', ['-ww', '-o', 'args=', '-p', `${processes[0].pid}`]).toString();
    expect(seen).toContain('mpegts');
    // A newer ffmpeg takes them from nowhere else, and the log says so.
    if ((await runner.about())?.hides) expect(seen).not.toMatch(/wonderland|my-key/);
    else expect(lines.join()).toContain('process list');
    await sending.sent;
    sending.leave();
    expect(await gone()).toEqual([]);
    await far.ended;
    const [sent, came] = await Promise.all([probe(`${folder}/film.flv`), probe(far.file)]);
    expect(came.video).toEqual({ ...sent.video, packets: 120 });
    expect(came.audio.codec).toBe('aac');
    // Sound that shares a packet of MPEG-TS with what would have come next is sent when ffmpeg ends, and is then too late.
    expect(came.audio.packets).toBeGreaterThan(sent.audio.packets - 25);
    expect(Math.abs(came.duration - 4)).toBeLessThan(0.1);
    expect(lines.join()).not.toMatch(/wonderland|my-key|127\.0\.0\.1/);
  });

  it('says its stream id, and is told when that is refused', async () => {
    const [port] = await findFreePorts(1);
    await using far = await server(port, '#!::r=live/my-key-7,m=publish');
    const { push, lines, gone } = sender();
    const wrong = push(`srt://${host}:${port}?streamid=live/other-key-7`, film);
    expect(await wrong.ended).toMatchObject({
      reason: 'rejected',
      message: expect.stringContaining('streamid'),
    });
    const right = push(`srt://${host}:${port}?streamid=#!::r=live/my-key-7,m=publish`, film);
    await right.accepted;
    expect(await far.next()).toEqual({ streamId: '#!::r=live/my-key-7,m=publish' });
    await right.sent;
    right.leave();
    expect(await gone()).toEqual([]);
    const { bytes } = (await far.next()) as { bytes: number };
    expect(bytes).toBeGreaterThan(film.bytes.length * 0.9);
    expect(lines.join()).not.toMatch(/my-key|other-key|127\.0\.0\.1/);
  });

  it('is told that the passphrase is wrong, or that one is wanted', async () => {
    const [port] = await findFreePorts(1);
    await using _ = receiver(port, `&passphrase=${passphrase}`);
    const { push, lines, gone } = sender();
    const wrong = await push(`srt://${host}:${port}?passphrase=some-other-9`, film).ended;
    expect(wrong).toEqual({ reason: 'rejected', message: 'The server refused the passphrase.' });
    const none = await push(`srt://${host}:${port}`, film).ended;
    expect(none).toMatchObject({
      reason: 'rejected',
      message: expect.stringContaining('wants a passphrase'),
    });
    expect(await gone()).toEqual([]);
    expect(lines.join()).not.toMatch(/some-other|127\.0\.0\.1/);
  });

  it('is told that nobody answers', async () => {
    const [port] = await findFreePorts(1);
    const { push, gone } = sender();
    expect(await push(`srt://${host}:${port}`, film, { loop: true }).ended).toEqual({
      reason: 'connect',
      message: 'The server did not answer.',
    });
    expect(await gone()).toEqual([]);
  });

  it('is told that its server died, and goes on with the next attempt when that is back', async () => {
    const [port] = await findFreePorts(1);
    const { push, gone } = sender();
    const far = receiver(port);
    const first = push(`srt://${host}:${port}`, film, { loop: true });
    await first.accepted;
    far.kill();
    expect(await first.ended).toMatchObject({ reason: 'closed' });
    await using back = receiver(port);
    const second = push(`srt://${host}:${port}`, film);
    await second.accepted;
    await second.sent;
    second.leave();
    expect(await gone()).toEqual([]);
    await back.ended;
    expect((await probe(back.file)).video.packets).toBe(120);
  });
});

describe.skipIf(missing !== undefined)('an ffmpeg that pushes', () => {
  it('and hangs before it is connected is killed by its deadline', async () => {
    const [port] = await findFreePorts(1);
    const { push, processes, gone } = sender();
    const hanging = push(`srt://${host}:${port}`, film, { loop: true });
    while (processes.length === 0) await lasting(5);
    process.kill(processes[0].pid, 'SIGSTOP');
    expect(await hanging.ended).toMatchObject({ reason: 'timeout' });
    expect(await gone()).toEqual([]);
  });

  it('and hangs in the middle takes a bounded number of bytes, and is gone when it is given up', async () => {
    const [port] = await findFreePorts(1);
    await using _ = receiver(port);
    const { push, processes, gone } = sender();
    const hanging = push(`srt://${host}:${port}`, film, { loop: true });
    await hanging.accepted;
    process.kill(processes[0].pid, 'SIGSTOP');
    const block = new Uint8Array(1_000_000);
    let taken = 0;
    for (let turn = 0; turn < 20; turn += 1) {
      taken += processes[0].write(block);
      await lasting(5);
    }
    expect(taken).toBeLessThan(1_500_000);
    hanging.abort();
    expect(await gone()).toEqual([]);
  });

  it('is gone after each of 50 pushes, however they end', async () => {
    const [port] = await findFreePorts(1);
    await using _ = await server(port, 'idle');
    const { push, processes, gone } = sender();
    for (let turn = 0; turn < 50; turn += 1) {
      const one = push(`srt://${host}:${port}?streamid=idle`, film, { loop: true });
      if (turn % 5 === 0) await one.accepted;
      else while (processes.length <= turn) await lasting(5);
      if (turn % 10 === 0) one.leave();
      else one.abort();
    }
    expect(processes).toHaveLength(50);
    expect(await gone()).toEqual([]);
  });

  it.each(['by the kernel', 'by the end of its input'])(
    'ends with its server that is killed, %s',
    async (how) => {
      if (how === 'by the kernel' && Bun.which('setpriv') === null) return;
      const [port] = await findFreePorts(1);
      await using _ = receiver(port);
      const child = Bun.spawn(
        [
          ...[Bun.which('bun') ?? process.execPath, `${import.meta.dirname}/srt-pusher-child.ts`],
          ...[
            `${folder}/film.flv`,
            `srt://${host}:${port}`,
            how === 'by the kernel' ? (process.env.PATH ?? '') : '/nowhere',
          ],
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const { value } = await child.stdout.getReader().read();
      const pid = Number(Buffer.from(value ?? []).toString());
      expect(isThere(pid)).toBe(true);
      child.kill('SIGKILL');
      await child.exited;
      while (isThere(pid)) await lasting(20);
    },
  );
});

/** A server that records what comes from its one caller: ffmpeg. */
function receiver(port: number, query = '') {
  const file = `${folder}/${port}-${Math.random()}.ts`;
  const child = Bun.spawn(
    ['ffmpeg', '-v', 'error', '-y', '-i', `srt://${host}:${port}?mode=listener${query}`, '-c', 'copy', file],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  );
  return {
    file,
    ended: child.exited,
    kill: () => child.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** A server by libsrt itself that lets one stream id in; `next` is what it said next. */
async function server(port: number, streamId: string) {
  const child = Bun.spawn(
    [Bun.which('bun') ?? process.execPath, `${import.meta.dirname}/srt-server-child.ts`, `${port}`, streamId],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const reader = child.stdout.getReader();
  let text = '';
  const next = async (): Promise<object> => {
    for (;;) {
      const end = text.indexOf('\n');
      if (end >= 0) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        return JSON.parse(line) as object;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error('the SRT server ended');
      text += Buffer.from(value).toString();
    }
  };
  expect(await next()).toEqual({ listens: true });
  return {
    next,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

async function probe(path: string) {
  const { stdout } = await run('ffprobe', [
    ...['-v', 'error', '-count_packets', '-of', 'json', '-show_entries'],
    ...['stream=codec_type,codec_name,nb_read_packets,width,height:format=duration', path],
  ]);
  const { streams, format } = JSON.parse(stdout) as {
    streams: {
      codec_type: string;
      codec_name: string;
      nb_read_packets: string;
      width?: number;
      height?: number;
    }[];
    format: { duration?: string };
  };
  const of = (type: string) => {
    const stream = streams.find(({ codec_type }) => codec_type === type);
    const { codec_name: codec, nb_read_packets, width, height } = stream ?? {};
    return { codec, width, height, packets: Number(nb_read_packets) };
  };
  return { video: of('video'), audio: of('audio'), duration: Number(format.duration) };
}

function missingHere(): string | undefined {
  if (Bun.which('ffmpeg') === null) return 'there is no ffmpeg';
  if (!/^ {2}srt$/m.test(execFileSync('ffmpeg', ['-v', 'error', '-protocols']).toString())) {
    return 'the ffmpeg here was built without SRT';
  }
  return libsrt() === undefined ? 'libsrt was not found in the folders of libraries' : undefined;
}
