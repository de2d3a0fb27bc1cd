/**
 * Files that would have whoever reads them open others: each is refused, or made a film without anything having been opened. What
 * ffmpeg opens is written down by strace, where it is installed; a listener of HTTP and a file with a secret are watched everywhere.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { access, chmod, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { upload } from '../e2e/harness/uploads.ts';
import { exec, ffmpeg, numbered, sound } from './films.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-abuse-'));
const path = (name: string) => join(folder, name);
const canary = path('canary.mov');
const trace = path('strace.log');
let server: Server;
let asked: string[] = [];
const listener = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch({ url }) {
    asked.push(url);
    return new Response('#EXTM3U\n');
  },
});
const http = `http://127.0.0.1:${listener.port}`;
const hasTrace = Bun.which('strace') !== null;

beforeAll(async () => {
  await ffmpeg(...numbered(2, '320x180'), '-c:v', 'mpeg4', canary);
  const program = path('ffmpeg');
  const real = Bun.which('ffmpeg');
  const tracing = `strace -f -qq -A -o ${trace} -e trace=open,openat,openat2,connect,socket,execve`;
  await writeFile(program, `#!/bin/sh\nexec ${hasTrace ? tracing : ''} ${real} "$@"\n`);
  await chmod(program, 0o755);
  server = await startServer({
    env: { MILLRACE_PLUGINS__ASSETS__NORMALISE: 'true', MILLRACE_FFMPEG__PATH: program },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await listener.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

const playlist = (uri: string) =>
  `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\n${uri}\n#EXT-X-ENDLIST\n`;
const mpd = `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><AdaptationSet><Representation><BaseURL>${http}/x.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`;
const texts: Record<string, string> = {
  'a playlist of a file': playlist(`file://${canary}`),
  'a playlist of a server': playlist(`${http}/segment.ts`),
  'a playlist of what is put together': playlist(`concat:${http}/header|file://${canary}`),
  'a list for concat': `ffconcat version 1.0\nfile '${canary}'\n`,
  'a manifest of DASH': mpd,
  'a manifest of DASH without a declaration': mpd.slice(mpd.indexOf('<MPD')),
  'subtitles with a file name': `1\n00:00:00,000 --> 00:00:09,000\n<img src="file://${canary}">\n`,
  'subtitles of ASS': `[Script Info]\nVideo File: ${canary}\nAudio URI: ${http}/a.mp3\n`,
  'a description of SDP': 'v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n',
  'a data URL': `data:application/x-mpegURL;base64,${Buffer.from(playlist(`${http}/x.ts`)).toString('base64')}`,
  'a picture of SVG': `<svg xmlns="http://www.w3.org/2000/svg"><image href="${http}/x.png"/></svg>`,
  'a stream of RTSP': `[Reference]\nRef1=${http}/x.asf\n`,
};
const textCases = Object.keys(texts).flatMap((name) => ['mp4', 'mkv', 'ts'].map((ending) => [name, ending]));

it.each(textCases)('%s, called .%s, is refused by its first bytes', async (name, ending) => {
  const file = path(`text.${ending}`);
  await writeFile(file, texts[name]);
  const { status, body } = await upload(server, file);
  expect([status, body.code]).toEqual([422, 'upload.refused']);
});

it('a playlist behind the first bytes of each container is not followed', async () => {
  const starts = [
    Buffer.from(
      '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff',
      'hex',
    ),
    Buffer.from('FLV\x01\x05\0\0\0\x09\0\0\0\0', 'latin1'),
    Buffer.from('RIFF\0\0\0\0AVI LIST', 'latin1'),
    Buffer.concat([Buffer.alloc(188, 'G'), Buffer.alloc(188, 'G'), Buffer.alloc(188, 'G')]),
    Buffer.from('000001ba', 'hex'),
  ];
  for (const [index, start] of starts.entries()) {
    const file = path(`start${index}.mp4`);
    await writeFile(file, Buffer.concat([start, Buffer.from(playlist(`file://${canary}`).repeat(50))]));
    const { status, body } = await upload(server, file);
    expect([index, status]).toEqual([index, 422]);
    expect(body.code).toMatch(/^(conversion|upload)\.refused$/);
  }
});

it('a film of QuickTime whose samples are said to lie in another file is read from its own bytes alone', async () => {
  const file = path('dref.mov');
  await ffmpeg(...numbered(2, '320x180'), '-c:v', 'mpeg4', file);
  await writeFile(file, withAlias(await readFile(file), canary));
  // That ffmpeg would see the reference shows that this is one.
  expect(await ffmpegWarns(file)).toMatch(/Skipped opening external track.*canary\.mov/);
  const { status } = await upload(server, file);
  expect([200, 422]).toContain(status);
});

it('Matroska with attachments and a linked file is read alone', async () => {
  const file = path('linked.mkv');
  await writeFile(path('font.ttf'), playlist(`file://${canary}`));
  const attached = ['-attach', path('font.ttf'), '-metadata:s:t', 'mimetype=application/x-truetype-font'];
  await ffmpeg(...numbered(2, '320x180'), '-c:v', 'mpeg4', ...attached, '-live', '1', '-f', 'matroska', file);
  await writeFile(file, withLink(await readFile(file), `file://${canary}`));
  const { status, body } = await upload(server, file);
  expect([status, body.status]).toEqual([200, 'ready']);
});

it('AVI with subtitles that are a playlist is read alone', async () => {
  const file = path('gab2.avi');
  await ffmpeg(...numbered(2, '320x180'), ...sound(2), '-c:v', 'mpeg4', '-c:a', 'pcm_s16le', file);
  await writeFile(file, withSubtitles(await readFile(file), playlist(`file://${canary}`)));
  const { status } = await upload(server, file);
  expect([200, 422]).toContain(status);
});

it('nothing of all that was opened, and nobody was called', async () => {
  expect(asked).toEqual([]);
  // The listener hears who calls.
  await fetch(`${http}/check`);
  expect(asked).toHaveLength(1);
  asked = [];
  if (!hasTrace) return;
  await access(trace);
  const lines = (await readFile(trace, 'latin1')).split('\n');
  const opened = lines.flatMap((line) => /open(?:at2?)?\([^"]*"([^"]*)".*= \d+$/.exec(line)?.[1] ?? []);
  // Of the system alone: libraries, and what says how many processors there are.
  expect(opened.length).toBeGreaterThan(100);
  expect(opened.filter((name) => !/^\/(etc|lib|lib64|usr|proc|sys|dev)\//.test(name))).toEqual([]);
  expect(lines.filter((line) => /\/etc\/(passwd|shadow|hosts|resolv)/.test(line))).toEqual([]);
  expect(lines.filter((line) => /socket\(AF_INET|connect\(/.test(line))).toEqual([]);
  expect(lines.some((line) => line.includes('canary.mov'))).toBe(false);
});

async function ffmpegWarns(file: string): Promise<string> {
  const args = ['-v', 'warning', '-nostdin', '-i', file, '-f', 'null', '-'];
  const said = await exec('ffmpeg', args).catch((error: { stderr: string }) => error);
  return said.stderr;
}

/** The `dref` of a film whose index is its last box: an alias of Mac OS instead of "in this file". */
function withAlias(film: Buffer, target: string): Buffer {
  const at = film.indexOf('dref', 'latin1') - 4;
  const size = film.readUInt32BE(at);
  const name = (text: string, length: number) => {
    const bytes = Buffer.alloc(length + 1);
    bytes[0] = bytes.write(text, 1, length, 'latin1');
    return bytes;
  };
  const absolute = Buffer.from(target.length % 2 === 0 ? target : `${target}\0`, 'latin1');
  const record = (type: number, bytes: Buffer) => {
    const head = Buffer.alloc(4);
    head.writeInt16BE(type, 0);
    head.writeUInt16BE(bytes.length, 2);
    return Buffer.concat([head, bytes]);
  };
  const alias = Buffer.concat([
    // Version and flags: not in this file.
    Buffer.alloc(4),
    Buffer.alloc(10),
    name('disk', 27),
    Buffer.alloc(12),
    name('canary.mov', 63),
    Buffer.alloc(16),
    // Levels from and to.
    Buffer.from([0, 1, 0, 1]),
    Buffer.alloc(16),
    record(2, absolute),
    record(0, Buffer.from('x\0', 'latin1')),
    Buffer.from([0xff, 0xff, 0, 0]),
  ]);
  const entry = Buffer.concat([Buffer.alloc(4), Buffer.from('alis', 'latin1'), alias]);
  entry.writeUInt32BE(entry.length, 0);
  const dref = Buffer.concat([
    Buffer.alloc(4),
    Buffer.from('dref', 'latin1'),
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
    entry,
  ]);
  dref.writeUInt32BE(dref.length, 0);
  const made = Buffer.concat([film.subarray(0, at), dref, film.subarray(at + size)]);
  for (const parent of ['dinf', 'minf', 'mdia', 'trak', 'moov']) {
    const place = made.lastIndexOf(parent, at, 'latin1') - 4;
    made.writeUInt32BE(made.readUInt32BE(place) + dref.length - size, place);
  }
  return made;
}

/** The file that is said to follow this one: NextFilename (0x3E83BB) in Info (0x1549A966), of a segment without a size. */
function withLink(film: Buffer, target: string): Buffer {
  const at = film.indexOf('1549a966', 0, 'hex');
  const width = Math.clz32(film[at + 4]) - 23;
  const size = film.readUIntBE(at + 4, width) - 2 ** (7 * width);
  const link = Buffer.concat([
    Buffer.from('3e83bb', 'hex'),
    Buffer.from([0x40 | (target.length >> 8), target.length & 0xff]),
    Buffer.from(target, 'latin1'),
  ]);
  const long = Buffer.alloc(4);
  long.writeUInt32BE(0x10000000 | (size + link.length));
  const body = film.subarray(at + 4 + width, at + 4 + width + size);
  return Buffer.concat([film.subarray(0, at + 4), long, body, link, film.subarray(at + 4 + width + size)]);
}

/** The sound of an AVI called text, and its first chunk what ffmpeg takes for subtitles that have a demuxer of their own (GAB2). */
function withSubtitles(film: Buffer, text: string): Buffer {
  film.write('txts', film.indexOf('auds', 'latin1'), 'latin1');
  // That of the list of chunks: the index in front names it too.
  const at = film.indexOf('01wb', film.indexOf('movi', 0, 'latin1'), 'latin1');
  const room = film.readUInt32LE(at + 4);
  const head = Buffer.alloc(17);
  head.write('GAB2\0', 0, 'latin1');
  head.writeUInt16LE(2, 5);
  head.writeUInt32LE(0, 7);
  head.writeUInt32LE(room - 17, 13);
  film.fill('\n', at + 8, at + 8 + room, 'latin1');
  head.copy(film, at + 8);
  film.write(text, at + 25, room - 17, 'latin1');
  return film;
}
