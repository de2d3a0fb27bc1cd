import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeAmf0 } from '../../../../runtime/media/rtmp/amf0.ts';
import { until } from '../../../e2e/harness/wait.ts';
import { type FlvTag, readFlvFile, readFlvTags } from '../../../kit/publisher/flv-file.ts';
import { hasNginx, type Nginx, startNginx } from '../../../multistream/nginx.ts';
import { framed, pushTo } from './kit.ts';

if (!hasNginx) console.error('SKIPPED: tests that need nginx-rtmp. Try: sh scripts/e2e-setup.sh');

const run = promisify(execFile);
const types = { audio: 8, video: 9, script: 18 } as const;

describe.skipIf(!hasNginx)('nginx-rtmp', () => {
  let nginx: Nginx;

  beforeAll(async () => {
    nginx = await startNginx({ host: '127.0.0.1' });
  });
  afterAll(() => nginx?.[Symbol.asyncDispose]());

  test('records every picture and sound that is pushed to it', async () => {
    const tags = readFlvTags(await Bun.file('demo/clip.flv').bytes());
    const push = pushTo(nginx.url('whole?token=x'));
    await push.opened();
    await sendAll(push, tags);
    push.connection?.leave();
    await until('the recording', () => nginx.recordings('whole').length === 1, { within: 30_000 });
    const [path] = nginx.recordings('whole');
    const wanted = await packets('demo/clip.flv');
    await until('its end', async () => (await packets(path)).length >= wanted.length, { within: 30_000 });
    // Each packet with its time and its size, picture by picture and sound by sound.
    expect(await packets(path)).toEqual(wanted);
    expect((await readFlvFile(path)).frames).toBe((await readFlvFile('demo/clip.flv')).frames);
  });

  test('takes pictures of several chunks, and times beyond 24 bits', async () => {
    const [header, ...tags] = readFlvTags(await Bun.file('demo/clip.flv').bytes()).filter(
      ({ type }) => type === 'video',
    );
    const push = pushTo(nginx.url('late'));
    await push.opened();
    const late = 0xffffff - 500;
    const large = tags.map((tag) => {
      // Filler data behind the picture (H.264, 7.4.2.7), as a NAL unit of its own.
      const filler = Buffer.alloc(200_000, 0xff);
      filler.writeUInt32BE(filler.length - 4);
      filler[4] = 12;
      return { ...tag, timestamp: tag.timestamp + late, body: Buffer.concat([tag.body, filler]) };
    });
    await sendAll(push, [{ ...header, timestamp: late }, ...large.slice(0, 60)]);
    push.connection?.leave();
    await until('the recording', () => nginx.recordings('late').length === 1, { within: 30_000 });
    const [path] = nginx.recordings('late');
    await until('its end', async () => (await packets(path)).length >= 60, { within: 30_000 });
    const sizes = (await packets(path)).map((line) => Number(line.split('|').at(-1)?.replace('size=', '')));
    expect(sizes).toHaveLength(60);
    expect(Math.min(...sizes)).toBeGreaterThan(200_000);
  });

  test('refuses a second publisher of the same stream, and says so', async () => {
    const first = pushTo(nginx.url('taken'));
    await first.opened();
    const second = pushTo(nginx.url('taken'));
    const trouble = await second.ended();
    expect(trouble).toMatchObject({ reason: 'rejected', message: expect.stringContaining('BadName') });
    first.abort();
  });

  test('refuses by on_publish, and an app that it does not have', async () => {
    const refused = await pushTo(nginx.refusingUrl('secret')).ended();
    const unknown = await pushTo(nginx.url('secret').replace('/live/', '/nowhere/')).ended();
    // It just closes.
    expect(refused).toMatchObject({ reason: 'closed', message: expect.stringContaining('a wrong key') });
    expect(unknown).toMatchObject({ reason: 'closed', message: expect.not.stringContaining('key') });
  });
});

async function sendAll(push: ReturnType<typeof pushTo>, tags: readonly FlvTag[]): Promise<void> {
  const { connection } = push;
  if (!connection) throw new Error('the push is not open');
  for (const { type, timestamp, body } of tags) {
    const whole = type === 'script' ? Buffer.concat([encodeAmf0(['@setDataFrame']), body]) : body;
    await push.send(framed(connection, { type: types[type], timestamp, body: whole }));
  }
}

/** Stream, time in decoding order and size of each packet of a file. */
async function packets(path: string): Promise<string[]> {
  const shown = ['-show_entries', 'packet=codec_type,dts,size', '-of', 'compact=p=0'];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...shown, path], { maxBuffer: 16 * 2 ** 20 });
  // Behind what has side data stands an empty field.
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.replace(/\|$/, '')]));
}
